package messages

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func TestALateResultReachesWhoeverCleansUpOnce(t *testing.T) {
	onEvery(t, func(r *rig) {
		r.graph(tenantA, "undo", `{"nodes":[{"nodeId":"s","type":"Start"},
			{"nodeId":"late","type":"Wait","message":{"name":"late-result","key":"input.executionId"}},
			{"nodeId":"more","type":"Wait","message":{"name":"late-result","key":"input.executionId"}},
			{"nodeId":"e","type":"Success"}],
			"edges":[{"from":"s","to":"late"},{"from":"late","to":"more"},{"from":"more","to":"e"}]}`)
		for _, g := range []struct{ id, after string }{{"pay", `,"onCancel":{"graph":"undo"}`}, {"pay-alone", ""}} {
			r.graph(tenantA, g.id, `{"nodes":[{"nodeId":"s","type":"Start"},{"nodeId":"charge","type":"Task"},
				{"nodeId":"e","type":"Success"}],
				"edges":[{"from":"s","to":"charge"},{"from":"charge","to":"e"}]`+g.after+`}`)
		}
		paid := func(graph string) flow.ID {
			id := r.submit(engine.Request{Tenant: tenantA, GraphID: graph, Start: true, Command: flow.Create{}})
			to := func(c flow.Command) engine.Request {
				return engine.Request{Tenant: tenantA, Execution: id, Command: c}
			}
			r.submit(to(flow.StartNode{Node: "charge", Attempt: 1, Worker: "w"}))
			r.submit(to(flow.Cancel{}))
			for range 2 { // without a key each report is kept as evidence
				late := to(flow.Succeed{Node: "charge", Attempt: 1, Worker: "w", Output: flow.Data(`{"receipt":7}`)})
				if res := r.engine.Submit(t.Context(), []engine.Request{late})[0]; !res.Answer.Late {
					t.Fatalf("it was not late: %+v", res)
				}
			}
			return id
		}
		paid("pay-alone")
		id := paid("pay")
		r.settle()
		s := r.state(tenantA, id)
		r.wants(tenantA, id, "CANCELED")
		r.wants(tenantA, s.Compensation, "more")
		all, total, err := r.List(t.Context(), tenantA, Query{Limit: 10})
		if err != nil || total != 1 || all[0].State != Resumed || all[0].CorrelationID != s.CorrelationID {
			t.Fatalf("%d messages: %+v, %v", total, all, err)
		}
		undo := r.state(tenantA, s.Compensation)
		node, _ := undo.Find("late")
		var got map[string]any
		if err := json.Unmarshal(node.Output.Inline, &got); err != nil {
			t.Fatal(err)
		}
		if at, _ := got["receivedAt"].(string); at == "" {
			t.Errorf("%v does not say when it was received", got)
		}
		delete(got, "receivedAt")
		want := map[string]any{
			"executionId": id.String(), "command": "SucceedNode", "nodeId": "charge", "attempt": 1.0, "workerId": "w",
			"guard": "cancel_fence", "output": map[string]any{"receipt": 7.0},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the output of the Wait (-want +got):\n%s", diff)
		}
	})
}
