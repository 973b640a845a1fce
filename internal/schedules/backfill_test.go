package schedules

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// fill asks for a backfill of the minutes from one after base on, before another.
func (r *rig) fill(id, key string, from, to int) (Backfill, error) {
	r.Helper()
	k, err := canonical.ParseIdempotencyKey(key, "POST /schedules/"+id+"/backfill", []byte("{}"))
	if err != nil {
		r.Fatal(err)
	}
	return r.Backfill(r.Context(), ann, id, Window{at(from), at(to)}, "it was away", &k)
}

func (r *rig) filled(id, key string, from, to int) Backfill {
	r.Helper()
	b, err := r.fill(id, key, from, to)
	if err != nil {
		r.Fatal(err)
	}
	return b
}

func TestABackfillStartsWhatHasNoExecutionOneAfterTheOther(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "daily", `{"graph":"work","cron":"*/10 * * * *"}`)
		r.later(10 * time.Minute) // 10 is started
		own := r.last("daily")
		r.later(11 * time.Minute) // 20 is skipped: that one is active
		want := Backfill{Window{at(-30), at(15)}, 5, 4, 1}
		if got := r.filled("daily", "k", -30, 15); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := r.filled("daily", "k", -30, 15); got != want {
			t.Errorf("the same again: got %+v", got)
		}
		if got := r.filled("daily", "l", -30, 21); got != (Backfill{Window{at(-30), at(21)}, 6, 1, 5}) {
			t.Errorf("what waits is left out, what was skipped is not: got %+v", got)
		}
		r.run()
		if got := r.last("daily"); got != own {
			t.Fatalf("%s was started while %s is active", got, own)
		}
		var started []string
		for range 5 {
			r.end(r.last("daily"))
			r.later(latest)
			started = append(started, r.last("daily"))
		}
		r.end(r.last("daily"))
		r.later(latest)
		var due []canonical.Stamp
		for _, run := range r.ledger("daily") {
			if run.Origin != ByBackfill {
				continue
			}
			if run.Outcome != Started || run.ExecutionID != started[len(due)] || run.Instants != 1 {
				t.Errorf("got %+v, want %s", run, started[len(due)])
			}
			due = append(due, run.DueAt)
		}
		if diff := cmp.Diff([]canonical.Stamp{at(-30), at(-20), at(-10), at(0), at(20)}, due); diff != "" {
			t.Errorf("backfilled (-want +got):\n%s", diff)
		}
		input := string(r.state(started[0]).Input)
		if !strings.Contains(input, `"dueAt":"2026-01-05T08:30:00.000Z"`) ||
			!strings.Contains(input, `"origin":"backfill"`) {
			t.Errorf("the input is %s", input)
		}
		if s, err := r.Get(t.Context(), tenantA, "daily"); err != nil || s.Queued != 0 {
			t.Errorf("got %+v %v", s, err)
		}
		if got := r.filled("daily", "m", -30, 21); got.Queued != 0 || got.Covered != 6 {
			t.Errorf("nothing is left: got %+v", got)
		}
	})
}

func TestWhatABackfillMayAskForIsBounded(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "m", `{"graph":"work","cron":"* * * * *","overlap":"queue"}`)
		for _, w := range [][2]int{{0, 0}, {5, 4}, {-5, 1}, {-MaxBackfill - 2, -1}} {
			if _, err := r.fill("m", "k", w[0], w[1]); fault.KindOf(err) != fault.Invalid {
				t.Errorf("from %d to %d: got %v, want it refused", w[0], w[1], err)
			}
		}
		if _, err := r.fill("none", "k", -5, -4); fault.KindOf(err) != fault.NotFound {
			t.Errorf("got %v", err)
		}
		if got := r.filled("m", "all", -MaxBackfill, 0); got.Queued != MaxBackfill {
			t.Errorf("got %+v", got)
		}
		if _, err := r.fill("m", "more", -2*MaxBackfill, -2*MaxBackfill+1); fault.KindOf(err) != fault.TooLarge {
			t.Errorf("got %v, want too many", err)
		}
		r.later(time.Minute) // 1 is started before them, although they wait longer
		if input := string(r.state(r.last("m")).Input); !strings.Contains(input, `"origin":"schedule"`) {
			t.Errorf("the first one started has the input %s", input)
		}
	})
}

func TestACancelledBackfillStartsNothingMore(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "m", `{"graph":"work","cron":"*/10 * * * *","overlap":"queue"}`)
		r.later(21 * time.Minute) // 10 is started, 20 waits
		r.filled("m", "k", -30, 0)
		for range 2 {
			if err := r.CancelBackfill(t.Context(), ann, "m"); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"SKIPPED CANCELED", "SKIPPED CANCELED", "SKIPPED CANCELED", "STARTED", "QUEUED"}
		if got := r.words("m"); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		r.end(r.last("m"))
		r.later(latest)
		if got := r.words("m"); got[4] != "STARTED" || got[0] != want[0] {
			t.Errorf("its own instant goes on: got %q", got)
		}
		if s, err := r.Get(t.Context(), tenantA, "m"); err != nil || s.Queued != 0 {
			t.Errorf("got %+v %v", s, err)
		}
		if got := r.filled("m", "again", -30, 0); got.Queued != 3 {
			t.Errorf("what was given up can be asked for again: got %+v", got)
		}
		if err := r.CancelBackfill(t.Context(), ann, "none"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("got %v", err)
		}
	})
}

func TestWhatABackfillLeftIsGivenUpWithItsScheduleOnly(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "m", `{"graph":"work","cron":"* * * * *","overlap":"queue"}`)
		r.later(2 * time.Minute)
		r.filled("m", "k", -3, 0)
		r.put(tenantA, "m", `{"graph":"work","cron":"* * * * *","overlap":"skip"}`)
		if s, err := r.Get(t.Context(), tenantA, "m"); err != nil || s.Queued != 3 {
			t.Errorf("after another policy: got %+v %v", s, err)
		}
		if err := r.Delete(t.Context(), ann, "m"); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"SKIPPED DELETED", "SKIPPED DELETED", "SKIPPED DELETED", "SKIPPED SUPERSEDED", "STARTED",
		}
		if got := r.words("m"); !slices.Equal(got[:3], want[:3]) {
			t.Errorf("got %q", got)
		}
		r.put(tenantA, "m", `{"graph":"work","cron":"* * * * *"}`)
		if got := r.filled("m", "again", -3, 0); got.Queued != 3 {
			t.Errorf("what was given up can be asked for again: got %+v", got)
		}
	})
}
