package reporting

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

// office is a tenant with two users: one may read everything of opportunities, the other
// neither amounts nor categories. Both see all records.
func office(r *rig) (t *tenant, boss, clerk string) {
	t, boss, clerk = newTenant(r), crmtest.ID(users, 1), crmtest.ID(users, 2)
	read := map[string]model.ObjectPermission{"Opportunity": {Read: true}}
	full := model.PermissionSet{
		ID: crmtest.ID(sets, 1), Name: "full", ViewAll: true, Objects: read,
		Fields: map[string]model.FieldPermission{
			"Opportunity.Amount": {Read: true}, "Opportunity.ForecastCategoryName": {Read: true},
		},
	}
	some := model.PermissionSet{
		ID: crmtest.ID(sets, 2), Name: "some", ViewAll: true, Objects: read,
		Fields: map[string]model.FieldPermission{},
	}
	t.define(
		model.Definition{Kind: model.KindPermissionSet, ID: full.ID, Value: full},
		model.Definition{Kind: model.KindPermissionSet, ID: some.ID, Value: some},
		model.Definition{Kind: model.KindUser, ID: boss, Value: model.User{
			ID: boss, Name: "Boss", IsActive: true,
			PermissionSetIDs: []string{full.ID},
		}},
		model.Definition{Kind: model.KindUser, ID: clerk, Value: model.User{
			ID: clerk, Name: "Clerk", IsActive: true,
			PermissionSetIDs: []string{some.ID},
		}},
	)
	return t, boss, clerk
}

func TestSumsDoNotRevealWhatACallerMayNotRead(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		o, boss, clerk := office(r)
		o.create("Opportunity", boss, map[string]any{
			"Name": "A", "StageName": "Negotiation", "CloseDate": "2026-02-28",
			"Amount": 100.25,
		})
		o.create("Opportunity", clerk, map[string]any{
			"Name": "B", "StageName": "Prospecting",
			"CloseDate": "2026-02-28", "Amount": 50,
		})
		o.settle()
		if got, want := o.table(boss, "pipeline", Query{}),
			"[Prospecting 1 50 5]\n[Negotiation 1 100.25 90.23]\n[ 2 150.25 95.23]\n"; got != want {
			t.Errorf("the boss sees\n%swant\n%s", got, want)
		}
		if got, want := o.table(boss, "pipeline", Query{GroupBy: []string{"owner"}}), "["+boss+
			" Boss 1 100.25 90.23]\n["+clerk+" Clerk 1 50 5]\n[  2 150.25 95.23]\n"; got != want {
			t.Errorf("the boss sees\n%swant\n%s", got, want)
		}
		seen, err := o.Report(t.Context(), kit.Caller{Tenant: o.id, Subject: clerk}, "pipeline", Query{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := textOf(&seen), "[Prospecting 1]\n[Negotiation 1]\n[ 2]\n"; got != want {
			t.Errorf("the clerk sees\n%swant\n%s", got, want)
		}
		if diff := cmp.Diff([]Omitted{{"Opportunity.Amount", []string{"amount", "weightedAmount"}}},
			seen.Omitted); diff != "" {
			t.Errorf("left out (-want +got):\n%s", diff)
		}
		_, err = o.Report(t.Context(), kit.Caller{Tenant: o.id, Subject: clerk}, "forecast", Query{})
		if e, ok := fault.As(err); !ok || e.Kind != fault.Forbidden ||
			cmp.Diff(e.Details, map[string]string{"field": "ForecastCategoryName"}) != "" {
			t.Errorf("forecast: %v, want it to be refused for a field", err)
		}
	})
}

func TestWhatAReportDoesNotKnowIsRefused(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		o, boss, _ := office(r)
		for _, ask := range []struct {
			name string
			q    Query
			want fault.Kind
		}{
			{"pipeline", Query{GroupBy: []string{"month"}}, fault.Invalid},
			{"pipeline", Query{GroupBy: []string{"stage", "stage"}}, fault.Invalid},
			{"pipeline", Query{From: "2026-01"}, fault.Invalid},
			{"forecast", Query{From: "2026-13"}, fault.Invalid},
			{"forecast", Query{From: "2026-02", To: "2026-01"}, fault.Invalid},
			{"campaigns", Query{GroupBy: []string{"owner"}}, fault.Invalid},
			{"campaigns", Query{To: "2026-01"}, fault.Invalid},
			{"nothing", Query{}, fault.NotFound},
		} {
			_, err := o.Report(t.Context(), kit.Caller{Tenant: o.id, Subject: boss}, ask.name, ask.q)
			if fault.KindOf(err) != ask.want {
				t.Errorf("%s %+v: %v, want %v", ask.name, ask.q, err, ask.want)
			}
		}
		nobody := kit.Caller{Tenant: o.id, Subject: crmtest.ID(users, 9)}
		if _, err := o.Report(t.Context(), nobody, "pipeline", Query{}); fault.KindOf(err) != fault.Forbidden {
			t.Errorf("nobody: %v, want it to be refused", err)
		}
	})
}

// TestARecountFindsWhatIsWrong damages what is kept in every way.
func TestARecountFindsWhatIsWrong(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		o, boss, clerk := office(r)
		id := o.create("Opportunity", boss, map[string]any{
			"Name": "A", "StageName": "Negotiation",
			"CloseDate": "2026-02-28", "Amount": 100.25,
		})
		gone := o.create("Opportunity", boss, map[string]any{
			"Name": "B", "StageName": "Prospecting",
			"CloseDate": "2026-02-28",
		})
		if found, err := o.Recount(t.Context(), o.id); err != nil || len(found) != 2+8 {
			t.Errorf("before events are handled: %q, %v", found, err)
		}
		a := &submission{id: crmtest.ID(rules, 9), object: "Opportunity", record: id, by: boss, at: 5}
		o.submit(a)
		o.publish("Submission", a.id, events.ApprovalSubmitted{
			ApprovalInstanceID: a.id, Target: events.ApprovalTarget{ObjectName: a.object, RecordID: id},
			SubmittedBy: a.by, SubmittedAt: a.at, LockedFields: []string{},
		})
		o.settle()
		if found, err := o.Recount(t.Context(), o.id); err != nil || len(found) > 0 {
			t.Errorf("then: %q, %v", found, err)
		}
		for _, damage := range []struct {
			query string
			args  []any
			want  int
		}{
			{
				"UPDATE reporting_opportunity SET owner_id = $2 WHERE tenant_id = $1 AND id = $3",
				[]any{o.id, clerk, id},
				1,
			},
			{"DELETE FROM reporting_opportunity WHERE tenant_id = $1 AND id = $2", []any{o.id, gone}, 2},
			{"UPDATE reporting_count SET amount_lo = amount_lo + 1 WHERE tenant_id = $1 AND cube = 'stage' AND k1 = " +
				"'Negotiation'", []any{o.id}, 4},
			{"INSERT INTO reporting_lead (tenant_id, id, version, owner_id, source, month, converted) VALUES ($1, " +
				"$2, 1, $2, '', '', 'no')", []any{o.id, id}, 5},
			{"DELETE FROM reporting_count WHERE tenant_id = $1", []any{o.id}, 3 + 8},
			{"UPDATE approval_instance SET status = 1, decided_at = 9 WHERE tenant_id = $1", []any{o.id}, 4 + 8},
			{
				"UPDATE reporting_approval SET decision = 'APPROVED', decided_at = 9 WHERE tenant_id = $1",
				[]any{o.id},
				3 + 8,
			},
			// one is missing, another is too many
			{"UPDATE approval_instance SET id = record_id WHERE tenant_id = $1", []any{o.id}, 5 + 8},
		} {
			o.Exec(damage.query, damage.args...)
			if found, err := o.Recount(t.Context(), o.id); err != nil || len(found) != damage.want {
				t.Errorf("after %s: %q, %v, want %d differences", damage.query, found, err, damage.want)
			}
		}
	})
}
