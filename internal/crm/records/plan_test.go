package records

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// TestListsAreReadByIndexes asks SQLite how it would count and read pages.
func TestListsAreReadByIndexes(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	const where = " FROM records_record r WHERE r.tenant_id = $1 AND r.object = $2 AND r.deleted_at = 0"
	for query, want := range map[string]string{
		"SELECT count(*)" + where: "COVERING INDEX records_record_owner",
		"SELECT count(*)" + where +
			" AND (r.owner_id = 'x')": "COVERING INDEX records_record_owner",
		"SELECT " + columns + where +
			" ORDER BY r.id": "INDEX sqlite_autoindex_records_record_1",
		"SELECT " + columns + where +
			" ORDER BY r.name DESC, r.id DESC": "INDEX records_record_name",
		"SELECT count(*)" + where +
			" AND r.account_id IN ('x') AND r.account_id <> ''": "COVERING INDEX records_record_account",
		"SELECT count(*)" + where +
			" AND json_extract(r.fields, '$.Amount') > 1 AND r.id > ''": "INDEX sqlite_autoindex_records_record_1",
		selectChildren: "INDEX records_record_account",
		moveQuotes:     "INDEX records_record_opportunity",
	} {
		var plan strings.Builder
		r.See(func(ctx context.Context, tx *sqldb.Tx) error {
			args := []any{"t", "o", "a", "b", 1}[:strings.Count(query, "$")]
			for row, err := range tx.Query(ctx, "EXPLAIN QUERY PLAN "+query, args...) {
				var id, parent, unused int64
				var detail string
				if err == nil {
					err = row.Scan(&id, &parent, &unused, &detail)
				}
				if err != nil {
					return err
				}
				plan.WriteString(detail + "\n")
			}
			return nil
		})
		if got := plan.String(); !strings.Contains(got, want) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s\n%swant %s", query, got, want)
		}
	}
}

// TestNamedRecordsAreFoundByTheirIDs asks PostgreSQL, with the settings of its connections,
// how it would read records that are named, of which there are many.
func TestNamedRecordsAreFoundByTheirIDs(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO records_record (tenant_id, object, id, owner_id, name, account_id,
			opportunity_id, fields, version, created_at, created_by, updated_at, updated_by, deleted_at)
			SELECT $1, 'Account', 'r' || i, 'o', 'n', '', '', '{}', 1, 1, '', 1, '', 0
			FROM generate_series(1, 5000) AS i`, tenantA)
		if err == nil {
			_, err = tx.Exec(ctx, "ANALYZE records_record")
		}
		return err
	})
	r.See(func(ctx context.Context, tx *sqldb.Tx) error {
		const named = "records_record r WHERE r.tenant_id = $1 AND r.object = $2 AND r.deleted_at = 0 AND r.id = " +
			"ANY($3)"
		found := fmt.Sprintf(in(tx).found, strings.TrimPrefix(named, "records_record r WHERE "))
		for _, query := range []string{
			"SELECT " + columns + " FROM " + named + in(tx).inOrder("r.id"),
			"SELECT " + columns + " FROM " + found + " ORDER BY r.id LIMIT 50",
			"SELECT " + columns + " FROM " + found + " ORDER BY r.name, r.id LIMIT 50",
		} {
			var plan strings.Builder
			for row, err := range tx.Query(ctx, "EXPLAIN "+query, tenantA, "Account", []string{"r1", "r2"}) {
				var line string
				if err == nil {
					err = row.Scan(&line)
				}
				if err != nil {
					return err
				}
				plan.WriteString(line + "\n")
			}
			if !regexp.MustCompile(`Index Cond: .*ANY`).MatchString(plan.String()) {
				t.Errorf("%s\n%s", query, &plan)
			}
		}
		return nil
	})
}
