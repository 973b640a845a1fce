package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// announced puts an event into the outbox in a transaction, as if at an instant.
func announced(ctx context.Context, tx *sqldb.Tx, e events.Event, at canonical.Stamp, published any) error {
	_, err := tx.Exec(ctx, `INSERT INTO outbox_events (published_at, created_at, occurred_at, part, event_id,
		tenant_id, event_type, partition_key, service, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'x', $9)`, published, at, e.OccurredAt, events.Partition(e.Key), e.ID,
		e.Tenant, e.Type, e.Key, e.AppendJSON(nil))
	return err
}

func (r *rig) announce(at canonical.Stamp, published any, batch ...events.Event) {
	r.Helper()
	r.must(r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		for _, e := range batch {
			if err := announced(ctx, tx, e, at, published); err != nil {
				return err
			}
		}
		return nil
	}))
}

// of makes the event one of another tenant.
func of(e events.Event, tenant string) events.Event {
	e.Key = strings.Replace(e.Key, e.Tenant, tenant, 1)
	e.Tenant = tenant
	return e
}

// idle is a bus that nobody runs.
func (r *rig) idle(cfg bus.Config) *bus.Bus { return bus.New(r.db, r.carrier, cfg) }

// next takes what a tail has now, to the end.
func next(t *testing.T, tail *bus.Tail) (ids []string) {
	t.Helper()
	for {
		list, more, err := tail.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			parsed, err := events.ParseEvent(e.Body)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, parsed.ID)
		}
		if !more {
			return ids
		}
	}
}

// until takes from a tail until it has given so many events.
func until(t *testing.T, tail *bus.Tail, n int) (ids []string) {
	t.Helper()
	for began := time.Now(); len(ids) < n; {
		ids = append(ids, next(t, tail)...)
		if time.Since(began) > maxWait {
			t.Fatalf("got %d events, want %d", len(ids), n)
		}
	}
	return ids
}

func TestATailGivesTheEventsOfItsTenantInOrder(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b := r.idle(bus.Config{})
		old := r.event("old")
		r.announce(r.now, nil, old)
		begin := int64(0)
		fromNow, err := b.Tail(t.Context(), bus.EventFilter{Tenant: tenantA}, bus.TailFrom{})
		r.must(err)
		fromStart, err := b.Tail(t.Context(), bus.EventFilter{Tenant: tenantA}, bus.TailFrom{Place: &begin})
		r.must(err)
		a1, theirs, a2 := r.event("a"), of(r.event("b"), tenantB), r.event("c")
		later := r.now + 600_000 // by a clock that is ahead
		r.announce(later, nil, a1, theirs, a2)
		if got := until(t, fromStart, 3); !slices.Equal(got, idsOf(old, a1, a2)) {
			t.Errorf("from the start: %v", got)
		}
		if got := until(t, fromNow, 2); !slices.Equal(got, idsOf(a1, a2)) {
			t.Errorf("from now: %v", got)
		}
		place := fromNow.Place()
		again, err := b.Tail(t.Context(), bus.EventFilter{Tenant: tenantA}, bus.TailFrom{Place: &place})
		r.must(err)
		more := []events.Event{r.event("d"), r.event("e")}
		r.announce(later, nil, more...)
		if got := until(t, again, 2); !slices.Equal(got, idsOf(more...)) {
			t.Errorf("from where it was: %v", got)
		}
		byKey, err := b.Tail(t.Context(), bus.EventFilter{
			Tenant: tenantA, Key: more[1].Key,
			EventType: "RecordDeleted",
		}, bus.TailFrom{Place: &begin})
		r.must(err)
		if got := until(t, byKey, 1); !slices.Equal(got, idsOf(more[1])) {
			t.Errorf("of one key: %v", got)
		}
		byTime, err := b.Tail(t.Context(), bus.EventFilter{Tenant: tenantA}, bus.TailFrom{At: later})
		r.must(err)
		if got := until(t, byTime, 4); !slices.Equal(got, idsOf(a1, a2, more[0], more[1])) {
			t.Errorf("from an instant: %v", got)
		}
		for what, tail := range map[string]*bus.Tail{"start": fromStart, "place": again, "key": byKey} {
			if got := next(t, tail); len(got) > 0 && what != "start" {
				t.Errorf("%s: more came: %v", what, got)
			}
		}
	})
}

// TestATailWaitsForWhoIsSlow lets a transaction that began first commit last.
func TestATailWaitsForWhoIsSlow(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	b := r.idle(bus.Config{})
	begin := int64(0)
	tail, err := b.Tail(t.Context(), bus.EventFilter{Tenant: tenantA}, bus.TailFrom{Place: &begin})
	r.must(err)
	for round, fails := range []bool{false, true, false} {
		slow, quick := r.event(fmt.Sprint("slow", round)), r.event(fmt.Sprint("quick", round))
		inserted, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		failed := errors.New("undone")
		go func() {
			done <- r.db.Write(context.Background(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				if err := announced(ctx, tx, slow, 1, nil); err != nil {
					return err
				}
				close(inserted)
				<-release
				if fails {
					return failed
				}
				return nil
			})
		}()
		within(t, "the slow transaction has inserted", inserted)
		r.announce(1, nil, quick)
		for range 3 {
			if got := next(t, tail); len(got) > 0 {
				t.Fatalf("round %d: it went past the hole: %v", round, got)
			}
		}
		close(release)
		if err := <-done; fails != errors.Is(err, failed) {
			t.Fatal(err)
		}
		want := idsOf(slow, quick)
		if fails {
			want = idsOf(quick)
		}
		if got := until(t, tail, len(want)); !slices.Equal(got, want) {
			t.Errorf("round %d: got %v, want %v", round, got, want)
		}
	}
}

// TestATailWaitsForWhoBeganLate is the same with a transaction that took its place early
// and has begun after the one that it waits behind: the ids of transactions tell nothing.
func TestATailWaitsForWhoBeganLate(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	begin := int64(0)
	tail, err := r.idle(bus.Config{}).Tail(t.Context(), bus.EventFilter{Tenant: tenantA}, bus.TailFrom{Place: &begin})
	r.must(err)
	early, late := r.event("early"), r.event("late")
	// hold writes something, and then an event when it is told to.
	hold := func(e events.Event) (write, has, end chan struct{}, done chan error) {
		wrote := make(chan struct{})
		write, has, end, done = make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- r.db.Write(context.Background(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				if _, err := tx.Exec(ctx, "INSERT INTO bus_key (partition_key, version) VALUES ($1, 1)",
					e.ID); err != nil {
					return err
				}
				close(wrote)
				<-write
				err := announced(ctx, tx, e, 1, nil)
				close(has)
				<-end
				return err
			})
		}()
		within(t, "a transaction has its id", wrote)
		return write, has, end, done
	}
	writeEarly, hasEarly, endEarly, earlyDone := hold(early) // it has the lower transaction id
	writeLate, hasLate, endLate, lateDone := hold(late)
	close(writeLate) // and this one the lower place
	within(t, "the later transaction has its place", hasLate)
	close(writeEarly)
	within(t, "the earlier transaction has its place", hasEarly)
	close(endEarly)
	r.must(<-earlyDone)
	for range 3 {
		if got := next(t, tail); len(got) > 0 {
			t.Errorf("it went past the hole: %v", got)
		}
	}
	close(endLate)
	r.must(<-lateDone)
	if got := until(t, tail, 2); !slices.Equal(got, idsOf(late, early)) {
		t.Errorf("got %v", got)
	}
}

func TestATailReadsLargeEventsAFewAtATime(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		var all []events.Event
		for range 20 {
			e := r.event("x")
			e.Payload = []byte(strings.Repeat("x", 1_000_000)) // nobody looks at it
			all = append(all, e)
			r.announce(1, nil, of(r.event("theirs"), tenantB), e)
		}
		begin := int64(0)
		tail, err := r.idle(bus.Config{}).Tail(t.Context(), bus.EventFilter{Tenant: tenantA},
			bus.TailFrom{Place: &begin})
		r.must(err)
		var places []int64
		for reads := 0; len(places) < len(all); reads++ {
			list, more, err := tail.Next(t.Context())
			r.must(err)
			if len(list) > 8 || more != (len(places)+len(list) < len(all)) {
				t.Fatalf("%d events at once, after %d; more: %t", len(list), len(places), more)
			}
			for i := range list {
				places = append(places, list[i].ID)
			}
		}
		if !slices.IsSorted(places) || len(places) != len(all) {
			t.Errorf("places %v", places)
		}
	})
}

func TestATailHidesSensitiveFields(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		only := func(names ...string) bus.Fields {
			return func(context.Context, *sqldb.Tx, string) (func(object, field string) bool, error) {
				return func(_, field string) bool { return slices.Contains(names, field) }, nil
			}
		}
		b := r.idle(bus.Config{Sensitive: only("ssn"), Hidden: only("ssn", "pay")})
		e := r.event("x")
		e.Type = "RecordCreated"
		e.Payload = fmt.Appendf(nil,
			`{"objectName":"Account","recordId":"%s","ownerId":"%[1]s","changedFields":["name","ssn","pay"],`+
				`"fields":{"name":"n","ssn":"secret","pay":"secret"},"recordVersion":"%v"}`,
			strings.Split(e.Key, ":")[2], e.Version)
		r.must(e.CheckReceived())
		r.announce(1, nil, e)
		var says []byte
		e.ID = ""
		r.must(r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			if err := b.Publish(ctx, tx, e); err != nil {
				return err
			}
			return tx.Row(ctx, "SELECT body FROM outbox_events ORDER BY id DESC LIMIT 1").Scan(&says)
		}))
		if text := string(says); !strings.Contains(text, `"pay":"secret"`) || strings.Contains(text, `"ssn":"secret"`) {
			t.Errorf("published is %s, want what is hidden and not what is sensitive", text)
		}
		begin := int64(0)
		tail, err := b.Tail(t.Context(), bus.EventFilter{Tenant: tenantA}, bus.TailFrom{Place: &begin})
		r.must(err)
		list, _, err := tail.Next(t.Context())
		r.must(err)
		if len(list) != 2 {
			t.Fatalf("got %d events", len(list))
		}
		for _, e := range list {
			if strings.Contains(string(e.Body), "secret") || !strings.Contains(string(e.Body), `"name":"n"`) {
				t.Errorf("got %s", e.Body)
			}
		}
	})
}

func TestTheOutboxShowsWhatWaits(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b := r.idle(bus.Config{})
		state, err := b.Outbox(t.Context())
		r.must(err)
		if state.Unpublished != 0 || state.Parts[0].Oldest != 0 || len(state.Parts) != events.Partitions {
			t.Fatalf("empty: %+v", state)
		}
		waits, sent := r.event("waits"), r.event("sent")
		r.announce(70, nil, waits)
		r.announce(80, 90, sent)
		r.announce(75, nil, of(r.event("theirs"), tenantB))
		if state, err = b.Outbox(t.Context()); err != nil || state.Unpublished != 2 {
			t.Fatalf("got %+v %v", state, err)
		}
		if p := state.Parts[events.Partition(waits.Key)]; p.Unpublished == 0 || p.Oldest != 70 || p.Replay != nil {
			t.Errorf("got %+v", p)
		}
		rows, err := b.Recent(t.Context(), bus.EventFilter{Tenant: tenantA}, 0, 10)
		r.must(err)
		if len(rows) != 2 || rows[0].EventID != waits.ID || rows[0].PublishedAt != 0 || rows[1].EventID != sent.ID ||
			rows[1].PublishedAt != 90 || rows[1].CreatedAt != 80 {
			t.Errorf("got %+v", rows)
		}
		behind, err := b.Recent(t.Context(), bus.EventFilter{Tenant: tenantA}, rows[0].ID, 10)
		r.must(err)
		if len(behind) != 1 || behind[0].EventID != sent.ID {
			t.Errorf("behind the first: %+v", behind)
		}
		newest, err := b.Recent(t.Context(), bus.EventFilter{Tenant: tenantA}, 0, 1)
		r.must(err)
		if len(newest) != 1 || newest[0].EventID != sent.ID {
			t.Errorf("the newest: %+v", newest)
		}
		only, err := b.Recent(t.Context(), bus.EventFilter{Tenant: tenantA, Key: waits.Key, EventType: "RecordDeleted"},
			0, 10)
		r.must(err)
		if len(only) != 1 || only[0].EventID != waits.ID {
			t.Errorf("of one key: %+v", only)
		}
		if none, err := b.Recent(t.Context(), bus.EventFilter{Tenant: tenantA, EventType: "OwnerChanged"}, 0,
			10); err != nil || len(none) > 0 {
			t.Errorf("of another type: %+v %v", none, err)
		}
	})
}

// startReplay asks for a replay under a key.
func (r *rig) startReplay(b *bus.Bus, key, consumer string, from, to canonical.Stamp) (bus.ReplayAnswer, error) {
	return b.StartReplay(r.Context(), bus.ReplayRequest{
		Tenant: tenantA, Consumer: consumer, From: from, To: to, Actor: "ann", CorrelationID: "call-1",
		Idempotency: keyOf(r, key, "POST /events/replays", fmt.Sprintf(`{"from":%d,"to":%d}`, from, to)),
	})
}

// owned is another event of a record, which says that its owner changed.
func (r *rig) owned(record string) events.Event {
	r.Helper()
	e := r.event(record)
	id := strings.Split(e.Key, ":")[2]
	payload, err := events.NewPayload(events.OwnerChanged{
		ObjectName: "Account", RecordID: id, OldOwnerID: id,
		NewOwnerID: id, RecordVersion: e.Version,
	})
	r.must(err)
	e.Type, e.Payload = "OwnerChanged", payload
	return e
}

// TestAReplayIsAskedForCarriedOutAndCounted is about a consumer that did not take a type
// of events at first, and is to have them now.
func TestAReplayIsAskedForCarriedOutAndCounted(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		consumer := c.consumer("c")
		consumer.Types = []string{"RecordDeleted"}
		b, stop := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
		var missed []events.Event
		for i := range 20 { // in every partition
			missed = append(missed, r.owned(fmt.Sprint("missed", i)))
			r.publish(b, missed[i])
		}
		r.publish(b, of(r.owned("theirs"), tenantB))
		for i := range 20 {
			r.publish(b, r.event(fmt.Sprint("seen", i)))
		}
		r.eventually("what it takes", func() bool { return len(r.ids("c", "")) == 20 })
		to := canonical.Stamp(r.count("SELECT max(created_at) FROM outbox_events")) + 1
		stop()
		consumer.Types = nil
		b, _ = r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{consumer}})
		for i := range 20 { // so that its readers have passed all of them
			r.publish(b, r.event(fmt.Sprint("later", i)))
		}
		r.eventually("what came later", func() bool { return len(r.ids("c", "")) == 40 })
		ans, err := r.startReplay(b, "k", "c", 1, to)
		r.must(err)
		if ans.Status != bus.ReplayRunning || ans.Key != "k" || ans.CorrelationID != "call-1" {
			t.Errorf("got %+v", ans)
		}
		r.eventually("the end of it", func() bool {
			found, err := b.Replay(t.Context(), tenantA, ans.ID)
			r.must(err)
			return found.Status == bus.ReplayDone
		})
		found, err := b.Replay(t.Context(), tenantA, ans.ID)
		r.must(err)
		if found.Counts != (bus.ReplayCounts{Applied: 20, Duplicate: 20}) || found.EndedAt == 0 ||
			found.CreatedBy != "ann" || found.From != 1 || found.To != to {
			t.Errorf("got %+v", found)
		}
		got := r.ids("c", "")
		for _, e := range missed {
			if !slices.Contains(got, e.ID) {
				t.Errorf("%s was not taken", e.ID)
			}
		}
		if len(got) != 60 {
			t.Errorf("%d effects, want 60", len(got))
		}
		again, err := r.startReplay(b, "k", "c", 1, to)
		if err != nil || !again.Replay || again.ID != ans.ID {
			t.Errorf("the key again: %+v %v", again, err)
		}
		stopped, err := b.StopReplay(t.Context(), bus.ReplayOrder{
			Tenant: tenantA, ID: ans.ID,
			Idempotency: keyOf(t, "s", "POST /s", "{}"),
		})
		if err != nil || stopped.Refused != bus.GuardReplayRun || stopped.Status != bus.ReplayDone {
			t.Errorf("a stop too late: %+v %v", stopped, err)
		}
		if lines := r.audited(tenantA); len(lines) != 2 || !strings.HasPrefix(lines[0], "events.replay accepted "+
			ans.ID) || !strings.HasPrefix(lines[1], "events.replay.stop refused") {
			t.Errorf("audit: %q", lines)
		}
	})
}

func TestAReplayCanBeStopped(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		engine := c.consumer("engine")
		engine.Stream = events.Executions
		b := r.idle(bus.Config{Consumers: []bus.Consumer{c.consumer("c"), engine}})
		var ids []string
		for i := range bus.MaxReplays {
			ans, err := r.startReplay(b, fmt.Sprint("k", i), "c", 1, canonical.Stamp(2+i))
			r.must(err)
			ids = append(ids, ans.ID)
		}
		_, err := r.startReplay(b, "one more", "c", 1, 2)
		if says, _ := fault.As(err); fault.KindOf(err) != fault.TooLarge || says.Code != "TOO_MANY_REPLAYS" {
			t.Errorf("one too many: %v", err)
		}
		for range 2 { // the second time changes nothing
			stop, err := b.StopReplay(t.Context(), bus.ReplayOrder{
				Tenant: tenantA, ID: ids[0],
				Idempotency: keyOf(t, uuid.NewString(), "POST /s", "{}"),
			})
			if err != nil || stop.Refused != "" || stop.Status != bus.ReplayStopped {
				t.Errorf("got %+v %v", stop, err)
			}
		}
		if _, err := r.startReplay(b, "one more", "c", 1, 2); err != nil {
			t.Errorf("after a stop: %v", err)
		}
		page, total, err := b.Replays(t.Context(), tenantA, 0, 5)
		if err != nil || total != 11 || len(page) != 5 {
			t.Errorf("%d of %d: %v", len(page), total, err)
		}
		last, _, err := b.Replays(t.Context(), tenantA, 10, 5)
		if err != nil || len(last) != 1 || last[0].ID != ids[0] || last[0].Status != bus.ReplayStopped ||
			last[0].EndedAt == 0 {
			t.Errorf("the oldest: %+v %v", last, err)
		}
		for what, err := range map[string]error{
			"a consumer that nobody knows": second(r.startReplay(b, "u", "nobody", 1, 2)),
			"another tenant's":             second(b.Replay(t.Context(), tenantB, ids[1])),
			"a stop of another tenant's": second(b.StopReplay(t.Context(), bus.ReplayOrder{
				Tenant: tenantB,
				ID:     ids[1], Idempotency: keyOf(t, "t", "POST /s", "{}"),
			})),
		} {
			if fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := r.startReplay(b, "e", "engine", 1, 2); fault.KindOf(err) != fault.Invalid {
			t.Errorf("of the engine's own events: %v", err)
		}
		if running, err := b.Replay(t.Context(), tenantA, ids[1]); err != nil || running.Status != bus.ReplayRunning {
			t.Errorf("got %+v %v", running, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }
