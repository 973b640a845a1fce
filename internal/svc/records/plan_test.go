package records

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/sqldb"
)

// TestListsAreReadByIndexes asks SQLite how it would count and read pages.
func TestListsAreReadByIndexes(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	const where = " FROM records_record r WHERE r.tenant_id = $1 AND r.object = $2 AND r.deleted_at = 0"
	for query, want := range map[string]string{
		"SELECT count(*)" + where:                                                               "COVERING INDEX records_record_owner",
		"SELECT count(*)" + where + " AND (r.owner_id = 'x')":                                   "COVERING INDEX records_record_owner",
		"SELECT " + columns + where + " ORDER BY r.id":                                          "INDEX sqlite_autoindex_records_record_1",
		"SELECT " + columns + where + " ORDER BY r.name DESC, r.id DESC":                        "INDEX records_record_name",
		"SELECT count(*)" + where + " AND r.account_id IN ('x') AND r.account_id <> ''":         "COVERING INDEX records_record_account",
		"SELECT count(*)" + where + " AND json_extract(r.fields, '$.Amount') > 1 AND r.id > ''": "INDEX sqlite_autoindex_records_record_1",
		selectChildren: "INDEX records_record_account",
		selectQuotes:   "INDEX records_record_opportunity",
	} {
		var plan strings.Builder
		r.read(func(ctx context.Context, tx *sqldb.Tx) error {
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
