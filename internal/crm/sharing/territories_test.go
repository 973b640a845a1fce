package sharing

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// published are the types of the events that were published since, with what they changed.
func (t *tenant) published() (all []string) {
	t.Helper()
	var batch []events.Event
	batch, t.seen = t.Events(t.id, t.seen)
	for i := range batch {
		what := batch[i].Type
		if p, err := events.DecodePayload[events.TerritoryAssignmentChanged](&batch[i]); err == nil &&
			p.ChangeType != "" {
			what = p.ChangeType + " " + string(p.AssignmentType)
		}
		all = append(all, what)
	}
	return all
}

func TestTerritoriesAreAnnouncedWhenTheyChangeAndNotElse(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		p := newTenant(r)
		p.putUser(model.User{ID: num(users, 1), Name: "u", IsActive: true})
		p.putRecord(model.Record{
			Object: "Account", ID: num(recordIDs, 1), OwnerID: num(users, 1),
			Fields: map[string]any{"Name": "a"},
		})
		p.published()
		west, japan := num(territoryIDs, 1), num(territoryIDs, 2)
		p.putTerritoryOf(japan, "", model.Read)
		p.putTerritoryOf(west, japan, model.Edit)
		p.putTerritoryOf(west, japan, model.Edit) // as it is
		p.assign(west, Users, num(users, 1), true)
		p.assign(west, Accounts, num(recordIDs, 1), true)
		if created, err := p.Territories.Assign(p.Context(), p.call(), west, Users, num(users, 1)); created ||
			err != nil {
			t.Errorf("a second time: %v %v, want nothing", created, err)
		}
		p.assign(west, Users, num(users, 1), false)
		p.assign(west, Accounts, num(recordIDs, 1), false)
		if err := p.Territories.Delete(p.Context(), p.call(), west); err != nil {
			t.Error(err)
		}
		want := []string{
			"TerritoryHierarchyChanged ", "TerritoryHierarchyChanged ", "UserAssigned User", "AccountAssigned Account",
			"UserUnassigned User", "AccountUnassigned Account", "TerritoryHierarchyChanged ",
		}
		if diff := cmp.Diff(want, p.published()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestWhatTerritoriesRefuseNamesTheReason(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		p, other := newTenant(r), newTenant(r)
		p.putUser(model.User{ID: num(users, 1), Name: "u", IsActive: true})
		a, b, c := num(territoryIDs, 1), num(territoryIDs, 2), num(territoryIDs, 3)
		p.putTerritoryOf(a, "", model.Read)
		p.putTerritoryOf(b, a, model.Read)
		p.putTerritoryOf(c, b, model.Read)
		p.assign(c, Users, num(users, 1), true)
		p.published()
		put := func(id string, d Draft) error {
			_, _, err := p.Territories.Put(p.Context(), p.call(), id, d)
			return err
		}
		_, elsewhere := other.Territories.Assign(other.Context(), other.call(), a, Users, num(users, 1))
		for _, tt := range []struct {
			name string
			err  error
			kind fault.Kind
			want string
		}{
			{"a circle", put(a, Draft{Name: "a", ParentID: c}), fault.Invalid, a + " is in " + c + " is in " + b +
				" is in " + a},
			{"itself above", put(a, Draft{Name: "a", ParentID: a}), fault.Invalid, a + " is in " + a},
			{
				"no parent", put(a, Draft{Name: "a", ParentID: num(territoryIDs, 9)}), fault.Invalid,
				"there is no territory " + num(territoryIDs, 9),
			},
			{"no name", put(a, Draft{Name: " "}), fault.Invalid, "name must have"},
			{"a long name", put(a, Draft{Name: strings.Repeat("x", 256)}), fault.Invalid, "name must have"},
			{"a name that no line has", put(a, Draft{Name: "a\x00"}), fault.Invalid, "name must have"},
			{"an access", put(a, Draft{Name: "a", Access: "All"}), fault.Invalid, "access must be"},
			{"an id", put("x", Draft{Name: "a"}), fault.Invalid, "UUID"},
			{"children", p.Territories.Delete(p.Context(), p.call(), b), fault.Conflict, "the territory " + c +
				" is in it"},
			{"users", p.Territories.Delete(p.Context(), p.call(), c), fault.Conflict, "the user " + num(users, 1) +
				" is assigned"},
			{"another tenant", elsewhere, fault.NotFound, "there is no territory"},
			{
				"another tenant's", other.Territories.Delete(other.Context(), other.call(), a), fault.NotFound,
				"there is no territory",
			},
			{"nobody", func() error {
				_, err := p.Territories.Assign(p.Context(), p.call(), a, Users, num(users, 9))
				return err
			}(), fault.NotFound, "there is no user"},
			{"no account", func() error {
				_, err := p.Territories.Assign(p.Context(), p.call(), a, Accounts, num(recordIDs, 9))
				return err
			}(), fault.NotFound, "there is no account"},
			{
				"not assigned", p.Territories.Unassign(p.Context(), p.call(), a, Users, num(users, 1)), fault.NotFound,
				"is not assigned",
			},
		} {
			if fault.KindOf(tt.err) != tt.kind || !strings.Contains(tt.err.Error(), tt.want) {
				t.Errorf("%s: got %v, want %v with %q", tt.name, tt.err, tt.kind, tt.want)
			}
		}
		if got := p.published(); got != nil {
			t.Errorf("published: %q, want nothing", got)
		}
	})
}

// TestATerritoryThatIsLoweredKeepsNoHigherShare raises and lowers the access of a territory,
// also while the next model is being built: nobody who has its accounts through it, in it or
// above it, edits them any more.
func TestATerritoryThatIsLoweredKeepsNoHigherShare(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		p := newTenant(r)
		owner, worker, above, acme := num(users, 1), num(users, 2), num(users, 3), num(recordIDs, 1)
		for _, id := range []string{owner, worker, above} {
			p.putUser(model.User{ID: id, Name: "u", IsActive: true})
		}
		account := model.Record{Object: "Account", ID: acme, OwnerID: owner, Fields: map[string]any{"Name": "a"}}
		p.putRecord(account)
		west, japan := num(territoryIDs, 1), num(territoryIDs, 2)
		p.putTerritoryOf(japan, "", model.Read)
		p.putTerritoryOf(west, japan, model.Edit)
		p.assign(west, Users, worker, true)
		p.assign(japan, Users, above, true)
		p.assign(west, Accounts, acme, true)
		p.settle()
		has := func(when string, level model.Access) {
			t.Helper()
			p.See(func(ctx context.Context, tx *sqldb.Tx) error {
				for _, user := range []string{worker, above} {
					for _, ask := range []where{p.Where, p.WhereOne} {
						reads, err := p.visible(ctx, tx, "Account", user, model.Read, ask)
						if err != nil {
							return err
						}
						edits, err := p.visible(ctx, tx, "Account", user, model.Edit, ask)
						if err != nil {
							return err
						}
						if len(reads) != 1 || (len(edits) == 1) != (level == model.Edit) {
							t.Errorf("%s: %s reads %d and edits %d accounts, want %s", when, user, len(reads),
								len(edits), level)
						}
					}
				}
				var highest int64
				err := tx.Row(ctx, "SELECT max(level) FROM sharing_share WHERE tenant_id = $1 AND grantee = $2", p.id,
					principal(territoryKind, west)).Scan(&highest)
				if err == nil && Level(highest) != levelOf(level) {
					t.Errorf("%s: the highest share is %d, want %d", when, highest, levelOf(level))
				}
				return err
			})
		}
		has("at first", model.Edit)
		for _, level := range []model.Access{model.Read, model.Edit, model.Read, model.Edit} {
			p.putTerritoryOf(west, japan, level)
			p.settle()
			has("as "+string(level), level)
		}
		p.putDefault("Account", model.ReadOnly) // the next model
		p.takeAll()
		p.putMate(acme, owner, model.Read) // writes the rows of the account in both models
		p.takeAll()
		p.putTerritoryOf(west, japan, model.Read)
		p.takeAll()
		has("while the next model is built", model.Read)
		p.settle()
		has("in the next model", model.Read)
	})
}
