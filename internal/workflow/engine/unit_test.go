package engine_test

import (
	"context"
	"errors"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// run decides a unit in one commit.
func (r *rig) run(unit engine.Unit) (results []engine.Result, err error) {
	r.Helper()
	answered := false
	r.OfferUnit(unit, func(got []engine.Result, failed error) { results, err, answered = got, failed, true })
	r.settle()
	if !answered {
		r.Fatal("the unit was not answered")
	}
	return results, err
}

func before(err error) func(context.Context, *sqldb.Tx) error {
	return func(context.Context, *sqldb.Tx) error { return err }
}

func after(err error) func(context.Context, *sqldb.Tx, []engine.Result) error {
	return func(context.Context, *sqldb.Tx, []engine.Result) error { return err }
}

func TestAUnitIsDoneAsAWhole(t *testing.T) {
	r := newRig(t)
	id := r.must(r.creation("line")).Execution
	var order []string
	var seen []engine.Result
	results, err := r.run(engine.Unit{
		Before:   func(context.Context, *sqldb.Tx) error { order = append(order, "before"); return nil },
		Commands: []engine.Request{r.to(id, flow.Start{}), r.creation("line")},
		After: func(_ context.Context, _ *sqldb.Tx, got []engine.Result) error {
			order, seen = append(order, "after"), got
			return nil
		},
	})
	if err != nil || len(results) != 2 || len(seen) != 2 || len(order) != 2 || order[0] != "before" {
		t.Fatalf("got %v, %v, order %v, seen %v", results, err, order, seen)
	}
	if seen[1].Answer.Execution != results[1].Answer.Execution {
		t.Errorf("After saw %v, the caller got %v", seen[1], results[1])
	}
	r.node(id, "a", flow.NodeIsReady)
	r.state(results[1].Answer.Execution)
}

func TestAUnitThatFailsLeavesNothing(t *testing.T) {
	for name, unit := range map[string]engine.Unit{
		"before": {Before: before(errBroken)},
		"after":  {After: after(errBroken)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			id := r.must(r.creation("line")).Execution
			start, create := r.to(id, flow.Start{}), r.creation("line")
			unit.Commands = []engine.Request{start, create}
			results, err := r.run(unit)
			if !errors.Is(err, errBroken) || results != nil {
				t.Fatalf("got %v, %v; want the unit's own error", results, err)
			}
			r.node(id, "a", flow.NodeIsCreated)
			if _, n, err := r.List(t.Context(), engine.ListQuery{Tenant: tenant, Limit: 10}); n != 1 || err != nil {
				t.Errorf("got %d executions, %v; want 1", n, err)
			}
			for _, res := range r.send(start, create) {
				if r.accepted(res).Replay {
					t.Errorf("got a replay, but the unit was undone")
				}
			}
			r.node(id, "a", flow.NodeIsReady)
		})
	}
}

func TestAUnitThatFailsTakesNobodyAlong(t *testing.T) {
	r := newRig(t)
	id := r.started("pair")
	first := r.offer(r.to(id, flow.StartNode{Node: "a", Attempt: 1}))
	var undone, done error
	r.OfferUnit(engine.Unit{
		Commands: []engine.Request{r.to(id, flow.Succeed{Node: "a"}), r.to(id, flow.StartNode{Node: "b"})},
		After:    after(errBroken),
	}, func(_ []engine.Result, err error) { undone = err })
	r.OfferUnit(engine.Unit{
		Commands: []engine.Request{r.to(id, flow.Succeed{Node: "a"})},
	}, func(_ []engine.Result, err error) { done = err })
	r.settle()
	r.accepted((*first)[0])
	if !errors.Is(undone, errBroken) || done != nil {
		t.Errorf("got %v and %v, want the first undone and the second done", undone, done)
	}
	r.node(id, "a", flow.NodeIsSucceeded)
	r.node(id, "b", flow.NodeIsReady)
}

func TestARefusalIsAResultOfAUnit(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	again := r.to(id, flow.Start{})
	var seen []engine.Result
	results, err := r.run(engine.Unit{
		Commands: []engine.Request{again},
		After: func(_ context.Context, _ *sqldb.Tx, got []engine.Result) error {
			seen = got
			return nil
		},
	})
	if err != nil || len(results) != 1 || results[0].Answer.Refused == nil || seen[0].Answer.Refused == nil {
		t.Errorf("got %+v, %v; After saw %+v; want a refusal", results, err, seen)
	}
	if !r.send(again)[0].Answer.Replay {
		t.Error("the refusal was not remembered")
	}
}

func TestACommandThatCannotBeDecidedUndoesItsUnit(t *testing.T) {
	r := newRig(t)
	id := r.must(r.creation("line")).Execution
	_, err := r.run(engine.Unit{Commands: []engine.Request{r.to(id, flow.Start{}), r.to(flow.ID{9}, flow.Start{})}})
	r.kind(err, fault.NotFound, "EXECUTION_NOT_FOUND")
	r.node(id, "a", flow.NodeIsCreated)
	_, err = r.run(engine.Unit{Commands: []engine.Request{
		r.to(id, flow.Start{}),
		r.to(id, flow.CancelNode{Node: "x"}),
	}})
	r.kind(err, fault.NotFound, "NODE_NOT_FOUND")
	r.node(id, "a", flow.NodeIsCreated)
}

func TestATenantsUnitDoesNotSufferFromAnothersMistake(t *testing.T) {
	r := newRig(t)
	id := r.must(r.creation("line")).Execution
	r.restart()
	stranger := r.to(id, flow.Start{})
	stranger.Tenant = "zeta"
	lost := r.offer(stranger)
	_, err := r.run(engine.Unit{Commands: []engine.Request{r.to(id, flow.Start{})}})
	if err != nil {
		t.Error(err)
	}
	r.kind((*lost)[0].Err, fault.NotFound, "EXECUTION_NOT_FOUND")
	r.node(id, "a", flow.NodeIsReady)
}

func TestAClaimThatWaitsGetsWhatAUnitMakesReady(t *testing.T) {
	r := newRig(t)
	id := r.must(r.creation("line")).Execution
	other := r.must(r.creation("line")).Execution
	c := r.claim(r.claiming("w", 2, 5e9))
	r.settle()
	if c.answered {
		t.Fatal("the claim did not wait")
	}
	r.offer(r.to(other, flow.Start{})) // in the same commit, before the unit
	if _, err := r.run(engine.Unit{Commands: []engine.Request{r.to(id, flow.Start{})}}); err != nil {
		t.Fatal(err)
	}
	r.tasks(c, other, id)
}

func TestAClaimThatWaitsGetsNothingOfAUnitThatFails(t *testing.T) {
	r := newRig(t)
	id := r.must(r.creation("line")).Execution
	other := r.must(r.creation("line")).Execution
	c := r.claim(r.claiming("w", 2, 5e9))
	r.settle()
	r.offer(r.to(other, flow.Start{}))
	_, err := r.run(engine.Unit{Commands: []engine.Request{r.to(id, flow.Start{})}, After: after(errBroken)})
	if !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	r.tasks(c, other)
	r.node(id, "a", flow.NodeIsCreated)
}

func TestACreationMayNameTheVersionOfItsGraph(t *testing.T) {
	r := newRig(t)
	r.graph("mine", taskQueue())
	r.graph("mine", pair())
	for version, want := range map[int]int{0: 2, 1: 1, 2: 2} {
		req := r.creation("mine")
		req.GraphVersion = version
		if got := r.state(r.must(req).Execution).GraphVersion; got != want {
			t.Errorf("version %d: got %d, want %d", version, got, want)
		}
	}
	req := r.creation("mine")
	req.GraphVersion = 3
	r.kind(r.send(req)[0].Err, fault.NotFound, "GRAPH_NOT_FOUND")
}
