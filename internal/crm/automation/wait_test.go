package automation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func TestAssigneesGetANoteWhenANodeWaitsAndWithEachReminder(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.define(model.KindRole, id(5), `{"name":"Controller"}`)
		r.define(model.KindUser, id(4), `{"name":"Dan","subject":"dan@example.com","roleId":"`+id(5)+
			`","isActive":true}`)
		r.quiet()
		_, _, err := r.engine.PutGraph(t.Context(), tenant, "expense", flow.Graph{
			Nodes: []flow.NodeSpec{
				{NodeID: "start", Type: flow.StartKind},
				{
					NodeID: "approve", Type: flow.WaitKind, Prompt: &flow.Prompt{Title: "Pay?"},
					Remind: &flow.Remind{After: flow.Duration(time.Millisecond)},
					Assignees: &flow.Assignees{
						Users: []string{"nobody@example.com", "dan@example.com"}, Roles: []string{"Controller", "boss"},
						Groups: []string{team},
					},
				},
				{NodeID: "done", Type: flow.SuccessKind},
			},
			Edges: []flow.Edge{{From: "start", To: "approve"}, {From: "approve", To: "done"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		body := []byte(`{"graphId":"expense"}`)
		key, err := canonical.ParseIdempotencyKey("k", "POST /executions", body)
		if err != nil {
			t.Fatal(err)
		}
		results := r.engine.Submit(t.Context(), []engine.Request{{
			Tenant: tenant, Command: flow.Create{BusinessKey: "A-17"}, GraphID: "expense", Start: true,
			Idempotency: key, Actor: flow.Actor{Kind: flow.KindUser, ID: ann}, CorrelationID: "c",
		}})
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		first := "Pay? Node approve of A-17 waits for you."
		inboxes := func(want ...string) {
			t.Helper()
			for _, user := range []string{ann, ben, id(4)} {
				if diff := cmp.Diff(want, r.inbox(user)); diff != "" {
					t.Errorf("inbox of %s (-want +got):\n%s", user, diff)
				}
			}
			if got := r.notes(); got != 3*len(want) { // cho is not active
				t.Errorf("%d notes", got)
			}
		}
		r.clock.Add(time.Second.Milliseconds())
		for began := time.Now(); !slices.Contains(r.inbox(ben), "Reminder 1: "+first); r.work() {
			if time.Since(began) > 20*time.Second {
				t.Fatal("nobody was reminded")
			}
		}
		inboxes(first, "Reminder 1: "+first)
		page, _, err := r.auto.Inbox(t.Context(), kit.Caller{Tenant: tenant, Subject: ben}, true, 0, 1)
		if err != nil || page[0].Object != automation.Execution || page[0].NodeID != "approve" ||
			page[0].RecordID != results[0].Answer.Execution.String() || page[0].ActionKey != "reminder" {
			t.Errorf("got %+v, %v", page, err)
		}
		r.sound()
	})
}
