package bus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// onceOf is the key of a request.
func onceOf(t testing.TB, key, endpoint, body string) wire.Once {
	t.Helper()
	once, err := wire.ParseOnce(key, endpoint, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return once
}

// bury sends events that fail for good, and gives the dead letters in their order.
func (r *rig) bury(b *bus.Bus, c *crew, events ...wire.Event) []bus.DeadLetter {
	r.Helper()
	before := r.count("SELECT count(*) FROM bus_dead")
	for _, e := range events {
		c.fail(e.Key, bus.Permanent(errSick))
	}
	r.send(events...)
	r.eventually("dead letters", func() bool { return r.count("SELECT count(*) FROM bus_dead") == before+len(events) })
	for _, e := range events {
		c.fail(e.Key, nil)
	}
	var letters []bus.DeadLetter
	for _, e := range events {
		page, _, err := b.DeadLetters(r.Context(), e.Tenant, bus.DeadFilter{Key: e.Key}, 0, 100)
		r.must(err)
		i := slices.IndexFunc(page, func(l bus.DeadLetter) bool { return l.EventID == e.ID })
		letters = append(letters, page[i])
	}
	return letters
}

// decideOn decides about a letter under a key of its own.
func (r *rig) decideOn(b *bus.Bus, id string, skip bool) bus.DeadAnswer {
	r.Helper()
	d := bus.Decision{Tenant: tenantA, Skip: skip, Reason: "because", Actor: "ann", CorrelationID: "call-1"}
	ans, err := b.DecideDead(r.Context(), d, id, onceOf(r, uuid.NewString(), "POST /events/dlq/"+id+"/x", "{}"))
	r.must(err)
	return ans
}

// status is that of a letter.
func (r *rig) status(b *bus.Bus, id string) bus.Status {
	r.Helper()
	all, err := b.DeadLettersOf(r.Context(), tenantA, []string{id})
	r.must(err)
	return all[0].Status
}

// audited is the audit log of a tenant, oldest first, as "action outcome subject".
func (r *rig) audited(tenant string) (lines []string) {
	r.Helper()
	entries, _, err := audit.New(r.db).List(r.Context(), audit.Query{Tenant: tenant, Limit: 1000})
	r.must(err)
	for _, e := range slices.Backward(entries) {
		lines = append(lines, fmt.Sprintf("%s %s %s by %s: %s", e.Action, e.Outcome, e.Subject, e.Actor, e.Reason))
	}
	return lines
}

func TestARedriveIsDecidedOnceAndCarriedOut(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		e := r.event("x")
		l := r.bury(b, c, e)[0]
		once := onceOf(t, "k", "POST /events/dlq/"+l.ID+"/redrive", `{"dryRun":false}`)
		d := bus.Decision{Tenant: tenantA, Actor: "ann", CorrelationID: "call-1"}
		first, err := b.DecideDead(t.Context(), d, l.ID, once)
		r.must(err)
		want := bus.DeadAnswer{
			ID: l.ID, Status: bus.Redriving, Verdict: bus.WillApply, CorrelationID: "call-1",
			Key: "k",
		}
		if diff := cmp.Diff(want, first); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.eventually("the letter is applied", func() bool { return r.status(b, l.ID) == bus.Applied })
		if got := r.ids("c", ""); !slices.Equal(got, idsOf(e)) {
			t.Errorf("effects of %v", got)
		}
		again, err := b.DecideDead(t.Context(), d, l.ID, once)
		r.must(err)
		want.Replay = true
		if diff := cmp.Diff(want, again); diff != "" {
			t.Errorf("the key again (-want +got):\n%s", diff)
		}
		if ans := r.decideOn(b, l.ID, false); ans.Refused != "" || ans.Status != bus.Applied || ans.Replay {
			t.Errorf("the same decision again: %+v", ans)
		}
		if ans := r.decideOn(b, l.ID, true); ans.Refused != bus.GuardDeadOpen || ans.Status != bus.Applied {
			t.Errorf("another decision: %+v", ans)
		}
		_, err = b.DecideDead(t.Context(), d, l.ID, onceOf(t, "k", once.Endpoint, `{"dryRun":true}`))
		if told, _ := fault.As(err); told == nil || told.Code != "IDEMPOTENCY_CONFLICT" {
			t.Errorf("the key with another body: %v", err)
		}
		if diff := cmp.Diff([]string{"dlq.redrive accepted " + l.ID + " by ann: ", "dlq.skip refused " + l.ID +
			" by ann: because"}, r.audited(tenantA)); diff != "" {
			t.Errorf("audit (-want +got):\n%s", diff)
		}
	})
}

func TestASkipIsCarriedOutWithItsReason(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		e := r.event("x")
		l := r.bury(b, c, e)[0]
		if ans := r.decideOn(b, l.ID, true); ans.Status != bus.Skipping || ans.Verdict != "" {
			t.Errorf("got %+v", ans)
		}
		r.eventually("the letter is skipped", func() bool { return r.status(b, l.ID) == bus.Skipped })
		seen, err := b.InspectDead(t.Context(), tenantA, l.ID)
		r.must(err)
		if seen.Reason != "because" || seen.DecidedBy != "ann" || seen.EndedAt == 0 || seen.Verdict != "" {
			t.Errorf("got %+v", seen.DeadLetter)
		}
		if got := r.ids("c", ""); len(got) > 0 {
			t.Errorf("it had an effect: %v", got)
		}
	})
}

// TestADeadLetterWhoseConsumerRefusesASkipIsOpenAgain is about a consumer with a mistake: the
// process goes on, other letters are skipped, and this one can be when it is put right.
func TestADeadLetterWhoseConsumerRefusesASkipIsOpenAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		var how atomic.Value
		how.Store("panic")
		consumer := c.consumer("c")
		sick := r.event("sick")
		consumer.GivenUp = func(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
			if e.Key != sick.Key {
				return nil
			}
			_, err := tx.Exec(ctx, "INSERT INTO test_effect (consumer, key, event_id, version, idx) VALUES ('given "+
				"up', $1, $2, 0, 0)", e.Key, e.ID)
			switch how.Load() {
			case "panic":
				panic("not so")
			case "error":
				return errSick
			case "statement": // that fails, which nobody looks at
				_, _ = tx.Exec(ctx, "SELECT 1 FROM no_such_table")
				if tx.Dialect() == sqldb.SQLite { // which undoes that statement alone
					return errSick
				}
			}
			return err
		}
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
		letters := r.bury(b, c, sick, r.event("well"))
		next := r.event("sick")
		r.send(next)
		for i, way := range []string{"panic", "error", "statement"} {
			how.Store(way)
			r.decideOn(b, letters[0].ID, true)
			r.eventually("it is open again after "+way, func() bool { return r.status(b, letters[0].ID) == bus.Open })
			seen, err := b.InspectDead(t.Context(), tenantA, letters[0].ID)
			r.must(err)
			if last := seen.Failures[len(seen.Failures)-1].Error; len(seen.Failures) != i+2 ||
				!strings.HasPrefix(last, "the event cannot be skipped: ") {
				t.Errorf("%s: got %+v", way, seen.Failures)
			}
		}
		if n := r.count("SELECT count(*) FROM test_effect"); n > 0 {
			t.Errorf("what failed had %d effects, or what waits behind it had", n)
		}
		r.decideOn(b, letters[1].ID, true)
		r.eventually("the other is skipped", func() bool { return r.status(b, letters[1].ID) == bus.Skipped })
		how.Store("")
		r.decideOn(b, letters[0].ID, true)
		r.eventually("it is skipped", func() bool { return r.status(b, letters[0].ID) == bus.Skipped })
		r.eventually("its key goes on", func() bool { return slices.Equal(r.ids("c", ""), idsOf(next)) })
		if got := r.ids("given up", ""); !slices.Equal(got, idsOf(sick)) {
			t.Errorf("given up: %v", got)
		}
	})
}

func TestADeadLetterThatDiesAgainIsOpenWithItsWholeHistory(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		e := r.event("x")
		l := r.bury(b, c, e)[0]
		c.fail(e.Key, bus.Permanent(errSick))
		r.decideOn(b, l.ID, false)
		r.eventually("it is open again",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE status = 0 AND attempts = 2") == 1 })
		seen, err := b.InspectDead(t.Context(), tenantA, l.ID)
		r.must(err)
		if len(seen.Failures) != 2 || seen.Failures[1].Error != errSick.Error() || seen.Failures[0].At == 0 ||
			seen.Attempts != 2 {
			t.Errorf("got %+v", seen.Failures)
		}
		c.fail(e.Key, nil)
		r.decideOn(b, l.ID, false)
		r.eventually("it is applied", func() bool { return r.status(b, l.ID) == bus.Applied })
	})
}

// TestARedriveMayNotBreakTheOrderOfItsKey is about a consumer that goes on behind dead
// letters, so that one key has several.
func TestARedriveMayNotBreakTheOrderOfItsKey(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		consumer := c.consumer("c")
		consumer.Continue = true
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
		letters := r.bury(b, c, r.event("x"), r.event("x"), r.event("x"))
		ids := []string{letters[0].ID, letters[1].ID, letters[2].ID}
		verdicts := func(f *bus.DeadFilter) (got []bus.Verdict) {
			all, err := b.ForeseeDead(t.Context(), tenantA, f, append(slices.Clone(ids), uuid.NewString()))
			r.must(err)
			if all[3].ID != "" || all[3].Verdict != "" {
				t.Errorf("what does not exist: %+v", all[3])
			}
			return []bus.Verdict{all[0].Verdict, all[1].Verdict, all[2].Verdict}
		}
		if diff := cmp.Diff([]bus.Verdict{bus.WillApply, bus.BreaksOrder, bus.BreaksOrder}, verdicts(nil)); diff != "" {
			t.Errorf("each alone (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bus.Verdict{bus.WillApply, bus.WillApply, bus.WillApply},
			verdicts(&bus.DeadFilter{Consumer: "c"})); diff != "" {
			t.Errorf("all together (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bus.Verdict{bus.WillApply, bus.BreaksOrder, bus.BreaksOrder},
			verdicts(&bus.DeadFilter{EventType: "RecordCreated"})); diff != "" {
			t.Errorf("with a filter that selects none of them (-want +got):\n%s", diff)
		}
		if ans := r.decideOn(b, ids[2], false); ans.Refused != bus.GuardKeyOrder || ans.Status != bus.Open ||
			ans.Verdict != bus.BreaksOrder {
			t.Errorf("the last first: %+v", ans)
		}
		if seen, err := b.InspectDead(t.Context(), tenantA, ids[1]); err != nil || seen.SkipMakesStale != 1 {
			t.Errorf("a skip would make %d stale, want 1: %v", seen.SkipMakesStale, err)
		}
		if ans := r.decideOn(b, ids[1], true); ans.Refused != "" || ans.MakesStale != 1 { // a skip breaks no order
			t.Errorf("a skip: %+v", ans)
		}
		r.eventually("the second is skipped", func() bool { return r.status(b, ids[1]) == bus.Skipped })
		// What was skipped counts as taken, so the first has become stale.
		if got := verdicts(nil); got[0] != bus.WillBeStale || got[1] != "" || got[2] != bus.WillApply {
			t.Errorf("after the skip: %v", got)
		}
		if seen, err := b.InspectDead(t.Context(), tenantA, ids[2]); err != nil || seen.SkipMakesStale != 0 {
			t.Errorf("another skip would make %d stale, want none that is not: %v", seen.SkipMakesStale, err)
		}
		r.decideOn(b, ids[2], false)
		r.eventually("the last is applied", func() bool { return r.status(b, ids[2]) == bus.Applied })
		r.decideOn(b, ids[0], false)
		r.eventually("the first is stale", func() bool { return r.status(b, ids[0]) == bus.Stale })
	})
}

func TestARedriveMayNotTakeAPlaceThatAnotherEventHolds(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		v := r.now + 10
		first, second := r.eventAt("x", v, 0), r.eventAt("x", v, 0)
		r.send(first, second)
		r.eventually("a dead letter", func() bool { return r.count("SELECT count(*) FROM bus_dead") == 1 })
		page, total, err := b.DeadLetters(t.Context(), tenantA, bus.DeadFilter{ReasonClass: fault.ReasonRunConflict}, 0,
			10)
		r.must(err)
		if total != 1 || page[0].EventID != second.ID || page[0].ReasonCode != "EVENT_CONFLICT" {
			t.Fatalf("got %+v", page)
		}
		if ans := r.decideOn(b, page[0].ID, false); ans.Refused != bus.GuardPlaceFree || ans.Verdict != bus.IsConflict {
			t.Errorf("got %+v", ans)
		}
		if n := r.count("SELECT count(*) FROM bus_dead WHERE status = 0"); n != 1 {
			t.Error("it is not open any more")
		}
	})
}

func TestDeadLettersAreFilteredNewestFirst(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("one"), c.consumer("two")}})
		c.fail("", nil)
		x, y := r.event("x"), r.event("y")
		for _, e := range []wire.Event{x, y} {
			c.fail(e.Key, bus.Permanent(errSick))
			r.send(e)
			want := 2 * (1 + slices.Index([]string{x.ID, y.ID}, e.ID))
			r.eventually("both consumers", func() bool { return r.count("SELECT count(*) FROM bus_dead") == want })
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
		l := r.bury(b, c, r.event("x"))[0]
		if page, total, err := b.DeadLetters(t.Context(), tenantB, bus.DeadFilter{}, 0, 10); err != nil || total != 0 ||
			len(page) != 0 {
			t.Errorf("a list: %v %d %v", page, total, err)
		}
		_, err := b.InspectDead(t.Context(), tenantB, l.ID)
		if told, _ := fault.As(err); fault.KindOf(err) != fault.NotFound || told.Code != "DEAD_LETTER_NOT_FOUND" {
			t.Errorf("a look: %v", err)
		}
		_, err = b.DecideDead(t.Context(), bus.Decision{Tenant: tenantB, Skip: true, Reason: "mine?"}, l.ID,
			onceOf(t, "k", "POST /x", "{}"))
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
		behind := make([]wire.Event, 103)
		for i := range behind {
			behind[i] = r.event("x")
		}
		r.send(append([]wire.Event{first}, behind...)...)
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
		p := states[0].Parts[wire.Partition(first.Key)]
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
			event    wire.Event
			withheld bool
		}{{e, false}, {odd, true}} {
			l := r.bury(b, c, tt.event)[0]
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

func TestABulkDecidesAboutADeadLetterOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		e := r.event("x")
		l := r.bury(b, c, e)[0]
		c.fail(e.Key, bus.Permanent(errSick))
		d := bus.Decision{Tenant: tenantA, Actor: "ann", Bulk: "the-bulk"}
		many, err := b.DecideMany(t.Context(), d, []string{l.ID, "none"})
		r.must(err)
		if many[0].Answer.Status != bus.Redriving || many[1].ID != "" {
			t.Fatalf("got %+v", many)
		}
		r.eventually("it died again",
			func() bool { return r.count("SELECT count(*) FROM bus_dead WHERE status = 0 AND attempts = 2") == 1 })
		if many, err = b.DecideMany(t.Context(), d, []string{l.ID}); err != nil || many[0].Answer.Status != bus.Open ||
			many[0].Answer.Refused != "" {
			t.Errorf("the same bulk again: %+v %v", many, err)
		}
		d.Bulk = "another"
		c.fail(e.Key, nil)
		if many, err = b.DecideMany(t.Context(), d, []string{l.ID}); err != nil ||
			many[0].Answer.Status != bus.Redriving {
			t.Errorf("another bulk: %+v %v", many, err)
		}
		r.eventually("it is applied", func() bool { return r.status(b, l.ID) == bus.Applied })
		if n := len(r.audited(tenantA)); n != 2 {
			t.Errorf("%d entries in the audit log, want 2", n)
		}
	})
}

func TestOfTwoWhoDecideAtOnceOneWins(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		for i := range 10 {
			l := r.bury(b, c, r.event(fmt.Sprint("x", i)))[0]
			answers := make([]bus.DeadAnswer, 6)
			var wg sync.WaitGroup
			for n := range answers {
				wg.Go(func() {
					d := bus.Decision{Tenant: tenantA, Skip: n%2 == 0, Reason: "r", Actor: fmt.Sprint(n)}
					var err error
					if answers[n], err = b.DecideDead(t.Context(), d, l.ID, onceOf(t, fmt.Sprint("k", i, n), "POST /x",
						"{}")); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			r.eventually("it has ended", func() bool { return r.status(b, l.ID).Ended() })
			skipped := r.status(b, l.ID) == bus.Skipped
			for n, ans := range answers {
				if (ans.Refused == "") != (skipped == (n%2 == 0)) {
					t.Errorf("it was skipped: %t; number %d was answered %+v", skipped, n, ans)
				}
			}
		}
	})
}
