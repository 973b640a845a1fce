package records

import (
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

var postgres = dialect{
	shared: true,
	// PostgreSQL does not sort what an index gives in order (settings of sqldb): it would rather
	// read all rows of the tenant.
	sorted:       " || ''",
	found:        "(SELECT * FROM records_record r WHERE %s OFFSET 0) AS r",
	someChange:   "EXISTS (SELECT 1 FROM json_array_elements(CAST(h.changes AS json)) AS c(change) WHERE ",
	changedField: "(c.change ->> 'field')",
	contains:     `position(lower(CAST(%[2]s AS text) COLLATE "C") IN lower(%[1]s COLLATE "C")) > 0`,
	repairCounts: `INSERT INTO records_count (tenant_id, object, owner_id, n)
		SELECT $1, d.object, d.owner_id, d.found - d.counted FROM (` + miscounted + `) AS d`,
	value: func(b *sqldb.Binds, f *model.Field) string {
		text := "(CAST(r.fields AS jsonb) ->> " + b.Add(f.Name) + ")"
		switch f.Type {
		case model.Number, model.Currency, model.Percent, model.Integer:
			return "CAST(" + text + " AS double precision)"
		case model.Boolean:
			return "coalesce(CAST(" + text + " AS boolean), false)" // the record may be too old to have it
		}
		return text + ` COLLATE "C"`
	},
}

// compactCounts adds the changes of counts to the counts. Only PostgreSQL has some: there
// transactions that changed one row would wait for each other.
const compactCounts = `WITH gone AS (DELETE FROM records_count WHERE seq > 0
			AND seq = ANY(ARRAY(SELECT seq FROM records_count WHERE seq > 0 ORDER BY seq LIMIT $1))
			RETURNING tenant_id, object, owner_id, n),
		compacted AS (INSERT INTO records_count AS c (tenant_id, object, owner_id, seq, n)
			SELECT tenant_id, object, owner_id, 0, sum(n) FROM gone
			GROUP BY tenant_id, object, owner_id ORDER BY tenant_id, object, owner_id
			ON CONFLICT (tenant_id, object, owner_id, seq) DO UPDATE SET n = c.n + excluded.n)
		SELECT count(*) FROM gone`

// updateEach is updateFields of some records at once: on PostgreSQL a statement costs more
// than a row does.
const updateEach = `UPDATE records_record AS r
	SET fields = w.fields, version = w.version, updated_at = w.updated_at, updated_by = w.updated_by
	FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[])
		AS w (object, id, fields, version, updated_at, updated_by)
	WHERE r.tenant_id = $1 AND r.object = w.object AND r.id = w.id`
