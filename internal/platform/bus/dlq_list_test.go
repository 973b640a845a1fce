package bus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestDeadLettersAreFilteredNewestFirst(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("one"), c.consumer("two")}})
		c.fail("", nil)
		x, y := r.event("x"), r.event("y")
		var dead int // when the last one became a dead letter
		for _, e := range []events.Event{x, y} {
			r.eventually("a later instant", func() bool { return int(time.Now().UnixMilli()) > dead })
			c.fail(e.Key, bus.Permanent(errSick))
			r.send(e)
			want := 2 * (1 + slices.Index([]string{x.ID, y.ID}, e.ID))
			r.eventually("both consumers", func() bool { return r.count("SELECT count(*) FROM bus_dead") == want })
			dead = r.count("SELECT max(dead_at) FROM bus_dead")
		}
		c.fail(x.Key, nil)
		list := func(f bus.DeadFilter) []string {
			page, total, err := b.DeadLetters(t.Context(), tenantA, f, 0, 10)
			r.must(err)
			if total != len(page) {
				t.Errorf("%+v: a total of %d for %d", f, total, len(page))
			}
			var got []string
			for _, l := range page {
				name := map[string]string{x.ID: "x", y.ID: "y"}[l.EventID]
				got = append(got, l.Consumer+" "+name)
			}
			if f.Consumer == "" {
				slices.Sort(got) // consumers are not in order with each other
			}
			return got
		}
		page, _, err := b.DeadLetters(t.Context(), tenantA, bus.DeadFilter{Consumer: "one"}, 0, 10)
		r.must(err)
		newest := page[0].DeadAt
		for _, tt := range []struct {
			filter bus.DeadFilter
			want   []string
		}{
			{bus.DeadFilter{}, []string{"one x", "one y", "two x", "two y"}},
			{bus.DeadFilter{Consumer: "one"}, []string{"one y", "one x"}},
			{bus.DeadFilter{Key: x.Key, Consumer: "two"}, []string{"two x"}},
			{bus.DeadFilter{EventType: "RecordDeleted", Consumer: "one"}, []string{"one y", "one x"}},
			{bus.DeadFilter{EventType: "RecordCreated"}, nil},
			{bus.DeadFilter{ReasonClass: fault.ReasonValidation, Consumer: "two"}, []string{"two y", "two x"}},
			{bus.DeadFilter{ReasonClass: fault.ReasonInfra}, nil},
			{bus.DeadFilter{ReasonClass: fault.ReasonAuth}, nil},
			{bus.DeadFilter{Status: []bus.Status{bus.Applied, bus.Skipped}}, nil},
			{bus.DeadFilter{DeadFrom: newest, Consumer: "one"}, []string{"one y"}},
			{bus.DeadFilter{DeadTo: newest, Consumer: "one"}, []string{"one x"}},
			{bus.DeadFilter{DeadFrom: newest + 1, Consumer: "one"}, nil},
		} {
			if got := list(tt.filter); !slices.Equal(got, tt.want) {
				t.Errorf("%+v: got %q, want %q", tt.filter, got, tt.want)
			}
		}
		r.decideOn(b, page[1].ID, false)
		r.eventually("it is applied", func() bool { return r.status(b, page[1].ID) == bus.Applied })
		if got := list(bus.DeadFilter{Consumer: "one"}); !slices.Equal(got, []string{"one y"}) {
			t.Errorf("open: %q", got)
		}
		if got := list(bus.DeadFilter{Consumer: "one", Status: []bus.Status{bus.Applied, bus.Open}}); !slices.Equal(got,
			[]string{"one y", "one x"}) {
			t.Errorf("open and applied: %q", got)
		}
		walked, err := b.WalkDead(t.Context(), tenantA, bus.DeadFilter{Consumer: "two"}, 0, 1)
		r.must(err)
		rest, err := b.WalkDead(t.Context(), tenantA, bus.DeadFilter{Consumer: "two"}, walked[0].Num, 10)
		r.must(err)
		if walked[0].EventID != x.ID || len(rest) != 1 || rest[0].EventID != y.ID {
			t.Errorf("walked %+v, then %+v", walked, rest)
		}
	})
}

func TestNobodySeesTheDeadLettersOfOthers(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		l := r.deadLetter(b, c, r.event("x"))[0]
		if page, total, err := b.DeadLetters(t.Context(), tenantB, bus.DeadFilter{}, 0, 10); err != nil || total != 0 ||
			len(page) != 0 {
			t.Errorf("a list: %v %d %v", page, total, err)
		}
		_, err := b.InspectDead(t.Context(), tenantB, l.ID)
		if failure, _ := fault.As(err); fault.KindOf(err) != fault.NotFound || failure.Code != "DEAD_LETTER_NOT_FOUND" {
			t.Errorf("a look: %v", err)
		}
		_, err = b.DecideDead(t.Context(), bus.Decision{Tenant: tenantB, Skip: true, Reason: "mine?"}, l.ID,
			keyOf(t, "k", "POST /x", "{}"))
		if fault.KindOf(err) != fault.NotFound {
			t.Errorf("a decision: %v", err)
		}
		if many, err := b.DecideMany(t.Context(), bus.Decision{Tenant: tenantB}, []string{l.ID}); err != nil ||
			many[0].ID != "" {
			t.Errorf("many decisions: %+v %v", many, err)
		}
		if seen, err := b.ForeseeDead(t.Context(), tenantB, nil, []string{l.ID}); err != nil || seen[0].ID != "" {
			t.Errorf("what is foreseen: %+v %v", seen, err)
		}
		states, err := b.Consumers(t.Context(), tenantB)
		r.must(err)
		for _, p := range states[0].Parts {
			if p.Dead+p.Blocked+p.Retrying > 0 || p.WaitingSince > 0 {
				t.Errorf("a count: %+v", p)
			}
		}
		if r.status(b, l.ID) != bus.Open || len(r.audited(tenantB)) > 0 {
			t.Error("something happened to it")
		}
	})
}

func TestTheEventsParkedAfterADeadLetterAreShown(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		first := r.event("x")
		c.fail(first.Key, bus.Permanent(errSick))
		behind := make([]events.Event, 103)
		for i := range behind {
			behind[i] = r.event("x")
		}
		r.send(append([]events.Event{first}, behind...)...)
		r.eventually("all behind it", func() bool { return r.count("SELECT count(*) FROM bus_parked") == len(behind) })
		page, _, err := b.DeadLetters(t.Context(), tenantA, bus.DeadFilter{}, 0, 10)
		r.must(err)
		seen, err := b.InspectDead(t.Context(), tenantA, page[0].ID)
		r.must(err)
		if seen.Waiting != len(behind) || len(seen.First) != 100 || seen.Verdict != bus.WillApply ||
			len(seen.Failures) != 1 {
			t.Fatalf("%d wait, %d are shown, %d failures, it is %s", seen.Waiting, len(seen.First), len(seen.Failures),
				seen.Verdict)
		}
		if w := seen.First[0]; w.EventID != behind[0].ID || w.EventType != "RecordDeleted" ||
			w.Version != behind[0].Version || w.At == 0 {
			t.Errorf("the first is %+v", w)
		}
		if seen.Event == nil || seen.Event.ID != first.ID || seen.Event.CorrelationID != "c" ||
			string(seen.Event.Payload) != string(first.Payload) || seen.Withheld {
			t.Errorf("the event is %+v", seen.Event)
		}
		states, err := b.Consumers(t.Context(), tenantA)
		r.must(err)
		p := states[0].Parts[events.Partition(first.Key)]
		if p.Dead != 1 || p.Blocked != 1 || p.Retrying != 0 || p.WaitingSince == 0 || p.Holder == "" || p.Failed != 1 ||
			p.Seq == 0 || p.SeenAt == 0 {
			t.Errorf("the consumer is at %+v", p)
		}
	})
}

func TestSensitiveFieldsAreNotShown(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		sensitive := func(_ context.Context, _ *sqldb.Tx, tenant string) (func(object, field string) bool, error) {
			return func(object, field string) bool {
				return tenant == tenantA && object == "Account" &&
					field == "ssn"
			}, nil
		}
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}, Sensitive: sensitive})
		e := r.event("x")
		e.Type = "RecordUpdated" // published before the field was marked
		e.Payload = fmt.Appendf(nil,
			`{"objectName":"Account","recordId":"%s","ownerId":"00000000-0000-0000-0000-0000000000aa",`+
				`"changedFields":["ssn","name"],"fieldChanges":{"name":{"old":"a","new":"b"},"ssn":{"old":null,`+
				`"new":"secret"}},"recordVersion":"%v"}`,
			strings.Split(e.Key, ":")[2], e.Version)
		r.must(e.CheckPublished())
		odd := r.event("odd")
		odd.Type, odd.Payload = "RecordUpdated", []byte(`{"objectName":"Account","fieldChanges":[{"ssn":"secret"}]}`)
		for _, tt := range []struct {
			event    events.Event
			withheld bool
		}{{e, false}, {odd, true}} {
			l := r.deadLetter(b, c, tt.event)[0]
			seen, err := b.InspectDead(t.Context(), tenantA, l.ID)
			r.must(err)
			if seen.Event == nil || seen.Withheld != tt.withheld || strings.Contains(string(seen.Event.Payload),
				"secret") {
				t.Errorf("got %t %s", seen.Withheld, seen.Event.Payload)
			}
			if !tt.withheld && !strings.Contains(string(seen.Event.Payload), `"new":"b"`) {
				t.Errorf("what is not sensitive is gone: %s", seen.Event.Payload)
			}
		}
		r.sendMessage(bus.Message{ID: "odd", Tenant: tenantA, Part: 1, Type: "RecordDeleted", Body: []byte("{secret")})
		r.eventually("what cannot be read",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE event_id = 'odd'") == 1 })
		page, _, err := b.DeadLetters(t.Context(), tenantA, bus.DeadFilter{}, 0, 1)
		r.must(err)
		if seen, err := b.InspectDead(t.Context(), tenantA, page[0].ID); err != nil || seen.Event != nil ||
			!seen.Withheld {
			t.Errorf("got %+v %v", seen, err)
		}
	})
}
