package engine_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/sim"
)

// poison makes every write fail that holds something of a request.
func (r *rig) poison(correlation string) {
	r.mem.Interfere(func(p sim.Point, b *engine.Batch) error {
		if p == sim.MidWrite {
			for _, row := range b.Log {
				if bytes.Contains(row.Body, []byte(correlation)) {
					return errBroken
				}
			}
		}
		return nil
	})
}

func TestOnlyTheCulpritOfACommitFails(t *testing.T) {
	r := newRig(t)
	a, b := r.started("line"), r.started("line")
	culprit := r.to(a, flow.StartNode{Node: "a"})
	r.poison(culprit.CorrelationID)
	together := r.offer(r.to(b, flow.StartNode{Node: "a"}), culprit, r.to(a, flow.CancelNode{Node: "c"}))
	create := r.offer(r.creation("line"))
	var unit error
	r.OfferUnit(engine.Unit{Commands: []engine.Request{r.to(b, flow.CancelNode{Node: "c"})}},
		func(_ []engine.Result, err error) { unit = err })
	r.settle()
	r.accepted((*together)[0])
	if err := (*together)[1].Err; !errors.Is(err, errBroken) || fault.KindOf(err) != fault.Internal {
		t.Errorf("culprit: got %v, want its own failure", err)
	}
	r.accepted((*together)[2])
	r.accepted((*create)[0])
	if unit != nil {
		t.Errorf("unit: %v", unit)
	}
	r.node(a, "a", flow.NodeIsReady)
	r.node(b, "a", flow.NodeIsRunning)
	r.mem.Interfere(nil)
	if r.must(culprit).Replay {
		t.Error("the culprit is answered from memory, but was not done")
	}
}

func TestAUnitThatCannotBeWrittenFailsAlone(t *testing.T) {
	r := newRig(t)
	id := r.started("pair")
	culprit := r.to(id, flow.StartNode{Node: "a"})
	r.poison(culprit.CorrelationID)
	other := r.offer(r.to(id, flow.StartNode{Node: "b"}))
	if _, err := r.run(engine.Unit{Commands: []engine.Request{culprit}}); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the fault of the store", err)
	}
	r.accepted((*other)[0])
	r.node(id, "a", flow.NodeIsReady)
	r.node(id, "b", flow.NodeIsRunning)
}

func TestAClaimThatWaitsFailsAlone(t *testing.T) {
	r := newRig(t)
	id := r.must(r.creation("line")).Execution
	req := r.claiming("w1", 1, time.Minute)
	bad, good := r.claim(req), r.claim(r.claiming("w2", 1, time.Minute))
	r.settle()
	r.poison(req.CorrelationID)
	r.must(r.to(id, flow.Start{}))
	if !errors.Is(bad.err, errBroken) {
		t.Errorf("got %v, want the culprit's failure", bad.err)
	}
	r.tasks(good, id)
}

func TestDeadlinesThatCannotBeWrittenFailAlone(t *testing.T) {
	r := newRig(t)
	create := r.creation("pair")
	bad := r.must(create).Execution
	r.must(r.to(bad, flow.Start{}))
	good := r.started("pair")
	for _, id := range []flow.ID{bad, good} {
		r.must(r.to(id, flow.StartNode{Node: "a", Attempt: 1}))
		r.must(r.to(id, flow.Fail{Node: "a"}))
	}
	r.poison(create.CorrelationID) // deadlines have that of the creation
	r.clock.Move(10 * time.Second)
	r.settle()
	r.node(bad, "a", flow.NodeIsCreated)
	r.node(good, "a", flow.NodeIsReady)
	r.mem.Interfere(nil)
	r.settle()
	r.node(bad, "a", flow.NodeIsCreated) // not before a moment has passed
	r.clock.Move(time.Second)
	r.settle()
	r.node(bad, "a", flow.NodeIsReady)
}

var errDown = &fault.Error{
	Kind: fault.Unavailable, Code: "STORAGE_FULL", RetryAfter: time.Second,
	Message: "the disk is full",
}

func TestAStoreThatIsDownFailsAllAndIsTriedOnce(t *testing.T) {
	for _, point := range []sim.Point{sim.BeforeCommit, sim.BeforeWrite, sim.MidWrite, sim.BeforeApply} {
		t.Run(point.String(), func(t *testing.T) {
			r := newRig(t)
			id := r.started("line")
			tries := 0
			r.mem.Interfere(func(p sim.Point, _ *engine.Batch) error {
				if p == point {
					tries++
					return errDown
				}
				return nil
			})
			reqs := []engine.Request{r.to(id, flow.StartNode{Node: "a"}), r.to(id, flow.Succeed{Node: "a"})}
			claim := r.claim(r.claiming("w", 1, time.Minute))
			results := r.offer(reqs...)
			r.settle()
			for _, res := range *results {
				r.kind(res.Err, fault.Unavailable, "STORAGE_FULL")
			}
			r.kind(claim.err, fault.Unavailable, "STORAGE_FULL")
			if tries != 1 {
				t.Errorf("the store was tried %d times", tries)
			}
			r.mem.Interfere(nil)
			for _, res := range r.send(reqs...) {
				if r.accepted(res).Replay {
					t.Error("answered from memory, but nothing was done")
				}
			}
			r.node(id, "a", flow.NodeIsSucceeded)
		})
	}
}

func TestAnotherProcessThatIsFasterIsSeenAtTheSecondTry(t *testing.T) {
	r := newRig(t)
	raced := 0
	conflict := fault.New(fault.Conflict, "ALREADY_EXISTS", "taken")
	r.mem.Interfere(func(p sim.Point, _ *engine.Batch) error {
		if p == sim.MidWrite && raced < 1 {
			raced++
			return conflict
		}
		return nil
	})
	r.must(r.creation("line"))
	r.mem.Interfere(func(p sim.Point, _ *engine.Batch) error {
		if p == sim.MidWrite {
			return conflict
		}
		return nil
	})
	r.kind(r.send(r.creation("line"))[0].Err, fault.Unavailable, "STORAGE_BUSY")
}

func TestATransactionThatIsTriedAgainIsAnsweredOnce(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	again := true
	r.mem.Interfere(func(p sim.Point, _ *engine.Batch) error {
		if p == sim.BeforeApply && again {
			again = false
			return sim.ErrAgain
		}
		return nil
	})
	c := r.claim(r.claiming("w", 1, 0))
	other := r.offer(r.to(id, flow.CancelNode{Node: "b"}))
	r.settle()
	r.tasks(c, id)
	r.accepted((*other)[0])
	if s := r.state(id); len(s.Nodes) == 0 || again {
		t.Error("the transaction was not tried again")
	}
	rep, err := r.Verify(t.Context(), nil)
	if err != nil || len(rep.Problems) > 0 {
		t.Errorf("got %+v, %v", rep, err)
	}
}
