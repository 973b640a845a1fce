package metadata

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestChangesAtTheSameTimeKeepEveryRule lets two processes, each with its own memory, move
// roles around and delete them at once: there is never a circle, a parent that is gone, or
// a change without its event, and both see the same in the end.
func TestChangesAtTheSameTimeKeepEveryRule(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const roles = 6
		for n := range roles {
			r.must(fmt.Sprintf(`put role #%d {"name":"r%d"}`, n, n))
		}
		other := NewModels()
		processes := []*Metadata{
			r.Metadata,
			New(r.db, Config{Models: other, Bus: bus.New(r.db, memory.New(), bus.Config{Instance: "other"})}),
		}
		var all sync.WaitGroup
		for p, s := range processes {
			for lane := range 2 {
				draw := rand.New(rand.NewPCG(7, uint64(p*2+lane)))
				all.Go(func() {
					for range 40 {
						c := Change{
							Tenant: tenantA, CorrelationID: "c-1", Kind: model.KindRole,
							ID: id(draw.IntN(roles)),
						}
						var err error
						if draw.IntN(6) == 0 {
							err = s.Delete(t.Context(), c)
						} else {
							_, _, err = s.Put(t.Context(), c, fmt.Appendf(nil, `{"name":"r","parentRoleId":"%s"}`,
								id(draw.IntN(roles))))
						}
						if kind := fault.KindOf(err); err != nil && kind != fault.Invalid && kind != fault.Conflict &&
							kind != fault.NotFound {
							t.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		m := r.model(r.models, tenantA)
		for _, again := range []*model.Model{r.model(other, tenantA), r.model(NewModels(), tenantA)} {
			if !same(m.All(model.KindRole), again.All(model.KindRole)) || m.Revision != again.Revision {
				t.Errorf("at revision %d and %d the roles differ", m.Revision, again.Revision)
			}
		}
		for _, role := range model.List[*model.Role](m, model.KindRole) {
			above := m.RoleAncestors(role.ID)
			if len(above) >= m.Count(model.KindRole) {
				t.Errorf("%s is above itself: %q", role.ID, above)
			}
			for _, parent := range above {
				if m.Role(parent) == nil {
					t.Errorf("%s is below %s, which is gone", role.ID, parent)
				}
			}
		}
		r.versionsRise()
	})
}

// versionsRise asks that the versions of each key rise in the order of the outbox.
func (r *rig) versionsRise() {
	r.Helper()
	last := map[string]events.Event{}
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT body FROM outbox_events ORDER BY id") {
			var body []byte
			if err == nil {
				err = row.Scan(&body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
			if err != nil {
				return err
			}
			if was, seen := last[e.Key]; seen && (e.Version < was.Version || e.Version == was.Version &&
				e.Index <= was.Index) {
				r.Errorf("%s: version %s/%d comes after %s/%d", e.Key, e.Version, e.Index, was.Version, was.Index)
			}
			last[e.Key] = e
		}
		return nil
	})
	if err != nil || len(last) == 0 {
		r.Errorf("%d keys, %v", len(last), err)
	}
}
