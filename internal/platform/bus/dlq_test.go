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
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// keyOf is the key of a request.
func keyOf(t testing.TB, key, endpoint, body string) canonical.IdempotencyKey {
	t.Helper()
	idempotencyKey, err := canonical.ParseIdempotencyKey(key, endpoint, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return idempotencyKey
}

// deadLetter sends events that fail for good, and gives the dead letters in their order.
func (r *rig) deadLetter(b *bus.Bus, c *crew, batch ...events.Event) []bus.DeadLetter {
	r.Helper()
	before := r.count("SELECT count(*) FROM bus_dead")
	for _, e := range batch {
		c.fail(e.Key, bus.Permanent(errSick))
	}
	r.send(batch...)
	r.eventually("dead letters", func() bool { return r.count("SELECT count(*) FROM bus_dead") == before+len(batch) })
	for _, e := range batch {
		c.fail(e.Key, nil)
	}
	var letters []bus.DeadLetter
	for _, e := range batch {
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
	ans, err := b.DecideDead(r.Context(), d, id, keyOf(r, uuid.NewString(), "POST /events/dlq/"+id+"/x", "{}"))
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
		l := r.deadLetter(b, c, e)[0]
		key := keyOf(t, "k", "POST /events/dlq/"+l.ID+"/redrive", `{"dryRun":false}`)
		d := bus.Decision{Tenant: tenantA, Actor: "ann", CorrelationID: "call-1"}
		first, err := b.DecideDead(t.Context(), d, l.ID, key)
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
		again, err := b.DecideDead(t.Context(), d, l.ID, key)
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
		_, err = b.DecideDead(t.Context(), d, l.ID, keyOf(t, "k", key.Endpoint, `{"dryRun":true}`))
		if failure, _ := fault.As(err); failure == nil || failure.Code != "IDEMPOTENCY_CONFLICT" {
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
		l := r.deadLetter(b, c, e)[0]
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
		consumer.GivenUp = func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
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
		letters := r.deadLetter(b, c, sick, r.event("well"))
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
		l := r.deadLetter(b, c, e)[0]
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
		letters := r.deadLetter(b, c, r.event("x"), r.event("x"), r.event("x"))
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

func TestABulkDecidesAboutADeadLetterOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := newCrew()
		b, _ := r.launch(r.carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		e := r.event("x")
		l := r.deadLetter(b, c, e)[0]
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
			l := r.deadLetter(b, c, r.event(fmt.Sprint("x", i)))[0]
			answers := make([]bus.DeadAnswer, 6)
			var wg sync.WaitGroup
			for n := range answers {
				wg.Go(func() {
					d := bus.Decision{Tenant: tenantA, Skip: n%2 == 0, Reason: "r", Actor: fmt.Sprint(n)}
					var err error
					if answers[n], err = b.DecideDead(t.Context(), d, l.ID, keyOf(t, fmt.Sprint("k", i, n), "POST /x",
						"{}")); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			r.eventually("it has ended", func() bool { return r.status(b, l.ID) >= bus.Applied })
			skipped := r.status(b, l.ID) == bus.Skipped
			for n, ans := range answers {
				if (ans.Refused == "") != (skipped == (n%2 == 0)) {
					t.Errorf("it was skipped: %t; number %d was answered %+v", skipped, n, ans)
				}
			}
		}
	})
}
