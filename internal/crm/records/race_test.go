package records

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// TestOfChangesOfOneVersionOneHappens sends the same change many times at once.
func TestOfChangesOfOneVersionOneHappens(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		v := r.create(system, "Account", `{"Name":"Acme"}`)
		var done atomic.Int64
		var all sync.WaitGroup
		for i := range 16 {
			fields := r.fieldsOf(`{"Phone":"` + string(rune('a'+i)) + `"}`)
			all.Go(func() {
				_, err := r.try(system, "Account", Op{Kind: Update, ID: v.ID, Version: v.RecordVersion, Fields: fields})
				switch {
				case err == nil:
					done.Add(1)
				case codeOf(err) != CodeVersionMismatch:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := done.Load(); n != 1 {
			t.Errorf("%d changes of one version happened", n)
		}
	})
}

// TestAChangeSeesTheOneThatIsBeingWritten changes and deletes a record while another process
// writes it, at another instant, on PostgreSQL: what the caller has seen is not current any more.
func TestAChangeSeesTheOneThatIsBeingWritten(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		if r.DB.Dialect() == sqldb.SQLite {
			t.Skip("SQLite has one writer")
		}
		for _, op := range []Op{{Kind: Update, Fields: r.fieldsOf(`{"Phone":"1"}`)}, {Kind: Delete}} {
			v := r.create(system, "Account", `{"Name":"Acme"}`)
			op.ID, op.Version = v.ID, v.RecordVersion
			waits, err := sqltest.During(t, r.DB, func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, updateVersion, system.Tenant, "Account", v.ID, v.RecordVersion+1)
				return err
			}, func() error {
				r.Clock.Add(1000)
				_, err := r.try(system, "Account", op)
				return err
			})
			if !waits || codeOf(err) != CodeVersionMismatch {
				t.Errorf("%v: it waits: %t, %v; want that the version is not current", op.Kind, waits, err)
			}
		}
	})
}

// TestNoRecordNamesOneThatIsDeletedAtTheSameTime lets deletions of accounts race with
// contacts that are put into them.
func TestNoRecordNamesOneThatIsDeletedAtTheSameTime(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for range 20 {
			account := r.create(system, "Account", `{"Name":"Acme"}`)
			fields := r.fieldsOf(`{"LastName":"Ng","AccountId":"` + account.ID + `"}`)
			var created, deleted error
			var both sync.WaitGroup
			both.Go(func() { _, created = r.try(system, "Contact", Op{Kind: Create, Fields: fields}) })
			both.Go(func() { _, deleted = r.try(system, "Account", Op{Kind: Delete, ID: account.ID}) })
			both.Wait()
			if (created == nil) == (deleted == nil) {
				t.Fatalf("created: %v, deleted: %v", created, deleted)
			}
			for _, err := range []error{created, deleted} {
				if err != nil && fault.KindOf(err) == fault.Internal {
					t.Error(err)
				}
			}
		}
	})
}
