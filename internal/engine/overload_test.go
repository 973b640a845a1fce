package engine_test

import (
	"slices"
	"testing"
	"time"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/flow"
)

// fill offers so many commands that no other fits.
func (r *rig) fill(id flow.ID) {
	progress := r.to(id, flow.Progress{Node: "a"})
	for range engine.MaxQueue / 512 {
		r.offer(slices.Repeat([]engine.Request{progress}, 512)...)
	}
}

func TestAFullQueueRefusesCommandsAndTakesCancels(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	r.fill(id)
	refused := r.offer(r.to(id, flow.StartNode{Node: "a"}))
	f := r.kind((*refused)[0].Err, fault.Unavailable, "OVERLOADED")
	if f.RetryAfter <= 0 {
		t.Error("no advice when to try again")
	}
	var unit error
	r.OfferUnit(engine.Unit{Commands: []engine.Request{r.to(id, flow.StartNode{Node: "a"})}},
		func(_ []engine.Result, err error) { unit = err })
	r.kind(unit, fault.Unavailable, "OVERLOADED")

	cancel := r.offer(r.to(id, flow.Cancel{}))
	mixed := r.offer(r.to(id, flow.StartNode{Node: "a"}), r.to(id, flow.Cancel{}))
	if *cancel != nil || *mixed != nil {
		t.Fatal("cancels were answered before they were decided")
	}
	r.Step(t.Context())
	if ans := r.accepted((*cancel)[0]); ans.CancelSeq == 0 {
		t.Errorf("got %+v, want the seq where cancel won", ans)
	}
	r.kind((*mixed)[0].Err, fault.Unavailable, "OVERLOADED")
	r.accepted((*mixed)[1])
	if s := r.state(id); s.Status != flow.Canceled {
		t.Errorf("got %v, want the cancel to be first in line", s.Status)
	}
	r.settle()
	if res := r.send(r.to(id, flow.Progress{Node: "a"})); res[0].Err != nil {
		t.Errorf("got %v, want room again", res[0].Err)
	}
}

func TestTheRoomForCancelsHasAnEnd(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	cancel := r.to(id, flow.Cancel{})
	for range engine.MaxCancelQueue / 512 {
		r.offer(slices.Repeat([]engine.Request{cancel}, 512)...)
	}
	r.kind((*r.offer(cancel))[0].Err, fault.Unavailable, "OVERLOADED")
	r.settle()
	r.must(cancel)
}

func TestACommitTakesABoundedNumberOfCommands(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	var answered int
	for range 3 {
		r.Offer(slices.Repeat([]engine.Request{r.to(id, flow.Progress{Node: "a"})}, engine.MaxBatch),
			func([]engine.Result) { answered++ })
	}
	for want := 1; want <= 3; want++ {
		r.Step(t.Context())
		if answered != want {
			t.Fatalf("got %d calls answered after %d commits", answered, want)
		}
	}
}

func TestClaimsThatWaitAreBounded(t *testing.T) {
	r := newRig(t)
	var first *claimed
	for i := range engine.MaxClaimers {
		c := r.claim(r.claiming("w", 1, time.Second))
		if first == nil {
			first = c
		}
		if i%1000 == 0 {
			r.settle() // they wait in line, not in the queue
		}
	}
	r.kind(r.claim(r.claiming("w", 1, time.Second)).err, fault.Unavailable, "OVERLOADED")
	if !first.withdraw() {
		t.Fatal("the first claim could not leave")
	}
	if c := r.claim(r.claiming("w", 1, time.Second)); c.answered {
		t.Errorf("got %v, want the place of the one that left", c.err)
	}
	r.kind(r.claim(r.claiming("w", 1, time.Second)).err, fault.Unavailable, "OVERLOADED")
}

func TestNothingIsOfferedToNobody(t *testing.T) {
	r := newRig(t)
	called := false
	r.Offer(nil, func(got []engine.Result) { called = len(got) == 0 })
	if !called {
		t.Error("a call without requests was not answered")
	}
	if r.Step(t.Context()) {
		t.Error("there was something to do")
	}
}
