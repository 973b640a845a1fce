package dlq

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

func TestABulkDrivesAllThatMatchedWhenItWasAskedFor(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		var batch []events.Event
		for i := range 30 {
			batch = append(batch, r.event("stop", fmt.Sprint("x", i)))
		}
		letters := r.deadLetter(batch...)
		id := r.create(Redrive, Spec{Filter: Filter{Consumer: "stop"}, Reason: "well again"})
		b, err := r.bulks.Bulk(t.Context(), tenant, id)
		r.must(err)
		if b.Status != bulk.Preview || b.Total != 30 {
			t.Fatalf("got %+v", b)
		}
		for _, line := range r.items(id) {
			if line != `PENDING {"verdict":"WILL_APPLY","status":"OPEN"}` {
				t.Errorf("preview: %s", line)
			}
		}
		if b = r.work(id); b.Counts != (bulk.Counts{Applied: 30}) {
			t.Errorf("got %+v: %s", b.Counts, r.items(id))
		}
		if line := r.items(id)[29]; line != `APPLIED {"verdict":"WILL_APPLY","status":"APPLIED"}` {
			t.Errorf("result: %s", line)
		}
		entries, total, err := audit.New(r.db).List(t.Context(), audit.Query{
			Tenant: tenant, Action: "dlq.redrive",
			Limit: 100,
		})
		r.must(err)
		if e := entries[0]; total != 30 || e.Actor != "bob" || e.CorrelationID != "clean" || e.Reason != "well again" ||
			!strings.Contains(string(e.Detail), id) {
			t.Errorf("%d entries, the last is %+v", total, entries[0])
		}
		seen, err := r.bus.InspectDead(t.Context(), tenant, letters[0].ID)
		r.must(err)
		if seen.DecidedIn != id || seen.DecidedBy != "bob" {
			t.Errorf("the letter says %+v", seen.DeadLetter)
		}
	})
}

func TestDeadLettersOfOneKeyAreRedrivenInTurn(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		batch := []events.Event{r.event("go", "x"), r.event("go", "x"), r.event("go", "x"), r.event("go", "y")}
		letters := r.deadLetter(batch...)
		id := r.create(Redrive, Spec{})
		for _, line := range r.items(id) { // together they keep the order
			if line != `PENDING {"verdict":"WILL_APPLY","status":"OPEN"}` {
				t.Errorf("preview: %s", line)
			}
		}
		x := batch[0].Key // of three of them
		r.mail.Fail(x)
		if b := r.work(id); b.Counts != (bulk.Counts{Applied: 1, Refused: 2, Failed: 1}) {
			t.Errorf("got %+v", b.Counts)
		}
		var got []string
		for i, line := range r.items(id) {
			if letters[i].Key == x {
				got = append(got, line)
			}
		}
		want := []string{
			`FAILED {"verdict":"WILL_APPLY","status":"OPEN","code":"HANDLER_FAILED",` +
				`"message":"it died again: the index is away"}`,
			`REFUSED {"verdict":"BREAKS_ORDER","status":"OPEN","guard":"key_order"}`,
			`REFUSED {"verdict":"BREAKS_ORDER","status":"OPEN","guard":"key_order"}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.mail.Recover(x)
		if b := r.work(r.create(Redrive, Spec{})); b.Counts != (bulk.Counts{Applied: 3}) {
			t.Errorf("another bulk: %+v", b.Counts)
		}
	})
}

func TestABulkSkipsWhatAFilterSelects(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		letters := r.deadLetter(r.event("stop", "x"), r.event("go", "y"), r.event("stop", "z"))
		third := slices.IndexFunc(letters, func(l bus.DeadLetter) bool { return l.Consumer == "go" })
		for _, f := range []Filter{
			{EventType: "OwnerChanged"},
			{Key: letters[third].Key},
			{ReasonClass: fault.ReasonInfra, Consumer: "go"},
			{Consumer: "go", DeadFrom: letters[third].DeadAt, DeadTo: letters[third].DeadAt + 1},
		} {
			id := r.create(Skip, Spec{Filter: f, Reason: "r"})
			if got := r.items(id); !slices.Equal(got, []string{`PENDING {"status":"OPEN"}`}) {
				t.Errorf("%+v: %s", f, got)
			}
		}
		if got := r.items(r.create(Skip, Spec{Filter: Filter{ReasonClass: fault.ReasonAuth}, Reason: "r"})); len(
			got) > 0 {
			t.Errorf("nothing: %s", got)
		}
		id := r.create(Skip, Spec{Filter: Filter{Consumer: "stop"}, Reason: "gone"})
		if b := r.work(id); b.Counts != (bulk.Counts{Applied: 2}) {
			t.Errorf("got %+v: %s", b.Counts, r.items(id))
		}
		if got := r.items(id)[0]; got != `APPLIED {"status":"SKIPPED"}` {
			t.Errorf("got %s", got)
		}
		_, open, err := r.bus.DeadLetters(t.Context(), tenant, bus.DeadFilter{}, 0, 1)
		if err != nil || open != 1 {
			t.Errorf("%d are open: %v", open, err)
		}
	})
}

func TestWhatWasDecidedMeanwhileIsNotDecidedAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		letters := r.deadLetter(r.event("stop", "a"), r.event("stop", "b"), r.event("stop", "c"))
		redrive, skip := r.create(Redrive, Spec{}), r.create(Skip, Spec{Reason: "r"})
		for i, s := range []bool{false, true} {
			_, err := r.bus.DecideMany(t.Context(), bus.Decision{
				Tenant: tenant, Skip: s, Reason: "first",
				Actor: "eve",
			}, []string{letters[i].ID})
			r.must(err)
		}
		r.eventually("both have ended", func() bool {
			now, err := r.bus.DeadLettersOf(t.Context(), tenant, []string{letters[0].ID, letters[1].ID})
			r.must(err)
			return now[0].Status >= bus.Applied && now[1].Status >= bus.Applied
		})
		r.work(redrive)
		if diff := cmp.Diff([]string{
			`ALREADY {"verdict":"WILL_APPLY","status":"APPLIED"}`,
			`REFUSED {"status":"SKIPPED","guard":"dead_letter_open"}`,
			`APPLIED {"verdict":"WILL_APPLY","status":"APPLIED"}`,
		}, r.items(redrive)); diff != "" {
			t.Errorf("redrive (-want +got):\n%s", diff)
		}
		r.work(skip)
		if diff := cmp.Diff([]string{
			`REFUSED {"status":"APPLIED","guard":"dead_letter_open"}`, `ALREADY {"status":"SKIPPED"}`,
			`REFUSED {"status":"APPLIED","guard":"dead_letter_open"}`,
		}, r.items(skip)); diff != "" {
			t.Errorf("skip (-want +got):\n%s", diff)
		}
	})
}

func TestTheSameItemsGiveTheSameResults(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		letters := r.deadLetter(r.event("stop", "a"), r.event("stop", "b"))
		r.mail.Fail(letters[1].Key)
		names := []string{letters[0].ID, letters[1].ID, "00000000-0000-7000-8000-000000000000"}
		b := &bulk.Bulk{
			ID: "00000000-0000-7000-8000-0000000000bb", Tenant: tenant, Spec: []byte(`{"filter":{}}`),
			StartedBy: "bob", CreatedAt: time.Now(),
		}
		first, err := r.kinds[Redrive].Do(t.Context(), b, names)
		r.must(err)
		r.mail.Recover(letters[1].Key)
		for range 2 {
			again, err := r.kinds[Redrive].Do(t.Context(), b, names)
			r.must(err)
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("(-first +again):\n%s", diff)
			}
		}
		if first[0].Outcome != bulk.Applied || first[1].Outcome != bulk.Failed || first[2].Outcome != bulk.Failed ||
			!strings.Contains(string(first[2].Detail), "DEAD_LETTER_NOT_FOUND") {
			t.Errorf("got %s", first)
		}
	})
}

// TestABulkWaitsForReadersThatAreAway is about decisions that nobody carries out.
func TestABulkWaitsForReadersThatAreAway(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		l := r.deadLetter(r.event("stop", "a"))[0]
		// it wakes no reader, and the one that runs does not look
		idle := bus.New(r.db, memory.New(), bus.Config{Instance: "p2"})
		kind := newKind(idle, false)
		kind.patience = 50 * time.Millisecond
		b := &bulk.Bulk{
			ID: "00000000-0000-7000-8000-0000000000bb", Tenant: tenant, Spec: []byte(`{"filter":{}}`),
			CreatedAt: time.Now(),
		}
		if _, err := kind.Do(t.Context(), b, []string{l.ID}); fault.KindOf(err) != fault.Unavailable {
			t.Fatalf("got %v", err)
		}
		kind.giveUp = 0
		results, err := kind.Do(t.Context(), b, []string{l.ID})
		r.must(err)
		if results[0].Outcome != bulk.Failed || !strings.Contains(string(results[0].Detail),
			`"status":"REDRIVING","code":"NOT_CARRIED_OUT"`) {
			t.Errorf("got %v %s", results[0].Outcome, results[0].Detail)
		}
	})
}
