package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// named is a creation with a business key.
func (r *rig) named(graph, key string) engine.Request {
	r.Helper()
	req := r.creation(graph)
	req.Command = flow.Create{BusinessKey: key, Labels: flow.Labels{{Name: "tier", Value: "gold"}}}
	return req
}

// held asks that a creation is refused since an execution has its business key.
func (r *rig) held(res engine.Result, holder flow.ID) {
	r.Helper()
	refused := res.Answer.Refused
	if res.Err != nil || refused == nil || refused.Guard != flow.GuardBusinessKey || refused.Holder != holder {
		r.Fatalf("got %+v, %+v; want a refusal that names %v", res, refused, holder)
	}
	if refused.Cause.Type != flow.ExecutionCreatedType || refused.Cause.Seq != 1 || refused.Cause.ID.IsZero() {
		r.Errorf("got the cause %+v, want the creation of the holder", refused.Cause)
	}
}

func TestABusinessKeyHasOneActiveExecutionOfAGraph(t *testing.T) {
	r := newRig(t)
	first := r.named("line", "A-17")
	holder := r.must(first).Execution
	second := r.named("line", "A-17")
	r.held(r.send(second)[0], holder)
	r.must(r.named("pair", "A-17")) // of another graph
	r.must(r.named("line", "A-18"))
	r.must(r.named("line", ""))
	if again := r.must(first); !again.Replay || again.Execution != holder {
		t.Errorf("got %+v, want the first answer again", again)
	}

	r.must(r.to(holder, flow.Cancel{}))
	r.restart()
	again := r.send(second)[0]
	r.held(again, holder) // a refusal is remembered as well
	if !again.Answer.Replay {
		t.Error("the refusal was decided again")
	}
	next := r.must(r.named("line", "A-17")).Execution
	r.held(r.send(r.named("line", "A-17"))[0], next)
	view, err := r.ByKey(t.Context(), engine.BusinessKey{Tenant: tenant, GraphID: "line", Key: "A-17"})
	if err != nil || view.State.Execution != next {
		t.Errorf("by key: got %v, %v, want %v", view.State.Execution, err, next)
	}
	if diff := cmp.Diff(flow.Labels{{Name: "tier", Value: "gold"}}, view.State.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	_, err = r.ByKey(t.Context(), engine.BusinessKey{Tenant: tenant, GraphID: "line", Key: "A-19"})
	r.kind(err, fault.NotFound, "EXECUTION_NOT_FOUND")
	if rep, err := r.Verify(t.Context(), nil); err != nil || len(rep.Problems) > 0 {
		t.Errorf("verify: %+v, %v", rep.Problems, err)
	}
}

func TestOneCommitCreatesAnExecutionWithTheBusinessKeyOfOneThatItEnds(t *testing.T) {
	r := newRig(t)
	old := r.must(r.named("line", "A-17")).Execution
	results := r.send(r.to(old, flow.Cancel{}), r.named("line", "A-17"), r.named("line", "A-17"))
	r.accepted(results[0])
	r.held(results[2], r.accepted(results[1]).Execution)
}
