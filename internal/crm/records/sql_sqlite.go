package records

import (
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

var sqlite = dialect{
	found: "records_record r WHERE %s",
	// SQLite would take the index with the most columns, and read their rows in no order, at
	// four times the cost.
	byFile:       " AND r.id > ''",
	someChange:   "EXISTS (SELECT 1 FROM json_each(h.changes) AS c WHERE ",
	changedField: "json_extract(c.value, '$.field')",
	contains:     "instr(lower(%s), lower(%s)) > 0",
	repairCounts: `INSERT INTO records_count (tenant_id, object, owner_id, seq, n)
		SELECT $1, d.object, d.owner_id, 0, d.found - d.counted FROM (` + miscounted + `) AS d
		WHERE true ON CONFLICT (tenant_id, object, owner_id, seq) DO UPDATE SET n = n + excluded.n`,
	value: func(b *sqldb.Binds, f *model.Field) string {
		value := "json_extract(r.fields, " + b.Add("$."+f.Name) + ")"
		if f.Type == model.Boolean {
			return "coalesce(" + value + ", false)" // the record may be too old to have it
		}
		return value
	},
}
