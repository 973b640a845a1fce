package records

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// TestCountsThatAreWrongAreFoundAndPutRight spoils counts in every way: one too large, one that
// is missing and one of an owner who has nothing.
func TestCountsThatAreWrongAreFoundAndPutRight(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for n := range 3 {
			r.put(tenantA, "Account", fmt.Sprint("a", n), "", "", 0)
			r.put(tenantB, "Account", fmt.Sprint("b", n), "", "", 0)
		}
		r.put(tenantA, "Account", "gone", "", "", 9)
		r.put(tenantA, "Lead", "l", "", "", 0)
		recount := func(tenant string, want ...string) {
			t.Helper()
			got, err := Recount(t.Context(), r.DB, tenant)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		recount(tenantA)
		r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			for _, query := range []string{
				"UPDATE records_count SET n = n + 4 WHERE object = 'Account' AND seq = (SELECT min(seq) FROM " +
					"records_count WHERE object = 'Account' AND tenant_id = $1) AND tenant_id = $1",
				"DELETE FROM records_count WHERE object = 'Lead' AND tenant_id = $1",
				"INSERT INTO records_count (tenant_id, object, owner_id, seq, n) VALUES ($1, 'Quote', 'nobody', 0, 2)",
			} {
				if _, err := tx.Exec(ctx, query, tenantA); err != nil {
					return err
				}
			}
			return nil
		})
		wrong := []string{
			"o owns 3 records of Account, and 7 are counted", "o owns 1 records of Lead, and 0 are counted",
			"nobody owns 0 records of Quote, and 2 are counted",
		}
		recount(tenantA, wrong...)
		if n, err := Repair(t.Context(), r.DB, tenantB); n != 0 || err != nil {
			t.Errorf("another tenant: %d %v", n, err)
		}
		recount(tenantA, wrong...)
		if r.DB.Dialect() == sqldb.Postgres {
			r.compactMeanwhile()
			recount(tenantA, wrong...)
		}
		for _, want := range []int64{3, 0} {
			if n, err := Repair(t.Context(), r.DB, tenantA); n != want || err != nil {
				t.Errorf("got %d %v, want %d", n, err, want)
			}
			recount(tenantA)
		}
		if _, err := r.records.Compact(t.Context()); err != nil {
			t.Error(err)
		}
		r.put(tenantA, "Lead", "l2", "", "", 0)
		recount(tenantA)
	})
}

// compactMeanwhile looks at what a compaction and a repair do while another compacts: a repair waits, since
// two would add what is missing twice, and a second compaction leaves the work to the first.
func (r *rig) compactMeanwhile() {
	r.Helper()
	waits, err := sqltest.During(r, r.DB, kit.CompactRecordCounts.Hold, func() error {
		_, err := Repair(r.Context(), r.DB, tenantB)
		return err
	})
	if err != nil || !waits {
		r.Errorf("a repair waits for who folds: %t %v", waits, err)
	}
	waits, err = sqltest.During(r, r.DB, kit.CompactRecordCounts.Hold, func() error {
		if n, err := r.records.Compact(r.Context()); n != 0 || err != nil {
			r.Errorf("two fold at once: %d changes, %v", n, err)
		}
		return nil
	})
	if err != nil || waits {
		r.Errorf("a fold waits for another: %t %v", waits, err)
	}
}
