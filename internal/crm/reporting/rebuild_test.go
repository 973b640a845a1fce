package reporting

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// work does all rebuilds to their end.
func (t *tenant) work() {
	t.Helper()
	for steps := 0; ; steps++ {
		if _, err := t.runs.Step(t.Context()); err != nil {
			t.Error(err)
			return
		}
		all, err := t.runs.List(t.Context(), t.id)
		if err != nil {
			t.Error(err)
			return
		}
		if steps == 10_000 {
			t.Errorf("after %d steps a rebuild is still running", steps)
			return
		}
		if !slices.ContainsFunc(all, func(b *rebuild.Rebuild) bool { return b.Status == rebuild.Running }) {
			return
		}
	}
}

// right fails when a recount finds something.
func (t *tenant) right(when string) {
	t.Helper()
	if found, err := t.Recount(t.Context(), t.id); err != nil || len(found) > 0 {
		t.Errorf("%s a recount finds %q, %v", when, found, err)
	}
}

// market is a tenant with some of everything that is counted.
func market(r *rig) (t *tenant, deals, leads []string, campaign string) {
	t, boss, clerk := office(r)
	campaign = t.create("Campaign", boss, map[string]any{"Name": "Spring"})
	for i, stage := range []string{"Prospecting", "Negotiation", "Negotiation", "Closed Won", "Closed Lost"} {
		deals = append(deals, t.create("Opportunity", []string{boss, clerk}[i%2], map[string]any{
			"Name": "O", "StageName": stage, "CloseDate": "2026-02-28", "Amount": 100 * (i + 1), "CampaignId": campaign,
		}))
		leads = append(leads, t.create("Lead", []string{boss, clerk}[i%2], map[string]any{
			"LastName": "L",
			"Company":  "C", "Status": "Open - Not Contacted", "LeadSource": "Web",
		}))
		if _, _, err := t.records.PutMember(t.Context(), t.system(), campaign, "Lead", leads[i],
			records.MemberDraft{}); err != nil {
			t.Fatal(err)
		}
		a := &submission{id: crmtest.ID(9, i), object: "Opportunity", record: deals[i], by: boss, at: 1_767_000_000_000}
		t.submit(a)
		t.publish("Submission", a.id, events.ApprovalSubmitted{
			ApprovalInstanceID: a.id, Target: events.ApprovalTarget{ObjectName: a.object, RecordID: a.record},
			SubmittedBy: a.by, SubmittedAt: a.at, LockedFields: []string{},
		})
	}
	t.settle()
	return t, deals, leads, campaign
}

// TestARebuildPutsRightWhatIsWrong damages facts and counts in every way, and rebuilds.
func TestARebuildPutsRightWhatIsWrong(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.chunk = 2
		p, deals, leads, campaign := market(r)
		boss := crmtest.ID(users, 1)
		p.right("at first")
		all := func() (text string) {
			for _, name := range []string{
				"pipeline", "forecast", "won-lost", "lead-conversion", "campaigns",
				"approvals",
			} {
				text += p.table("", name, Query{})
			}
			return text
		}
		was := all()
		for _, damage := range []struct {
			query string
			args  []any
		}{
			{"UPDATE reporting_opportunity SET stage = 'Prospecting', version = version + 1000000 WHERE tenant_id = " +
				"$1 AND id = $2", []any{deals[1]}},
			{"DELETE FROM reporting_opportunity WHERE tenant_id = $1 AND id = $2", []any{deals[2]}},
			{"UPDATE reporting_opportunity SET id = '~' || id WHERE tenant_id = $1 AND id = $2", []any{deals[4]}},
			{"UPDATE reporting_lead SET owner_id = $3 WHERE tenant_id = $1 AND id = $2", []any{leads[1], boss}},
			{"DELETE FROM reporting_lead WHERE tenant_id = $1 AND id = $2", []any{leads[2]}},
			{"UPDATE reporting_member SET responded = 'yes' WHERE tenant_id = $1 AND member_id = $2", []any{leads[0]}},
			{"DELETE FROM reporting_member WHERE tenant_id = $1 AND member_id = $2", []any{leads[3]}},
			{"UPDATE reporting_member SET campaign_id = '~' WHERE tenant_id = $1 AND member_id = $2 AND campaign_id " +
				"= $3", []any{leads[4], campaign}},
			{
				"UPDATE reporting_approval SET decision = 'APPROVED', decided_at = 1 WHERE tenant_id = $1 AND id = $2",
				[]any{crmtest.ID(9, 0)},
			},
			{"DELETE FROM reporting_approval WHERE tenant_id = $1 AND id = $2", []any{crmtest.ID(9, 1)}},
			{
				"UPDATE reporting_approval SET id = $3 WHERE tenant_id = $1 AND id = $2",
				[]any{crmtest.ID(9, 2), crmtest.ID(9, 90)},
			},
			{"UPDATE reporting_count SET n = n + 7, amount_lo = amount_lo - 1 WHERE tenant_id = $1 AND cube = " +
				"'stage' AND owner_id = $2", []any{""}},
			{"DELETE FROM reporting_count WHERE tenant_id = $1 AND cube = 'month' AND owner_id = $2", []any{boss}},
			{
				"UPDATE reporting_count SET k1 = 'nothing' WHERE tenant_id = $1 AND cube = 'lead' AND owner_id = $2",
				[]any{""},
			},
			{
				"UPDATE reporting_count SET cube = 'nothing' WHERE tenant_id = $1 AND cube = 'prospect' AND " +
					"owner_id = $2",
				[]any{boss},
			},
		} {
			p.Change(func(ctx context.Context, tx *sqldb.Tx) error {
				n, err := tx.Exec(ctx, damage.query, append([]any{p.id}, damage.args...)...)
				if err == nil && n == 0 {
					t.Errorf("nothing was damaged: %s", damage.query)
				}
				return err
			})
		}
		if found, err := p.Recount(t.Context(), p.id); err != nil || len(found) < 15 {
			t.Errorf("a recount finds only %q, %v", found, err)
		}
		key := &canonical.IdempotencyKey{Key: "k", Endpoint: "e"}
		first, replay, err := p.Rebuild(t.Context(), p.id, key)
		again, replayed, problem := p.Rebuild(t.Context(), p.id, key)
		if err != nil || problem != nil || replay || !replayed || first != again {
			t.Fatalf("got %s %v %v, %s %v %v", first, replay, err, again, replayed, problem)
		}
		if under, _, err := p.Rebuild(t.Context(), p.id, nil); under != first || err != nil {
			t.Errorf("a second one beside it: %s, %v", under, err)
		}
		p.work()
		p.right("after a rebuild")
		if got := all(); got != was {
			t.Errorf("reports are\n%swere\n%s", got, was)
		}
		b, err := p.runs.Get(t.Context(), p.id, first)
		if err != nil || b.Status != rebuild.Done || b.Processed != 20 || b.EndedAt == 0 {
			t.Fatalf("got %+v, %v", b, err)
		}
		if v, err := p.cfg.Engine.Execution(t.Context(), p.id, p.execution(b), 0); err != nil ||
			v.State.Status != flow.Completed {
			t.Errorf("the execution is %v, %v", v.State.Status, err)
		}
		if _, err := p.runs.Get(t.Context(), newTenant(r).id, first); fault.KindOf(err) != fault.NotFound {
			t.Errorf("another tenant: %v", err)
		}
		p.isCanceled()
	})
}

func (t *tenant) execution(b *rebuild.Rebuild) flow.ID {
	t.Helper()
	id, err := flow.ParseID(b.Execution)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// isCanceled has an operator cancel a rebuild.
func (t *tenant) isCanceled() {
	t.Helper()
	id, _, err := t.Rebuild(t.Context(), t.id, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := t.runs.Get(t.Context(), t.id, id)
	if err := t.runs.Start(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b, _ = t.runs.Get(t.Context(), t.id, id)
	if err := t.runs.Submit(t.Context(), t.id, t.execution(b), flow.Cancel{Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	t.work()
	if b, err = t.runs.Get(t.Context(), t.id, id); err != nil || b.Status != rebuild.Canceled {
		t.Errorf("canceled: %+v, %v", b, err)
	}
}

// TestWhatIsCountedDuringARebuildIsKept has counts that are wrong put right while records
// change between the moment in which a rebuild finds out what counts lack and the moment in
// which it adds that; and whoever comes second to add it, adds nothing.
func TestWhatIsCountedDuringARebuildIsKept(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		p, deals, _, _ := market(r)
		p.Exec("UPDATE reporting_count SET n = n - 1 WHERE tenant_id = $1", p.id)
		id, _, err := p.Rebuild(t.Context(), p.id, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.runs.Get(t.Context(), p.id, id)
		if err != nil {
			t.Fatal(err)
		}
		for done, i := false, 0; !done; i++ {
			if slices.ContainsFunc(p.parts(), func(a part) bool { return a.name == b.At.Part && a.sums != nil }) {
				of := p.parts()[slices.IndexFunc(p.parts(), func(a part) bool { return a.name == b.At.Part })]
				if b.Memo, err = p.compare(t.Context(), p.id, of.sums); err != nil || len(gapOf(b).keys) == 0 {
					t.Fatalf("%s lack %v, %v", b.At.Part, b.Memo, err)
				}
			}
			second := *b
			p.create("Opportunity", crmtest.ID(users, 2), map[string]any{
				"Name": "N", "StageName": "Qualification",
				"CloseDate": "2026-03-01", "Amount": 5,
			})
			p.create("Lead", crmtest.ID(users, 1), map[string]any{
				"LastName": "N", "Company": "N",
				"Status": "Open - Not Contacted",
			})
			if i < len(deals) {
				if _, err := p.apply("Opportunity", records.Op{Kind: records.Delete, ID: deals[i]}); err != nil {
					t.Fatal(err)
				}
			}
			p.settle()
			if done, err = p.chunk(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if _, err := p.chunk(t.Context(), &second); !errors.Is(err, rebuild.ErrGone) {
				t.Errorf("who comes second with %s: %v", second.At.Part, err)
			}
		}
		p.right("after a rebuild")
	})
}

// TestARebuildBesideEventsConverges does anything at random while facts and counts are
// damaged and rebuilt.
func TestARebuildBesideEventsConverges(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.cfg.limits.chunk = 2
		rapid.Check(t, func(rt *rapid.T) {
			p := &play{tenant: newTenant(r), T: rt, living: map[string][]string{}}
			p.begin()
			for range 40 {
				p.step()
			}
			p.Exec("UPDATE reporting_count SET n = n + 1, amount_lo = amount_lo + 3 WHERE tenant_id = $1 AND cube IN "+
				"('stage', 'lead')", p.id)
			p.Exec("UPDATE reporting_opportunity SET amount = amount + 1 WHERE tenant_id = $1", p.id)
			p.Exec("DELETE FROM reporting_lead WHERE tenant_id = $1", p.id)
			if _, _, err := p.Rebuild(r.Context(), p.id, nil); err != nil {
				rt.Fatal(err)
			}
			var both sync.WaitGroup
			both.Go(func() { p.tenant.work() })
			for range 40 {
				p.step()
			}
			both.Wait()
			p.finish()
			if found, err := p.Recount(r.Context(), p.id); err != nil || len(found) > 0 {
				rt.Fatalf("a recount finds %q, %v", found, err)
			}
		})
	})
}
