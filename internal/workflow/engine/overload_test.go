package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// fill offers so many commands, of several tenants, that no other fits.
func (r *rig) fill(id flow.ID) {
	progress := r.to(id, flow.Progress{Node: "a"})
	for i := range engine.MaxQueue / 512 {
		if i >= engine.MaxTenantQueue/512-1 {
			progress.Tenant = "another"
		}
		if i >= 2*(engine.MaxTenantQueue/512-1) {
			progress.Tenant = "a third"
		}
		r.offer(slices.Repeat([]engine.Request{progress}, 512)...)
	}
}

// TestATenantHasItsPartOfTheQueue lets one tenant send more than its part: it is refused, and
// another one is not.
func TestATenantHasItsPartOfTheQueue(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	progress := r.to(id, flow.Progress{Node: "a"})
	for range engine.MaxTenantQueue / 512 {
		r.offer(slices.Repeat([]engine.Request{progress}, 512)...)
	}
	f := r.kind((*r.offer(progress))[0].Err, fault.RateLimited, "")
	if f.RetryAfter <= 0 {
		t.Error("no advice when to try again")
	}
	other := progress
	other.Tenant = "another"
	answer := r.offer(other)
	if *answer != nil {
		t.Fatalf("another tenant was answered %+v before its turn", (*answer)[0])
	}
	cancel := r.offer(r.to(id, flow.Cancel{}))
	r.Step(t.Context())
	r.kind((*answer)[0].Err, fault.NotFound, "EXECUTION_NOT_FOUND") // in the first commit, though so many came before
	r.accepted((*cancel)[0])
	r.settle()
}

// TestTheWidestGraphsDoNotHoldUpOthers lets a tenant start as many tasks as there may be,
// again and again in one call: commits are short, and another tenant is in the next one.
func TestTheWidestGraphsDoNotHoldUpOthers(t *testing.T) {
	r := newRig(t)
	var nodes, edges strings.Builder
	for i := range 9_990 {
		fmt.Fprintf(&nodes, `,{"nodeId":"t%d","type":"Task"}`, i)
		fmt.Fprintf(&edges, `,{"from":"fork","to":"t%d"},{"from":"t%d","to":"join"}`, i, i)
	}
	r.graph(
		"wide",
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},
		{"nodeId":"join","type":"Join"},{"nodeId":"end","type":"Success"}`+
			nodes.String()+`],"edges":[{"from":"start","to":"fork"},{"from":"join","to":"end"}`+edges.String()+`]}`,
	)
	create := r.creation("wide")
	create.Start, create.Idempotency = true, canonical.IdempotencyKey{}
	loud := r.offer(slices.Repeat([]engine.Request{create}, 6)...)
	r.Step(t.Context())
	if *loud != nil {
		t.Error("one commit decided all of the call")
	}
	quiet := create
	quiet.GraphID, quiet.Tenant = "nothing", "another"
	answer := r.offer(quiet)
	r.Step(t.Context())
	if *answer == nil {
		t.Error("another tenant waits for more than the commit that was under way")
	}
	for steps := 2; *loud == nil; steps++ {
		if !r.Step(t.Context()) || steps > 100 {
			t.Fatal("the call is not answered")
		}
	}
	for _, res := range *loud {
		r.accepted(res)
	}
}

// TestACommandThatWaitedTooLongIsNotDecided lets the clock go on while commands wait: who sent
// them has gone by then. A cancel is decided all the same.
func TestACommandThatWaitedTooLongIsNotDecided(t *testing.T) {
	r := newRig(t)
	id := r.started("line")
	late := r.offer(r.to(id, flow.StartNode{Node: "a"}))
	cancel := r.offer(r.to(id, flow.Cancel{}))
	r.clock.Move(11 * time.Second)
	r.settle()
	r.kind((*late)[0].Err, fault.Unavailable, "OVERLOADED")
	r.accepted((*cancel)[0])
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
	r.kind((*r.offer(cancel))[0].Err, fault.RateLimited, "")
	other := cancel
	other.Tenant = "other"
	if answer := r.offer(other); *answer != nil {
		t.Errorf("the cancel of another tenant was refused: %v", (*answer)[0].Err)
	}
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
