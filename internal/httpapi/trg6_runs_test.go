package httpapi_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TRG-6, TRG-7, TRG-9: one run for a month, one run for a key, and how long a key is
// remembered.

func TestAMonthWithARunThatIsActiveTakesNoOther(t *testing.T) {
	s := newServer(t)
	s.template("a", "", "preflight external_event")
	s.template("b", "", "preflight external_event")
	run := s.event(`{"template_id":"a","event_id":"k"}`).ran(false)
	s.event(`{"template_id":"a"}`).refused(409, msgActive, runActive)
	s.event(`{"template_id":"a","event_id":"l"}`).refused(409, msgActive, runActive)
	s.event(`{"template_id":"a","event_id":"k","year":1}`).ran(true) // the key goes first
	s.event(`{"template_id":"a","month":3}`).ran(false)
	s.event(`{"template_id":"a","year":2027}`).ran(false)
	s.event(`{"template_id":"b"}`).ran(false)
	s.get("/audit?action=workflow_event&page_size=10").has("items.4.reason", msgActive).has("items.4.reasonClass",
		"run_conflict").has("items.4.retryAdvice", "retry_with_backoff")

	s.post("/executions/"+run+"/cancel", `{}`).is(202)
	s.get("/executions/"+run).has("status", "CANCELED")
	next := s.event(`{"template_id":"a","event_id":"l"}`).ran(false)
	if next == run {
		t.Error("the new run is the old one")
	}
	if got := s.event(`{"template_id":"a","event_id":"k"}`).ran(true); got != run {
		t.Errorf("the first key has the run %s, want %s", got, run)
	}
}

func TestOfDeliveriesAtOnceOneStartsARunAndAllNameIt(t *testing.T) {
	s := newServer(t)
	s.template("a", "", "preflight external_event")
	const rounds, at = 5, 12
	for round := range rounds {
		body := fmt.Sprintf(`{"year":%d,"event_id":"k-%d"}`, 2030+round, round)
		var wg sync.WaitGroup
		answers := make([]reply, at)
		for i := range at {
			wg.Go(func() { answers[i] = s.event(body) })
		}
		wg.Wait()
		started, runs := 0, map[string]bool{}
		for _, r := range answers {
			r.is(200)
			runs[r.text("run_id")] = true
			if r.text("triggered") == "true" {
				started++
			}
		}
		if started != 1 || len(runs) != 1 {
			t.Errorf("round %d: %d were told that they started one of %d runs", round, started, len(runs))
		}
	}
	s.get("/executions").has("total", fmt.Sprint(rounds))
	s.summary("").has("total", fmt.Sprint(rounds*at)).has("by_status.success", fmt.Sprint(rounds)).has(
		"by_status.skipped", fmt.Sprint(rounds*(at-1)))
}

func TestAKeyExpiresByCountAndByTime(t *testing.T) {
	o := options{}
	o.trigger.MaxReceipts, o.trigger.TTL = 3, 48*time.Hour
	s := newServerWith(t, o)
	s.template("a", "", "preflight external_event")
	month := 0
	send := func(key string) reply {
		month++
		return s.event(fmt.Sprintf(`{"year":%d,"event_id":%q}`, 2000+month, key))
	}
	for _, key := range []string{"k1", "k2", "k3"} {
		send(key).ran(false)
	}
	send("k1").ran(true)
	send("").ran(false) // without a key nothing is remembered, so nothing is forgotten for it
	send("k1").ran(true)
	send("k4").ran(false)
	send("k1").ran(false) // forgotten: the oldest of four
	send("k3").ran(true)
	s.summary("").has("receipt_retention", `{"max_receipts":3,"ttl_days":2}`)
	s.advance(47 * time.Hour)
	send("k4").ran(true)
	s.advance(2 * time.Hour)
	send("k4").ran(false)
	send("k4").ran(true)
}
