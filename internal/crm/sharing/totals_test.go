package sharing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestTotalsAreExact lists records as anybody, by any filter, in any order, and holds
// totals and pages against all records, one by one.
func TestTotalsAreExact(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		p, random := newTenant(r), rand.New(rand.NewPCG(7, 26))
		p.company(random)
		for i := range 150 {
			r.limits.few, r.limits.unreached = []int{-1, 20, 1000}[i%3], []int{0, 1000}[i%2]
			user, object := num(
				users,
				1+random.IntN(8),
			), []string{"Account", "Contact", "Opportunity"}[random.IntN(3)]
			q := records.Query{
				Sort:   []string{"", "Name.desc", "Description.asc,Name.asc"}[random.IntN(3)],
				Offset: random.IntN(3) * 5, Limit: 10,
			}
			wanted := p.seenBy(user, object)
			for _, f := range []filter{
				{
					records.Filter{Name: "ownerId", Value: num(users, 1+random.IntN(8))},
					func(r *model.Record, v string) bool { return r.OwnerID == v },
				},
				{records.Filter{Name: "Name.in", Value: "red,blue"}, func(r *model.Record, _ string) bool {
					return r.Name == "red" || r.Name == "blue"
				}},
				{records.Filter{Name: "Description", Value: `a "b" ü`}, func(r *model.Record, v string) bool {
					return r.Fields["Description"] == v
				}},
				{records.Filter{Name: "Description.ne", Value: "short"}, func(r *model.Record, v string) bool {
					return r.Fields["Description"] != v
				}},
				{
					records.Filter{Name: "AccountId", Value: num(recordIDs, 1+random.IntN(20))},
					func(r *model.Record, v string) bool { return r.AccountID == v },
				},
			} {
				if random.IntN(3) == 0 && (f.Name != "AccountId" || object != "Account") {
					q.Filters = append(q.Filters, f.Filter)
					wanted = slices.DeleteFunc(wanted, func(r *model.Record) bool { return !f.holds(r, f.Value) })
				}
			}
			page, total, err := p.kept.List(t.Context(), records.Caller{Tenant: p.id, Subject: user}, object, q)
			if err != nil || total != len(wanted) || len(page) != min(max(0, total-q.Offset), q.Limit) {
				t.Fatalf("%s lists %d on a page of %d %s by %+v, want %d: %v", user, len(page), total, object, q,
					len(wanted), err)
			}
			for i, v := range page {
				if !slices.ContainsFunc(wanted, func(r *model.Record) bool { return r.ID == v.ID }) || q.Sort == "" &&
					v.ID != wanted[q.Offset+i].ID {
					t.Fatalf("%s finds %s by %+v", user, v.ID, q)
				}
			}
		}
	})
}

// filter is a filter of a list, and what it says.
type filter struct {
	records.Filter
	holds func(r *model.Record, value string) bool
}

// company makes people on three levels, in groups, with records of some kinds.
func (t *tenant) company(random *rand.Rand) {
	t.Helper()
	read := model.ObjectPermission{Create: true, Read: true, Update: true, Delete: true}
	t.putSet(model.PermissionSet{ID: num(sets, 1), Name: "s", Objects: map[string]model.ObjectPermission{
		"Account": read, "Contact": read, "Opportunity": read,
	}})
	t.putSet(model.PermissionSet{ID: num(sets, 2), Name: "v", ViewAll: true})
	for n := 1; n <= 4; n++ {
		role := model.Role{ID: num(roles, n), Name: "r"}
		if n > 1 {
			role.ParentRoleID = num(roles, n/2)
		}
		t.putRole(role)
	}
	for n := 1; n <= 8; n++ {
		u := model.User{
			ID: num(users, n), Name: "u", RoleID: num(roles, 1+n%4), IsActive: true,
			PermissionSetIDs: []string{num(sets, 1)},
		}
		if n == 8 {
			u.PermissionSetIDs = append(u.PermissionSetIDs, num(sets, 2))
		}
		t.putUser(u)
	}
	t.putGroup(model.Group{ID: num(groups, 1), Name: "g", Type: model.PublicGroup, Members: []model.Member{
		{Type: model.TypeUser, ID: num(users, 2)}, {Type: model.TypeUser, ID: num(users, 3)}, {
			Type: model.TypeRole,
			ID:   num(roles, 4),
		},
	}})
	t.putGroup(model.Group{ID: num(groups, 2), Name: "g", Type: model.PublicGroup, Members: []model.Member{
		{Type: model.TypeUser, ID: num(users, 2)},
	}})
	for n, object := range []string{"Account", "Opportunity"} {
		for g := 1; g <= 2; g++ {
			t.putRule(model.SharingRule{
				ID: num(rules, 2*n+g), Object: object, Kind: model.CriteriaRule, Criteria: `record.Name == "red"`,
				IsActive: true, Access: model.Read,
				Target: model.Member{Type: model.TypeGroup, ID: num(groups, g)},
			})
		}
	}
	for n := 1; n <= 100; n++ {
		r := model.Record{
			Object: "Account", ID: num(recordIDs, n), OwnerID: num(users, 1+random.IntN(8)),
			Fields: map[string]any{},
		}
		if n > 20 {
			r.Object, r.AccountID = []string{"Contact", "Opportunity"}[n%2], num(recordIDs, 1+random.IntN(20))
		}
		r.Name = []string{"red", "blue", "rose"}[random.IntN(3)]
		r.Fields["Name"] = r.Name
		if d := random.IntN(3); d > 0 {
			r.Fields["Description"] = []string{"", "short", `a "b" ü`}[d]
		}
		t.putRecord(r)
		if object := r.Object; n%7 == 0 && object != "Contact" {
			t.putMate(r.ID, num(users, 1+random.IntN(8)), model.Read)
		}
	}
	t.settle()
	for n := 30; n < 40; n++ { // nobody has heard of these
		if n%4 < 2 {
			t.dropRecord(num(recordIDs, n))
		} else {
			r := *t.records[num(recordIDs, n)]
			r.OwnerID = num(users, 1+random.IntN(8))
			t.putRecord(r)
		}
	}
}

// settle hands out all events and finishes all rebuilds.
func (t *tenant) settle() {
	t.Helper()
	for keys := t.keys(); len(keys) > 0; keys = t.keys() {
		for _, key := range keys {
			t.take(key)
		}
	}
	for worked := true; worked; {
		var err error
		if worked, err = t.runs.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// seenBy are the records that somebody sees, asked for one by one.
func (t *tenant) seenBy(user, object string) (all []*model.Record) {
	t.Helper()
	t.See(func(ctx context.Context, tx *sqldb.Tx) error {
		ids, err := t.visible(ctx, tx, object, user, model.Read, t.WhereOne)
		for _, id := range ids {
			all = append(all, t.world.records[id])
		}
		return err
	})
	return all
}

// TestCountsStayExactUnderWriters creates, gives away and deletes records from many places
// at once, with shares being written and counts being folded between, and then adds up.
func TestCountsStayExactUnderWriters(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		p := newTenant(r)
		p.company(rand.New(rand.NewPCG(7, 27)))
		var writers sync.WaitGroup
		done := make(chan struct{})
		for w := range 4 {
			writers.Go(func() { p.write(t, rand.New(rand.NewPCG(uint64(w), 28))) })
		}
		var handlers sync.WaitGroup
		handlers.Go(func() {
			for {
				for _, key := range p.keys() {
					p.take(key)
				}
				if _, err := p.kept.Compact(t.Context()); err != nil {
					t.Error(err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
		writers.Wait()
		close(done)
		handlers.Wait()
		p.add(t, "before all is handled")
		p.settle()
		if _, err := p.kept.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.add(t, "in the end")
	})
}

// write does 25 changes of opportunities, of its own and of those that everybody has.
func (t *tenant) write(tb testing.TB, random *rand.Rand) {
	var mine []string
	call := records.Caller{Tenant: t.id, CorrelationID: uuid.NewString()}
	apply := func(op records.Op) (id string) {
		_, _, err := t.kept.Apply(tb.Context(), call, records.Batch{
			Object: "Opportunity", Ops: []records.Op{op},
			AllOrNone: true,
		}, func(results []records.Result) ([]byte, error) {
			id = results[0].ID
			return nil, nil
		})
		if err != nil {
			tb.Error(err)
		}
		return id
	}
	text := func(v any) jsontext.Value {
		raw, _ := json.Marshal(v)
		return raw
	}
	for range 25 {
		owner, name := num(users, 1+random.IntN(3)), text([]string{"red", "blue"}[random.IntN(2)])
		common := num(recordIDs, 21+2*random.IntN(4))
		switch random.IntN(4) {
		case 0:
			apply(records.Op{Kind: records.Update, ID: common, OwnerID: owner, Fields: map[string]jsontext.Value{
				"Name": name,
			}})
		case 1:
			if len(mine) > 0 {
				apply(records.Op{Kind: records.Delete, ID: mine[0]})
				mine = mine[1:]
				continue
			}
			fallthrough
		default:
			mine = append(mine, apply(records.Op{
				Kind: records.Create, OwnerID: owner,
				Fields: map[string]jsontext.Value{
					"Name": name, "StageName": text("Qualification"), "CloseDate": text("2026-02-28"),
				},
			}))
		}
	}
}

// add holds counts and the owners of shares against the records.
func (t *tenant) add(tb testing.TB, when string) {
	tb.Helper()
	t.See(func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx,
			`SELECT x.owner_id, CAST(sum(x.counted) AS bigint), CAST(sum(x.found) AS bigint) FROM (
				SELECT object, owner_id, n AS counted, 0 AS found FROM records_count WHERE tenant_id = $1
				UNION ALL SELECT object, owner_id, 0, 1 FROM records_record WHERE tenant_id = $1
				AND deleted_at = 0) AS x
			GROUP BY x.object, x.owner_id HAVING sum(x.counted) <> sum(x.found)`, t.id) {
			var owner string
			var counted, found int
			if err == nil {
				err = row.Scan(&owner, &counted, &found)
			}
			if err != nil {
				return err
			}
			tb.Errorf("%s: %s is said to own %d records, and owns %d", when, owner, counted, found)
		}
		var wrong int
		err := tx.Row(ctx, `SELECT count(*) FROM sharing_share s JOIN sharing_model m ON m.num = s.model
			AND m.status < 3
			LEFT JOIN records_record r ON r.tenant_id = s.tenant_id AND r.object = m.object AND r.id = s.record_id
			AND r.deleted_at = 0
			WHERE s.tenant_id = $1 AND (r.owner_id IS NULL OR r.owner_id <> s.owner_id)`, t.id).
			Scan(&wrong)
		if err == nil && wrong > 0 {
			err = fmt.Errorf("%s: %d shares are of another owner's record, or of none", when, wrong)
		}
		return err
	})
}
