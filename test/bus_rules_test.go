package test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// setClock stands still where it is set.
type setClock struct{ ms atomic.Int64 }

func (c *setClock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// TestVersionsRiseWhateverTheClockSays changes one record a thousand times, all within one
// millisecond and then with a clock that was set back an hour.
func TestVersionsRiseWhateverTheClockSays(t *testing.T) {
	clock := &setClock{}
	clock.ms.Store(time.Now().UnixMilli())
	h := openBusHouse(t, bus.Config{Clock: clock})
	var all []events.Event
	var mu sync.Mutex
	for range 2 {
		var hands sync.WaitGroup
		for range 10 {
			hands.Go(func() {
				for range 50 {
					got, err := h.announce(context.Background(), 1, "one")
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					all = append(all, got...)
					mu.Unlock()
				}
			})
		}
		hands.Wait()
		clock.ms.Add(-time.Hour.Milliseconds())
	}
	h.awaitTaken(all)
	h.await(1000, "SELECT count(*) FROM test_effect WHERE consumer = 'd'")
	var written []canonical.Stamp
	h.must(h.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT body FROM outbox_events ORDER BY id") {
			var body []byte
			if err == nil {
				err = row.Scan(&body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
			if err != nil {
				return err
			}
			written = append(written, e.Version)
		}
		return nil
	}))
	for i := range written[1:] {
		if written[i+1] <= written[i] {
			t.Fatalf("version %v follows %v", written[i+1], written[i])
		}
	}
	var want []string
	for _, v := range written {
		want = append(want, fmt.Sprintf("%d.0", v))
	}
	for _, c := range []string{"c", "d"} {
		if diff := cmp.Diff(want, h.places(c, "one")); diff != "" {
			t.Errorf("%s took (-announced +taken)\n%s", c, diff)
		}
	}
}

// TestEveryConsumerGetsAllEventsOfAChange, skips what is older than those, and finds a
// conflict in what claims the place of one.
func TestEveryConsumerGetsAllEventsOfAChange(t *testing.T) {
	h := openBusHouse(t, bus.Config{})
	all, err := h.announce(t.Context(), 3, "one")
	h.must(err)
	h.awaitTaken(all)
	h.await(3, "SELECT count(*) FROM test_effect WHERE consumer = 'd'")
	var want []string
	for i := range 3 {
		want = append(want, fmt.Sprintf("%d.%d", all[0].Version, i))
	}
	for _, c := range []string{"c", "d"} {
		if diff := cmp.Diff(want, h.places(c, "one")); diff != "" {
			t.Errorf("%s took (-announced +taken)\n%s", c, diff)
		}
	}
	older, err := change("one", all[0].Version-1, 1)
	h.must(err)
	other, err := change("one", all[0].Version, 3)
	h.must(err)
	for _, e := range slices.Concat(older, other[2:]) {
		e.SchemaVersion, e.OccurredAt, e.Producer = events.SchemaVersion, e.Version, events.Producer{
			Service:  "test",
			Instance: "test",
		}
		h.send(nil, e)
	}
	h.await(2, "SELECT sum(stale) FROM bus_reader")
	h.await(2, "SELECT count(*) FROM bus_dead WHERE reason_code = 'EVENT_CONFLICT' AND event_id = $1", other[2].ID)
	if n := h.count("SELECT count(*) FROM test_effect"); n != 6 {
		t.Errorf("%d effects, want 6", n)
	}
}

// TestOldEventsThatAreSentAgainChangeNothing puts events on the stream once more, under
// other message ids, so that JetStream cannot tell.
func TestOldEventsThatAreSentAgainChangeNothing(t *testing.T) {
	const keys, each = 100, 10
	h := openBusHouse(t, bus.Config{})
	var all []events.Event
	for range each {
		var records []string
		for i := range keys {
			records = append(records, fmt.Sprint(i))
		}
		got, err := h.announce(t.Context(), 1, records...)
		h.must(err)
		all = append(all, got...)
	}
	h.awaitTaken(all)
	h.await(keys*each, "SELECT count(*) FROM test_effect WHERE consumer = 'd'")
	for i := range all {
		e := &all[i]
		e.SchemaVersion, e.OccurredAt, e.Producer = events.SchemaVersion, e.Version, events.Producer{
			Service:  "test",
			Instance: "test",
		}
	}
	h.send(nil, all...)
	h.await(2*keys*each, "SELECT sum(stale + duplicate) FROM bus_reader")
	if n := h.count("SELECT count(*) FROM test_effect"); n != 2*keys*each {
		t.Errorf("%d effects, want %d", n, 2*keys*each)
	}
	if n := h.count("SELECT (SELECT count(*) FROM test_fall) + (SELECT count(*) FROM bus_dead) + (SELECT count(*) " +
		"FROM bus_lane)"); n != 0 {
		t.Errorf("%d places fell, letters died, or lanes wait", n)
	}
}

// TestWhatDoesNotFitItsSchemaIsNotAnnounced: the transaction fails with it.
func TestWhatDoesNotFitItsSchemaIsNotAnnounced(t *testing.T) {
	h := openBusHouse(t, bus.Config{})
	fits, err := change("one", canonical.Stamp(time.Now().UnixMilli()), 1)
	h.must(err)
	tests := []struct {
		what, payload, code, says string
	}{
		{"a member is missing", `{"objectName":"Account"}`, events.CodeEventInvalid, "/payload"},
		{
			"a member is unknown", strings.Replace(string(fits[0].Payload), `{`, `{"新":1,`, 1),
			events.CodeEventInvalid,
			"/payload/新",
		},
		{
			"a member is wrong", strings.Replace(string(fits[0].Payload), houseID("one"), "x", 1),
			events.CodeEventInvalid,
			"/payload/recordId",
		},
		{
			"2 MiB", strings.Replace(string(fits[0].Payload), `{`, `{"fieldChanges":{"Name":{"old":null,"new":"`+
				strings.Repeat("x", 2<<20)+`"}},`, 1),
			events.CodeEventTooLarge, "",
		},
	}
	for _, tt := range tests {
		e := fits[0]
		e.Payload = []byte(tt.payload)
		err := h.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO test_record (key, version) VALUES ('a', 1)"); err != nil {
				return err
			}
			return h.bus.Publish(ctx, tx, fits[0], e)
		})
		f, ok := fault.As(err)
		if !ok || f.Code != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: the error is %.200v", tt.what, err)
		}
	}
	if n := h.count("SELECT (SELECT count(*) FROM outbox_events) + (SELECT count(*) FROM test_record)"); n != 0 {
		t.Errorf("%d rows are left of transactions that failed", n)
	}
}

// TestWhatNobodyCanReadIsADeadLetter also holds for types that came after this program.
func TestWhatNobodyCanReadIsADeadLetter(t *testing.T) {
	h := openBusHouse(t, bus.Config{})
	all, err := h.announce(t.Context(), 1, "first") // there is a stream
	h.must(err)
	h.awaitTaken(all)
	reasons := map[string]string{}
	for _, tt := range []struct {
		reason string
		spoil  func(*events.Event)
		text   string
	}{
		{events.CodeEventInvalid, func(e *events.Event) { e.Payload = []byte(`{"objectName":"Account"}`) }, ""},
		{events.CodeEventType, func(e *events.Event) { e.Type = "RecordDreamt" }, ""},
		{events.CodeEventInvalid, nil, `{"eventId":`},
	} {
		made, err := change(uuid.NewString(), canonical.Stamp(time.Now().UnixMilli()), 1)
		h.must(err)
		e := made[0]
		e.SchemaVersion, e.OccurredAt, e.Producer = events.SchemaVersion, e.Version, events.Producer{
			Service:  "test",
			Instance: "test",
		}
		if tt.spoil != nil {
			tt.spoil(&e)
		}
		h.send(func(m *bus.Message) {
			if tt.text != "" {
				m.Body = []byte(tt.text)
			}
		}, e)
		reasons[e.ID] = tt.reason
	}
	h.await(2*len(reasons), "SELECT count(*) FROM bus_dead")
	for id, want := range reasons {
		if got := h.text("SELECT reason_code FROM bus_dead WHERE consumer = 'c' AND event_id = $1", id); got != want {
			t.Errorf("event %s: the reason is %s, want %s", id, got, want)
		}
	}
	more, err := h.announce(t.Context(), 1, "first")
	h.must(err)
	h.awaitTaken(more)
}
