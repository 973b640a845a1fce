package engine_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const cleaned = `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"quote","type":"Task","queue":"q"},
	{"nodeId":"pay","type":"Task","queue":"q"},{"nodeId":"ship","type":"Task","queue":"q"},
	{"nodeId":"end","type":"Success"}],"edges":[{"from":"start","to":"quote"},{"from":"quote","to":"pay"},
	{"from":"pay","to":"ship"},{"from":"ship","to":"end"}],"onCancel":{"graph":"line"}}`

func TestACancelStartsTheGraphThatCleansUpOnce(t *testing.T) {
	r := newRig(t)
	r.graph("order", cleaned)
	req := r.creation("order")
	req.Command = flow.Create{Input: flow.Data(`{"n":7}`), BusinessKey: "A-17"}
	id := r.must(req).Execution
	r.must(r.to(id, flow.Start{}))
	r.must(r.to(id, flow.StartNode{Node: "quote"}))
	r.must(r.to(id, flow.Succeed{Node: "quote", Output: put(flow.MaxInline + 1)}))
	r.must(r.to(id, flow.StartNode{Node: "pay"}))
	r.must(r.to(id, flow.Succeed{Node: "pay", Output: flow.Data(`{"receipt":"R-1"}`)}))
	r.must(r.to(id, flow.StartNode{Node: "ship"}))
	cancel := r.to(id, flow.Cancel{Reason: "mistake"})
	r.must(cancel)
	r.must(r.to(id, flow.Cancel{Reason: "again"}))
	if again := r.send(cancel)[0]; !again.Answer.Replay {
		t.Errorf("got %+v", again)
	}
	s := r.state(id)
	if s.Status != flow.Canceled || s.Compensation.IsZero() {
		t.Fatalf("the execution is %v, cleaned up after by %v", s.Status, s.Compensation)
	}
	quote, _ := s.Find("quote")
	after := r.state(s.Compensation)
	if after.GraphID != "line" || after.StartedAt == 0 || after.CorrelationID != s.CorrelationID {
		t.Errorf("it is cleaned up after by %+v", after)
	}
	var got, want any
	if err := json.Unmarshal(after.Input, &got); err != nil {
		t.Fatal(err)
	}
	want = map[string]any{
		"executionId": id.String(), "graphId": "order", "businessKey": "A-17", "reason": "mistake",
		"input": map[string]any{"n": 7.0}, "outputs": map[string]any{"pay": map[string]any{"receipt": "R-1"}},
		"outputRefs": map[string]any{"quote": map[string]any{"seq": float64(quote.Output.Seq), "size": 4097.0}},
		"running":    []any{"ship"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("its input (-want +got):\n%s", diff)
	}
	if _, total, err := r.List(t.Context(), engine.ListQuery{Tenant: tenant, GraphID: "line", Limit: 10}); err != nil ||
		total != 1 {
		t.Errorf("%d executions clean up, want 1 (%v)", total, err)
	}
	late := r.send(r.to(id, flow.Succeed{Node: "ship", Output: put(20)}))[0]
	if late.Answer.Refused == nil || !late.Answer.Late {
		t.Errorf("the late result got %+v", late)
	}
	if again := r.state(id); again.Seq != s.Seq {
		t.Errorf("the cancelled execution moved from %d to %d", s.Seq, again.Seq)
	}
}

func TestOnlyACancelOfWhatWasStartedIsCleanedUpAfter(t *testing.T) {
	r := newRig(t)
	r.graph("order", cleaned)
	idle := r.must(r.creation("order")).Execution
	r.must(r.to(idle, flow.Cancel{}))
	if s := r.state(idle); s.Status != flow.Canceled || !s.Compensation.IsZero() {
		t.Errorf("%v is cleaned up after", s.Status)
	}
	failed := r.started("order")
	r.must(r.to(failed, flow.StartNode{Node: "quote"}))
	r.must(r.to(failed, flow.Fail{Node: "quote"}))
	if res := r.send(r.to(failed, flow.Cancel{})); res[0].Answer.Refused == nil {
		t.Errorf("got %+v", res[0])
	}
	if _, total, err := r.List(t.Context(), engine.ListQuery{Tenant: tenant, GraphID: "line", Limit: 10}); err != nil ||
		total != 0 {
		t.Errorf("%d executions clean up, want none (%v)", total, err)
	}
}

func TestAGraphThatCleansUpMustExist(t *testing.T) {
	r := newRig(t)
	for id, kept := range map[string]string{"order": "nowhere", "self": "self"} {
		g, err := flow.ParseGraph([]byte(taskQueue("a")), false)
		if err != nil {
			t.Fatal(err)
		}
		g.OnCancel = &flow.OnCancel{Graph: kept}
		_, _, err = r.PutGraph(t.Context(), tenant, id, g)
		r.kind(err, fault.Invalid, flow.CodeInvalidGraph)
	}
}
