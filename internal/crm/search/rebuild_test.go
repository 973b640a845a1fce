package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// fill makes some records that the index does not know.
func (t *tenant) fill(n int) (ids []string) {
	for i := range n {
		ids = append(ids, t.create("Account", fmt.Sprintf(`{"Name":"Acme %d"}`, i)))
	}
	t.create("Contact", `{"LastName":"Acme"}`)
	return ids
}

func rebuildsAreExecutions(t *testing.T, r *rig) {
	p := newTenant(r)
	ids := p.fill(5)
	key := &canonical.IdempotencyKey{Key: "k", Endpoint: "e"}
	first, replay, err := p.Rebuild(t.Context(), p.id, "", key)
	again, replayed, problem := p.Rebuild(t.Context(), p.id, "", key)
	if err != nil || problem != nil || replay || !replayed || first != again {
		t.Fatalf("got %s %v %v, %s %v %v", first, replay, err, again, replayed, problem)
	}
	if under, _, err := p.Rebuild(t.Context(), p.id, "", nil); under != first || err != nil {
		t.Errorf("a second one beside it: %s, %v", under, err)
	}
	if _, _, err := p.Rebuild(t.Context(), p.id, "Nothing", nil); crmtest.CodeOf(err) != "OBJECT_UNKNOWN" {
		t.Errorf("of no object: %v", err)
	}
	p.work()
	b, err := p.runs.Get(t.Context(), p.id, first)
	if err != nil || b.Status != rebuild.Done || b.Processed != 6 || b.Total != 6 || b.EndedAt == 0 {
		t.Fatalf("got %+v, %v", b, err)
	}
	id, err := flow.ParseID(b.Execution)
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.cfg.Engine.Execution(t.Context(), p.id, id, 0)
	if err != nil || v.State.Status != flow.Completed {
		t.Errorf("the execution is %v, %v", v.State.Status, err)
	}
	p.same()
	if got := p.find("", Ask{Text: "acme", Limit: 3}); strings.Count(got, "Acme") != 6 {
		t.Errorf("found %s", got)
	}
	// What was lost or is too much is put right; the events come late.
	p.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM search_doc WHERE tenant_id = $1 AND id = $2", p.id, ids[1])
		return err
	})
	p.drop("Account", ids[2])
	if _, _, err := p.Rebuild(t.Context(), p.id, "Account", nil); err != nil {
		t.Fatal(err)
	}
	p.work()
	if got := p.find("", Ask{Text: "acme", Objects: []string{"Account"}}); got != "Acme 4,Acme 3,Acme 1,Acme 0" {
		t.Errorf("after a rebuild: %s", got)
	}
	p.settle()
	// An operator's cancel ends it; another tenant does not see any of it.
	last, _, err := p.Rebuild(t.Context(), p.id, "Account", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ = p.runs.Get(t.Context(), p.id, last)
	if err := p.runs.Start(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b, _ = p.runs.Get(t.Context(), p.id, last)
	if id, err = flow.ParseID(b.Execution); err != nil {
		t.Fatal(err)
	}
	if err := p.runs.Submit(t.Context(), p.id, id, flow.Cancel{Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	p.work()
	if b, err = p.runs.Get(t.Context(), p.id, last); err != nil || b.Status != rebuild.Canceled {
		t.Errorf("canceled: %+v, %v", b, err)
	}
	if _, err := p.runs.Get(t.Context(), newTenant(r).id, last); crmtest.CodeOf(err) != "REBUILD_NOT_FOUND" {
		t.Errorf("another tenant: %v", err)
	}
}

// otherFieldsLeadToARebuild keeps a field out of the index and not so again, as the events tell.
func otherFieldsLeadToARebuild(t *testing.T, r *rig) {
	p := newTenant(r)
	for i := range 5 {
		p.create("Account", fmt.Sprintf(`{"Name":"A%d","Description":"sauce"}`, i))
	}
	p.settle()
	rebuilt := func() int {
		all, err := p.runs.List(t.Context(), p.id)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	sauce := Ask{Text: "sauce", Limit: 10}
	if got := p.find("", sauce); strings.Count(got, ",") != 4 || rebuilt() != 0 {
		t.Fatalf("at first: %s, %d rebuilds", got, rebuilt())
	}
	p.define(model.KindField, "Account.Description", `{"sensitive":true}`)
	p.settle()
	if got := p.find("", sauce); strings.Count(got, ",") != 4 || rebuilt() != 0 {
		t.Errorf("sensitive: %s, %d rebuilds, want what it was", got, rebuilt())
	}
	p.define(model.KindField, "Account.Description", `{"searchable":false}`)
	p.settle()
	p.settle()
	if got := p.find("", sauce); got != "" || rebuilt() != 1 {
		t.Errorf("not searchable: %s, %d rebuilds", got, rebuilt())
	}
	p.work()
	p.same()
	p.define(model.KindField, "Account.Description", `{}`)
	p.define(model.KindField, "Account.Tier__c", `{"label":"Tier","type":"text","maxLength":20}`)
	p.settle()
	if rebuilt() != 2 {
		t.Errorf("%d rebuilds, want one for both changes", rebuilt()-1)
	}
	p.work()
	if got := p.find("", sauce); strings.Count(got, ",") != 4 {
		t.Errorf("searchable again: %s", got)
	}
	// For a moment only, in which a record was written into the index.
	p.define(model.KindField, "Account.Description", `{"searchable":false}`)
	p.create("Account", `{"Name":"A9","Description":"sauce"}`)
	p.fetch()
	p.hand(p.waits[len(p.waits)-1])
	p.define(model.KindField, "Account.Description", `{}`)
	p.settle()
	p.work()
	p.same()
	before := rebuilt()
	for _, e := range p.taken { // once more, all of them
		p.hand(e)
	}
	if rebuilt() != before {
		t.Errorf("%d rebuilds after events came again", rebuilt()-before)
	}
	p.same()
}

// recountFindsWhatIsWrong damages the index.
func recountFindsWhatIsWrong(t *testing.T, r *rig) {
	p := newTenant(r)
	ids := p.fill(4)
	p.settle()
	p.same()
	damage := []string{
		"DELETE FROM search_doc WHERE tenant_id = $1 AND id = $2",
		"UPDATE search_doc SET digest = digest + 1 WHERE tenant_id = $1 AND id = $2",
		"UPDATE search_doc SET id = '~' || id WHERE tenant_id = $1 AND id = $2",
	}
	if r.Search.DB.Dialect() == sqldb.SQLite {
		damage = append(damage, "DELETE FROM search_text WHERE rowid = (SELECT place FROM search_doc WHERE tenant_id "+
			"= $1 AND id = $2)")
	} else {
		damage = append(damage, "UPDATE search_doc SET tokens = '' WHERE tenant_id = $1 AND id = $2")
	}
	for i, how := range damage {
		p.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			n, err := tx.Exec(ctx, how, p.id, ids[i])
			if err == nil && n == 0 && !strings.Contains(how, "search_text") {
				err = errors.New("nothing was damaged")
			}
			return err
		})
	}
	got, err := p.Recount(t.Context(), p.id)
	if err != nil || got.Looked != 5 || len(got.Differences) < len(damage) {
		t.Errorf("got %+v, %v", got, err)
	}
	for i, id := range ids {
		if i != 3 && !strings.Contains(strings.Join(got.Differences, "\n"), id) {
			t.Errorf("what was done to %s (%s) is not among %q", id, damage[i], got.Differences)
		}
	}
	if _, _, err := p.Rebuild(t.Context(), p.id, "", nil); err != nil {
		t.Fatal(err)
	}
	p.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM search_doc WHERE tenant_id = $1 AND id LIKE '~%'", p.id)
		return err
	})
	p.work()
	got, err = p.Recount(t.Context(), p.id)
	for _, line := range got.Differences {
		if !strings.Contains(line, "no record") { // left of what was deleted behind the index's back
			t.Errorf("after a rebuild: %s", line)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// rebuildBesideEvents changes and deletes records while the index is rebuilt.
func rebuildBesideEvents(t *testing.T, r *rig) {
	p := newTenant(r)
	ids := p.fill(12)
	p.settle()
	if _, _, err := p.Rebuild(t.Context(), p.id, "", nil); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	both.Go(func() { p.work() })
	for i, id := range ids {
		if i%3 == 0 {
			p.drop("Account", id)
		} else {
			p.apply("Account", records.Op{
				Kind: records.Update, ID: id,
				Fields: crmtest.Fields(t, fmt.Sprintf(`{"Name":"New %d"}`, i)),
			})
		}
		p.settle()
	}
	both.Wait()
	p.same()
	if got := p.find("", Ask{Text: "new", Limit: 20}); strings.Count(got, "New") != 8 {
		t.Errorf("found %s", got)
	}
}
