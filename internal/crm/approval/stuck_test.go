package approval

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// until waits until something is so.
func (r *rig) until(what string, is func() bool) {
	r.Helper()
	end := time.NewTimer(time.Minute)
	defer end.Stop()
	for tick := time.NewTicker(5 * time.Millisecond); !is(); {
		select {
		case <-tick.C:
		case <-end.C:
			r.Fatalf("in vain: %s", what)
		}
	}
}

// sick runs a bus whose consumer core fails for good on ApprovalDecided while the flag says
// so, until the test ends.
func (r *rig) sick(flag *atomic.Bool) *bus.Bus {
	r.Helper()
	core := r.core()
	handle := core.Handle
	core.Handle = func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
		if e.Type == "ApprovalDecided" && flag.Load() {
			return bus.Permanent(errors.New("the disk is full of ink"))
		}
		return handle(ctx, tx, e)
	}
	core.HandleAll = nil
	b := bus.New(r.DB, memory.New(), bus.Config{
		Instance: "sick", Exclusive: r.DB.Dialect() == sqldb.SQLite,
		Consumers: []bus.Consumer{core},
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	r.Cleanup(func() {
		stop()
		<-ended
	})
	return b
}

// TestADeadLetterThatKeepsAnOutcomeIsNamed lets the end of approvals become dead letters: who
// submits the record again, who looks at the approval and who recounts is told which letter
// it is, and what to do. Driven again, the outcome is written; skipped, it is given up, and the
// record is free.
func TestADeadLetterThatKeepsAnOutcomeIsNamed(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(settling())
		var fails atomic.Bool
		b := r.sick(&fails)
		for _, skip := range []bool{false, true} {
			fails.Store(true)
			quote := r.quote(`"Status":"Draft","DiscountPercent":10`)
			v := r.submit(quote)
			r.decide(mia, v.ID, Approved)
			var letter string
			r.until("a dead letter", func() bool {
				page, _, err := b.DeadLetters(t.Context(), tenantA, bus.DeadFilter{Status: []bus.Status{bus.Open}}, 0,
					10)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) > 0 {
					letter = page[0].ID
				}
				return len(page) > 0
			})
			decide := func() {
				key, err := canonical.ParseIdempotencyKey("k", "POST /events/dlq/"+letter+"/x", []byte("{}"))
				if err != nil {
					t.Fatal(err)
				}
				if ans, err := b.DecideDead(t.Context(), bus.Decision{
					Tenant: tenantA, Skip: skip, Reason: "because",
					CorrelationID: "test",
				}, letter, key); err != nil || ans.Refused != "" {
					t.Fatalf("got %+v, %v", ans, err)
				}
			}
			says := "renga dlq redrive " + letter
			_, _, err := r.Submit(t.Context(), as(sal), Order{Object: "Quote", RecordID: quote}, nil)
			failure, _ := fault.As(err)
			if codeOf(err) != CodeSettling || !strings.Contains(failure.Message, says) ||
				failure.Details.(map[string]string)["deadLetterId"] != letter {
				t.Errorf("submitted again: %v", err)
			}
			if out := r.parsed(r.Get(t.Context(), as(sal), v.ID)).Outcome; out.Status != OutcomeWaiting ||
				out.DeadLetterID != letter || !strings.Contains(out.Message, says) {
				t.Errorf("got %+v", out)
			}
			if err := r.discount(quote, "12"); err == nil || !strings.Contains(err.Error(), v.ID) {
				t.Errorf("changed: %v", err)
			}
			found, err := r.Recount(t.Context(), tenantA)
			if err != nil || !strings.Contains(strings.Join(found, "\n"), says) {
				t.Errorf("a recount finds %q, %v", found, err)
			}
			fails.Store(false)
			decide()
			ends := OutcomeWritten
			if skip {
				ends = OutcomeRefused
			}
			r.until("the outcome is "+ends,
				func() bool { return r.parsed(r.Get(t.Context(), as(sal), v.ID)).Outcome.Status == ends })
			if out := r.parsed(r.Get(t.Context(), as(sal), v.ID)).Outcome; out.DeadLetterID != "" ||
				skip != strings.Contains(out.Message, "an operator skipped") {
				t.Errorf("%s: %+v", ends, out)
			}
			if status, _ := r.status(quote); skip != (status == "Draft") {
				t.Errorf("%s: it is %s", ends, status)
			}
			if skip != (len(r.refusedOutcomes()) == 1) {
				t.Errorf("%s: refused outcomes: %+v", ends, r.refusedOutcomes())
			}
			r.consistent()
			r.submit(quote)
		}
	})
}
