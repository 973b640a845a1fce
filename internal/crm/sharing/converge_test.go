package sharing

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/test/tier"
)

// The kinds of ids.
const (
	users = iota
	roles
	groups
	sets
	rules
	recordIDs
	territoryIDs
)

// TestAccessConvergesToARecomputationFromNothing does anything in any order, hands the
// events out in any order that keeps that of their keys, some twice, and rebuilds in
// between. When it is quiet, everybody has what a dumb recomputation says.
func TestAccessConvergesToARecomputationFromNothing(t *testing.T) {
	tier.System(t)
	onEvery(t, func(t *testing.T, r *rig) {
		steps := 120
		if os.Getenv("RENGA_LONG") != "" {
			steps = 400
		}
		rapid.Check(t, func(rt *rapid.T) {
			r.limits.few = rapid.SampledFrom([]int{-1, 5, 1000}).Draw(rt, "few")
			r.limits.unreached = rapid.SampledFrom([]int{0, 2, 1000}).Draw(rt, "unreached")
			p := &play{tenant: newTenant(r), T: rt, gone: map[string]bool{}}
			p.begin()
			for n := range steps {
				p.step()
				if n%4 == 0 {
					p.count()
				}
			}
			p.settle()
			if found, err := p.Recount(p.Context(), p.id); err != nil || len(found) > 0 {
				rt.Fatalf("a recount finds %q, %v", found, err)
			}
			p.compare()
		})
	})
}

// play is a tenant in which things happen at random.
type play struct {
	*tenant
	*rapid.T
	building *Model
	task     *engine.Task
	gone     map[string]bool // records that were deleted
}

func (p *play) pick(label string, kind, n int) string {
	return num(kind, rapid.IntRange(1, n).Draw(p.T, label))
}

func (p *play) access() model.Access {
	return rapid.SampledFrom([]model.Access{model.Read, model.Edit}).Draw(p.T, "access")
}

func (p *play) object() string {
	return rapid.SampledFrom([]string{"Account", "Contact", "Opportunity", "Quote", "Lead"}).Draw(p.T, "object")
}

// begin makes a small organization.
func (p *play) begin() {
	for n := 1; n <= 4; n++ {
		p.putRole(model.Role{ID: num(roles, n), Name: "r"})
	}
	p.putSet(model.PermissionSet{ID: num(sets, 1), Name: "view", ViewAll: true})
	p.putSet(model.PermissionSet{ID: num(sets, 2), Name: "modify", ModifyAll: true})
	p.putSet(model.PermissionSet{ID: num(sets, 3), Name: "nothing"})
	for n := 1; n <= 6; n++ {
		p.user(n)
	}
	for n := 1; n <= 3; n++ {
		p.group(n)
		p.putTerritoryOf(num(territoryIDs, n), "", model.Read)
	}
	for range 6 {
		p.record()
	}
}

func (p *play) user(n int) {
	u := model.User{ID: num(users, n), Name: "u", IsActive: rapid.IntRange(0, 9).Draw(p.T, "active") > 0}
	if role := rapid.IntRange(0, 4).Draw(p.T, "role"); role > 0 {
		u.RoleID = num(roles, role)
	}
	if set := rapid.IntRange(0, 12).Draw(p.T, "set"); set > 0 && set <= 3 {
		u.PermissionSetIDs = []string{num(sets, set)}
	}
	p.putUser(u)
}

func (p *play) group(n int) {
	g := model.Group{ID: num(groups, n), Name: "g", Type: model.PublicGroup, Members: []model.Member{}}
	if n == 3 {
		g.Type = model.Queue
	}
	for range rapid.IntRange(0, 3).Draw(p.T, "members") {
		m := model.Member{Type: model.TypeUser, ID: p.pick("member", users, 6)}
		if rapid.Bool().Draw(p.T, "by role") {
			m = model.Member{Type: model.TypeRole, ID: p.pick("member role", roles, 4)}
		}
		if !slices.Contains(g.Members, m) {
			g.Members = append(g.Members, m)
		}
	}
	p.putGroup(g)
}

// role moves a role, but never below itself.
func (p *play) role() {
	r := model.Role{ID: p.pick("role", roles, 4), Name: "r"}
	if parent := rapid.IntRange(0, 4).Draw(p.T, "parent"); parent > 0 {
		r.ParentRoleID = num(roles, parent)
	}
	for at := r.ParentRoleID; at != ""; at = p.roles[at].ParentRoleID {
		if at == r.ID {
			return
		}
	}
	p.putRole(r)
}

func (p *play) owner() string {
	if n := rapid.IntRange(1, 7).Draw(p.T, "owner"); n < 7 {
		return num(users, n)
	}
	return num(groups, 3)
}

// record creates or updates a record. Half of the ids are of accounts.
func (p *play) record() {
	n := rapid.IntRange(1, 16).Draw(p.T, "record")
	if p.gone[num(recordIDs, n)] {
		return
	}
	r := model.Record{Object: "Account", ID: num(recordIDs, n), OwnerID: p.owner(), Fields: map[string]any{}}
	r.Name = rapid.SampledFrom([]string{"red", "rose", "blue"}).Draw(p.T, "name")
	r.Fields["Name"] = r.Name
	if rapid.Bool().Draw(p.T, "described") {
		r.Fields["Description"] = "short"
	}
	if n > 8 {
		r.Object = []string{"Contact", "Opportunity", "Quote", "Lead"}[n%4]
		if account := p.records[p.pick("account", recordIDs, 8)]; account != nil && r.Object != "Lead" {
			r.AccountID = account.ID
		}
	}
	p.putRecord(r)
}

// living is a record that is there, nil when that which was drawn is not.
func (p *play) living() *model.Record { return p.records[p.pick("living", recordIDs, 16)] }

func (p *play) drop() {
	r := p.living()
	if r == nil {
		return
	}
	for _, other := range p.records {
		if other.AccountID == r.ID {
			return
		}
	}
	p.dropRecord(r.ID)
	p.gone[r.ID] = true // an id is never used again
}

func (p *play) mate() {
	r := p.living()
	if r == nil || !slices.Contains(model.TeamObjects, r.Object) {
		return
	}
	access := model.NoAccess
	if rapid.IntRange(0, 2).Draw(p.T, "leaves") > 0 {
		access = p.access()
	}
	p.putMate(r.ID, p.pick("mate", users, 6), access)
}

func (p *play) territory() {
	id, parent := p.pick("territory", territoryIDs, 3), ""
	if n := rapid.IntRange(0, 3).Draw(p.T, "above"); n > 0 {
		parent = num(territoryIDs, n)
	}
	for at := parent; at != ""; at = p.territories[at].ParentID {
		if at == id {
			return
		}
	}
	p.putTerritoryOf(id, parent, p.access())
}

func (p *play) assignment() {
	territory, on := p.pick("territory", territoryIDs, 3), rapid.Bool().Draw(p.T, "on")
	if rapid.Bool().Draw(p.T, "user") {
		p.assign(territory, Users, p.pick("worker", users, 6), on)
	} else if r := p.living(); r != nil && r.Object == "Account" {
		p.assign(territory, Accounts, r.ID, on)
	}
}

func (p *play) rule() {
	r := model.SharingRule{
		ID: p.pick("rule", rules, 5), Name: "s", Object: p.object(), Kind: model.OwnerRule, Access: p.access(),
		Target:   p.member("target"),
		IsActive: rapid.IntRange(0, 4).Draw(p.T, "active") > 0,
	}
	if before := p.rules[r.ID]; before != nil {
		r.Object = before.Object
		if rapid.IntRange(0, 3).Draw(p.T, "drop") == 0 {
			p.dropRule(r.ID)
			return
		}
	}
	if rapid.Bool().Draw(p.T, "criteria") {
		r.Kind, r.Criteria = model.CriteriaRule, rapid.SampledFrom(slices.Sorted(maps.Keys(criteria))).Draw(p.T,
			"condition")
	} else {
		source := p.member("source")
		for source.Type == model.TypeUser {
			source = model.Member{Type: model.TypeRole, ID: num(roles, 1)}
		}
		r.Source = &source
	}
	p.putRule(r)
}

func (p *play) member(label string) model.Member {
	switch rapid.IntRange(0, 3).Draw(p.T, label) {
	case 0:
		return model.Member{Type: model.TypeUser, ID: p.pick(label, users, 6)}
	case 1:
		return model.Member{Type: model.TypeRole, ID: p.pick(label, roles, 4)}
	case 2:
		return model.Member{Type: model.TypeRoleAndSubordinates, ID: p.pick(label, roles, 4)}
	}
	return model.Member{Type: model.TypeGroup, ID: p.pick(label, groups, 3)}
}

// step lets one thing happen.
func (p *play) step() {
	switch rapid.IntRange(0, 19).Draw(p.T, "step") {
	case 0:
		p.user(rapid.IntRange(1, 6).Draw(p.T, "user"))
	case 1:
		p.group(rapid.IntRange(1, 3).Draw(p.T, "group"))
	case 2:
		p.role()
	case 3, 4, 5:
		p.record()
	case 6:
		p.drop()
	case 7:
		p.mate()
	case 8:
		p.territory()
	case 9:
		p.assignment()
	case 10:
		p.rule()
	case 11:
		p.putDefault(p.object(), rapid.SampledFrom([]model.OWD{
			model.Private, model.Private, model.ReadOnly,
			model.ReadWrite,
		}).Draw(p.T, "default"))
	case 12:
		if _, _, err := p.Rebuild(p.Context(), p.id, p.object(), nil); err != nil {
			p.rig.Fatal(err)
		}
	case 13, 14:
		p.rebuild()
	case 15:
		if len(p.taken) > 0 { // it comes a second time
			p.give(rapid.SampledFrom(p.taken).Draw(p.T, "again"))
		}
	default:
		keys := p.keys()
		switch {
		case len(keys) == 0:
		case rapid.IntRange(0, 3).Draw(p.T, "together") == 0:
			p.takeAll()
		default:
			p.take(rapid.SampledFrom(keys).Draw(p.T, "key"))
		}
	}
}

func (p *play) Context() context.Context { return p.rig.Context() }
func (p *play) Helper()                  {}

// rebuild does one thing that a rebuild is made of; the process that does it may end
// behind any of them.
func (p *play) rebuild() {
	if p.task != nil {
		done, err := rebuilder{p.Sharing}.Chunk(p.Context(), p.building)
		if err == nil && done {
			err = p.runs.Finish(p.Context(), p.building, p.task)
		}
		if err == nil && !done && rapid.IntRange(0, 5).Draw(p.T, "ends") > 0 {
			return
		}
		if err != nil && !errors.Is(err, rebuild.ErrGone) {
			p.rig.Fatal(err)
		}
		if !done {
			if err := p.runs.Fail(p.Context(), p.id, p.task, "ERR_INTERRUPTED", "the process ended"); err != nil {
				p.rig.Fatal(err)
			}
		}
		p.building, p.task = nil, nil
		return
	}
	for _, b := range p.models() {
		if b.Execution == "" {
			if err := p.runs.Start(p.Context(), &b); err != nil {
				p.rig.Fatal(err)
			}
			return
		}
	}
	claimed, err := p.cfg.Engine.Claim(p.Context(), engine.ClaimRequest{
		Tenant: p.id, Worker: p.cfg.Worker, Queues: []string{p.runs.Queue()}, Max: 1, Lease: rebuild.Lease,
		CorrelationID: "test",
	})
	if err != nil {
		p.rig.Fatal(err)
	}
	if len(claimed.Tasks) == 0 {
		return
	}
	p.task = &claimed.Tasks[0]
	p.See(func(ctx context.Context, tx *sqldb.Tx) error {
		all, err := rebuilder{p.Sharing}.Jobs(ctx, tx, "tenant_id = $1 AND execution = $2", p.id,
			p.task.Execution.String())
		p.building = all[0]
		return err
	})
	if p.building.Status != Building {
		if err := p.runs.Work(p.Context(), p.id, p.task); err != nil {
			p.rig.Fatal(err)
		}
		p.building, p.task = nil, nil
	}
}

// models are those of the tenant that are being built.
func (p *play) models() (all []Model) {
	p.See(func(ctx context.Context, tx *sqldb.Tx) (err error) {
		all, err = models(ctx, tx, "tenant_id = $1 AND status = 1 ORDER BY num", p.id)
		return err
	})
	return all
}

// settle lets everything that began come to its end.
func (p *play) settle() {
	for keys := p.keys(); len(keys) > 0; keys = p.keys() {
		p.take(rapid.SampledFrom(keys).Draw(p.T, "key"))
	}
	for began := time.Now(); p.task != nil || len(p.models()) > 0; {
		if time.Since(began) > patience {
			p.rig.Fatalf("the rebuilds of %+v come to no end", p.models())
		}
		p.rebuildOnce()
	}
	if keys := p.keys(); len(keys) > 0 {
		p.rig.Fatalf("events wait of %q", keys)
	}
}

// rebuildOnce goes on with a rebuild without an end of its process.
func (p *play) rebuildOnce() {
	if p.task != nil {
		if err := p.runs.Work(p.Context(), p.id, p.task); err != nil {
			p.rig.Fatal(err)
		}
		p.building, p.task = nil, nil
		return
	}
	worked := false
	for _, b := range p.models() {
		did, err := p.runs.Advance(p.Context(), &b)
		if err != nil {
			p.rig.Fatal(err)
		}
		worked = worked || did
	}
	if !worked { // a task waits for its next attempt
		claimed, err := p.cfg.Engine.Claim(p.Context(), engine.ClaimRequest{
			Tenant: p.id, Worker: p.cfg.Worker, Queues: []string{p.runs.Queue()}, Max: 1, Lease: rebuild.Lease,
			Wait: 5 * time.Second, CorrelationID: "test",
		})
		if err != nil {
			p.rig.Fatal(err)
		}
		if len(claimed.Tasks) > 0 {
			p.task = &claimed.Tasks[0]
		}
	}
}

// patience is how long rebuilds may take to come to their end.
const patience = time.Minute
