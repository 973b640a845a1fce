package httpapi_test

import (
	"fmt"
	"sync"
	"testing"

	"renga.dev/renga/test/tier"
)

// TestPDC1ACancelThatMeetsTheEndOfABatchWins sends the last result of a batch and a cancel
// at once, round after round. Whichever comes first, no other batch begins after the
// cancel, and a strategy has a result exactly if its item does.
func TestPDC1ACancelThatMeetsTheEndOfABatchWins(t *testing.T) {
	tier.System(t)
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	s := newServer(t)
	results := 0
	for round := range rounds {
		a, b := fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)
		s.enrol(a, b)
		id := s.recheck(`"batch_size":1`, a, b)
		job := s.take(1)[0]
		var both sync.WaitGroup
		var found, canceled reply
		both.Go(func() {
			for range round % 4 { // so that the cancel is first now and then
				s.progress(id)
			}
			found = s.found(job, `{"health":"healthy"}`)
		})
		both.Go(func() { canceled = s.ask(recheckPath+"/"+id+"/cancel", "") })
		both.Wait()
		canceled.is(202).has("status", "canceled")
		r := s.settled(id).has("status", "canceled").has("items.1.status", "canceled")
		health := "healthy"
		if found.status == 202 {
			r.has("items.0.status", "succeeded")
			results++
		} else {
			found.refusedBy("cancel_fence")
			r.has("items.0.status", "canceled")
			health = "unknown"
		}
		if got := s.strategy(a); got.Health != health {
			t.Errorf("round %d: the strategy is %s, want %s: %s", round, got.Health, health, r.body)
		}
		if got := s.strategy(b); got.LastCheckedAt != nil {
			t.Errorf("round %d: %s was checked after the cancel", round, b)
		}
	}
	s.post("/tasks/claim", `{"workerId":"w","queues":["pdca.recheck"]}`).is(200).has("tasks", "[]")
	t.Logf("%d rounds, %d results came before the cancel", rounds, results)
	if !testing.Short() && (results == 0 || results == rounds) {
		t.Error("too weak: one of them was always first")
	}
}

// TestPDC1ACancelThatMeetsTheLastResultSaysWhichCameFirst does the same with a request of
// one batch: it ends as the answer to the cancel says.
func TestPDC1ACancelThatMeetsTheLastResultSaysWhichCameFirst(t *testing.T) {
	s := newServer(t)
	for round := range 30 {
		a := fmt.Sprintf("a%d", round)
		s.enrol(a)
		id := s.recheck("", a)
		job := s.take(1)[0]
		var both sync.WaitGroup
		var found, canceled reply
		both.Go(func() { found = s.found(job, `{"health":"healthy"}`) })
		both.Go(func() { canceled = s.ask(recheckPath+"/"+id+"/cancel", "") })
		both.Wait()
		want := canceled.text("status")
		if canceled.status == 202 && want != "canceled" || canceled.status == 200 && want != "succeeded" ||
			canceled.status != 200 && canceled.status != 202 {
			t.Fatalf("round %d: the cancel was answered %d %s", round, canceled.status, canceled.body)
		}
		r := s.settled(id).has("status", want)
		if accepted := found.status == 202; accepted != (r.text("counts.succeeded") == "1") ||
			accepted != (s.strategy(a).Health == "healthy") {
			t.Errorf("round %d: the result was answered %d, and there is %s", round, found.status, r.body)
		}
	}
}
