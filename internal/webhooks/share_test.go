package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestATenantWhoseEndpointsHangHoldsUpNoOther lets a tenant have more webhooks to an endpoint that never answers than a
// process works on at a time. The other tenant's event is delivered while all of those requests are under way.
func TestATenantWhoseEndpointsHangHoldsUpNoOther(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		var now, most atomic.Int64
		ends := make(chan struct{})
		end := sync.OnceFunc(func() { close(ends) })
		hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			for n := now.Add(1); ; {
				if was := most.Load(); n <= was || most.CompareAndSwap(was, n) {
					break
				}
			}
			<-ends
			now.Add(-1)
		}))
		t.Cleanup(hanging.Close)
		t.Cleanup(end)
		r.sender.within = patience
		for i := range MaxPasses + MaxTenantPasses {
			r.put(tenantA, fmt.Sprint("w", i), fmt.Sprintf(`{"url":%q,"events":["*"]}`, hanging.URL))
		}
		rc := newReceiver(t)
		r.put(tenantB, "well", rc.body())
		r.plans(r.events.Deleted(tenantA, "a"))
		r.work()
		r.until("the first tenant has all its places", func() bool { return now.Load() == MaxTenantPasses })
		e := r.events.Deleted(tenantB, "b")
		r.events.Publish(e)
		r.until("the other's event is delivered", func() bool { return slices.Contains(rc.taken(), e.ID) })
		if n := most.Load(); n != MaxTenantPasses || now.Load() != MaxTenantPasses {
			t.Errorf("%d requests were under way, then %d, want %d", n, now.Load(), MaxTenantPasses)
		}
		end()
	})
}

func TestHiddenFieldsAreNotSent(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body(`"filter":"!has(event.payload.fields.Hidden)"`))
		made := r.events.Deleted(tenantA, "a") // for its key and version
		parts := strings.Split(made.Key, ":")
		payload, err := events.NewPayload(events.RecordCreated{
			ObjectName: "Account", RecordID: parts[2], OwnerID: parts[2], RecordVersion: made.Version,
			Fields: map[string]jsontext.Value{
				"Hidden": jsontext.Value(`"planted"`), "Name": jsontext.Value(`"Acme"`),
			},
			ChangedFields: []string{"Hidden", "Name"},
		})
		if err != nil {
			t.Fatal(err)
		}
		made.Type, made.Payload = "RecordCreated", payload
		r.work()
		r.events.Publish(made)
		r.until("it is delivered", func() bool { return len(rc.taken()) == 1 })
		body := string(rc.requests()[0].body)
		if strings.Contains(body, "planted") || strings.Contains(body, "Hidden") || !strings.Contains(body, "Acme") {
			t.Errorf("sent is %s", body)
		}
	})
}

// TestEventsBeyondWhatMayBeOpenAreMissedAndRecovered pretends that as many deliveries are open as there may be.
func TestEventsBeyondWhatMayBeOpenAreMissedAndRecovered(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body())
		opened := func(n int) {
			t.Helper()
			err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, "UPDATE webhooks_webhook SET open_count = $1", n)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		opened(MaxOpen - 1)
		first, second := r.events.Deleted(tenantA, "a"), r.events.Deleted(tenantA, "b")
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return r.bus.Publish(ctx, tx, first, second)
		})
		if err != nil {
			t.Fatal(err)
		}
		r.plans(first, second)
		w := r.get("crm")
		if w.Open != MaxOpen || w.MissedSince != second.OccurredAt || len(r.deliveries("crm", 0)) != 1 {
			t.Errorf("%d are open, missed since %s, want %d and %s", w.Open, w.MissedSince, MaxOpen, second.OccurredAt)
		}
		if levels, err := r.Levels(t.Context()); err != nil || levels.Missed != 1 || levels.States[Active] != 1 {
			t.Errorf("got %+v %v", levels, err)
		}
		opened(1)
		if w, err := r.Recover(t.Context(), ann, "crm", w.MissedSince, nil); err != nil || w.MissedSince != 0 {
			t.Fatal(w, err)
		}
		r.work()
		r.until("both are delivered", func() bool { return len(rc.taken()) == 2 })
	})
}

// TestARequestUnderWayWhenTheProcessEndsIsSentAgain ends the process while an endpoint hangs.
func TestARequestUnderWayWhenTheProcessEndsIsSentAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		var came atomic.Int64
		hangs := newReceiver(t)
		hold := make(chan struct{})
		hangs.answers(func(*events.Event) int {
			if came.Add(1) == 1 {
				<-hold
			}
			return 200
		})
		r.put(tenantA, "crm", hangs.body())
		r.sender.within = patience
		e := r.events.Deleted(tenantA, "a")
		r.plans(e)
		run := func() (stop func()) {
			ctx, cancel := context.WithCancel(context.Background())
			var running sync.WaitGroup
			running.Go(func() { r.Webhooks.Run(ctx) })
			return sync.OnceFunc(func() { cancel(); running.Wait() })
		}
		stop := run()
		r.until("a request is under way", func() bool { return came.Load() == 1 })
		began := time.Now()
		stop()
		close(hold)
		if took := time.Since(began); took > patience/2 {
			t.Errorf("it took %v to end", took)
		}
		if d := r.deliveries("crm", 0); len(d) != 1 || d[0].Attempts != 0 || d[0].State != Waiting {
			t.Errorf("got %+v", d)
		}
		defer run()()
		r.until("it is sent again", func() bool { return came.Load() == 2 })
		r.until("it is settled", func() bool { return r.get("crm").Open == 0 })
	})
}

// TestDeadLettersOfTheConsumerAreDrivenAgain lets the planning of an event fail; the DLQ of the bus says what a redrive
// would do, and does it.
func TestDeadLettersOfTheConsumerAreDrivenAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body())
		breaks := atomic.Bool{}
		breaks.Store(true)
		r.cfg.Hidden = func(context.Context, *sqldb.Tx, string) (func(object, field string) bool, error) {
			if breaks.Load() {
				return nil, bus.Permanent(fmt.Errorf("the model cannot be read"))
			}
			return func(string, string) bool { return false }, nil
		}
		made := r.events.Deleted(tenantA, "a")
		parts := strings.Split(made.Key, ":")
		payload, err := events.NewPayload(events.RecordCreated{
			ObjectName: "Account", RecordID: parts[2], OwnerID: parts[2], RecordVersion: made.Version,
			Fields: map[string]jsontext.Value{}, ChangedFields: []string{},
		})
		if err != nil {
			t.Fatal(err)
		}
		made.Type, made.Payload = "RecordCreated", payload
		r.work()
		r.events.Publish(made)
		letter := func() (found bus.DeadLetter) {
			page, _, err := r.bus.DeadLetters(t.Context(), tenantA, bus.DeadFilter{Consumer: "webhooks"}, 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range page {
				found = l
			}
			return found
		}
		r.until("it is a dead letter", func() bool { return letter().ID != "" })
		breaks.Store(false)
		seen, err := r.bus.ForeseeDead(t.Context(), tenantA, nil, []string{letter().ID})
		if err != nil || len(seen) != 1 {
			t.Fatal(seen, err)
		}
		ans, err := r.bus.DecideDead(t.Context(), bus.Decision{Tenant: tenantA}, letter().ID, *key(t, "d", "{}"))
		if err != nil || ans.Refused != "" || ans.Verdict != seen[0].Verdict {
			t.Fatal(ans, seen[0].Verdict, err)
		}
		r.until("it is delivered", func() bool { return slices.Contains(rc.taken(), made.ID) })
	})
}
