package sharing

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestTotalsLookAtNoRecords asks SQLite how it would add totals up.
func TestTotalsLookAtNoRecords(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}, limits{})
	q := question{
		records: records.Reads{}, tenant: "t", object: "Opportunity", user: "u", level: Read, model: 2,
		account: 1, shares: true, cascade: true,
	}
	for name, text := range map[string]func(*asked) string{
		"reached": (*asked).reached,
		"beside":  (*asked).besideOwners,
		"all": func(a *asked) string {
			return a.rows() + " AND o.owner_id IN (" + a.owners() + ") UNION ALL " + a.beside()
		},
		"among unreached": (*asked).amongUnreached,
	} {
		var b sqldb.Binds
		query := "SELECT count(*) FROM (" + text(q.bind(&b)) + ") AS x"
		r.See(func(ctx context.Context, tx *sqldb.Tx) error {
			for row, err := range tx.Query(ctx, "EXPLAIN QUERY PLAN "+query, b.Args()...) {
				var id, parent, unused int64
				var detail string
				if err == nil {
					err = row.Scan(&id, &parent, &unused, &detail)
				}
				if err != nil {
					return err
				}
				whole := strings.HasPrefix(detail, "SCAN") && detail != "SCAN x" && detail != "SCAN CONSTANT ROW"
				if whole ||
					strings.HasSuffix(detail, "sqlite_autoindex_records_record_1 (tenant_id=? AND object=?)") {
					t.Errorf("%s: %s", name, detail)
				}
			}
			return nil
		})
	}
}
