package records

import (
	"sync"
	"sync/atomic"
	"testing"

	"renga.dev/renga/internal/fault"
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
