package schedules

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"renga.dev/renga/internal/platform/canonical"
)

// base is a Monday, at a whole hour.
var base = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// at is an instant so many minutes after base.
func at(minutes int) canonical.Stamp {
	return canonical.Stamp(base.Add(time.Duration(minutes) * time.Minute).UnixMilli())
}

// minutely are the facts of a schedule that comes every minute, as of some minutes after base.
func minutely(t testing.TB, next, now int, change func(*facts)) *facts {
	t.Helper()
	d := Definition{Cron: "* * * * *", Zone: "UTC", Nonexistent: Shift, Ambiguous: First}
	when, err := d.timing()
	if err != nil {
		t.Fatal(err)
	}
	f := &facts{timing: when, overlap: Skip, catchUp: time.Hour, next: at(next), now: at(now)}
	if change != nil {
		change(f)
	}
	return f
}

// row1 is a row about one instant, rowN one about several.
func row1(minute int, r Run) Run { return rowN(minute, minute, r) }

func rowN(first, last int, r Run) Run {
	r.DueAt, r.LastAt, r.Instants = at(first), at(last), int64(last-first+1)
	return r
}

func TestEachPolicyGivesDueInstantsTheirOutcomes(t *testing.T) {
	const x = "x"
	for _, tt := range []struct {
		name   string
		change func(*facts)
		want   []Run
	}{
		{
			"one is started", func(f *facts) { f.next = at(10) },
			[]Run{row1(10, Run{Outcome: Started})},
		},
		{
			"of several the newest is started", nil,
			[]Run{rowN(7, 9, Run{Outcome: Skipped, Reason: Superseded}), row1(10, Run{Outcome: Started})},
		},
		{
			"while one is active they are skipped", func(f *facts) { f.active = x },
			[]Run{rowN(7, 10, Run{Outcome: Skipped, Reason: Overlapping, Overlapped: x})},
		},
		{
			"the active one is cancelled", func(f *facts) { f.active, f.overlap = x, Cancel },
			[]Run{
				rowN(7, 9, Run{Outcome: Skipped, Reason: Superseded}),
				row1(10, Run{Outcome: Started, Overlapped: x}),
			},
		},
		{
			"the first is started and the others wait", func(f *facts) { f.overlap = Queue },
			[]Run{
				row1(7, Run{Outcome: Started}), row1(8, Run{Outcome: Queued}), row1(9, Run{Outcome: Queued}),
				row1(10, Run{Outcome: Queued}),
			},
		},
		{
			"the first that waits is started and the due ones wait",
			func(f *facts) { f.overlap, f.queued, f.oldest, f.next = Queue, 2, at(3), at(10) },
			[]Run{row1(3, Run{Outcome: Started}), row1(10, Run{Outcome: Queued})},
		},
		{
			"while one is active nothing that waits is started",
			func(f *facts) { f.overlap, f.queued, f.oldest, f.next, f.active = Queue, 2, at(3), at(10), x },
			[]Run{row1(10, Run{Outcome: Queued})},
		},
		{
			"a full queue takes no more",
			func(f *facts) { f.overlap, f.queued, f.oldest, f.active = Queue, MaxQueued-1, at(3), x },
			[]Run{
				row1(7, Run{Outcome: Queued}),
				rowN(8, 10, Run{Outcome: Skipped, Reason: QueueFull, Overlapped: x}),
			},
		},
		{
			"what is too late is missed", func(f *facts) { f.catchUp = time.Minute },
			[]Run{
				rowN(7, 8, Run{Outcome: Missed}), row1(9, Run{Outcome: Skipped, Reason: Superseded}),
				row1(10, Run{Outcome: Started}),
			},
		},
		{
			"a paused schedule skips, however late", func(f *facts) { f.catchUp, f.paused = time.Minute, true },
			[]Run{rowN(7, 10, Run{Outcome: Skipped, Reason: Paused})},
		},
		{
			"a paused schedule starts nothing that waits",
			func(f *facts) { f.overlap, f.paused, f.queued, f.oldest, f.next = Queue, true, 2, at(3), at(10) },
			[]Run{row1(10, Run{Outcome: Skipped, Reason: Paused})},
		},
		{
			"a backfill goes on when nothing is active",
			func(f *facts) { f.filling, f.fill, f.next = 3, at(-9), 0 },
			[]Run{row1(-9, Run{Outcome: Started, Origin: ByBackfill})},
		},
		{
			"the schedule's own instants go before a backfill",
			func(f *facts) { f.filling, f.fill, f.next = 3, at(-9), at(10) },
			[]Run{row1(10, Run{Outcome: Started})},
		},
		{
			"those that wait, too",
			func(f *facts) {
				f.overlap, f.queued, f.oldest, f.filling, f.fill, f.next = Queue, 1, at(3), 3, at(-9), 0
			},
			[]Run{row1(3, Run{Outcome: Started})},
		},
		{
			"a backfill waits for what is active",
			func(f *facts) { f.active, f.filling, f.fill, f.next = x, 3, at(-9), 0 },
			nil,
		},
		{
			"a backfill cancels nothing",
			func(f *facts) { f.overlap, f.active, f.filling, f.fill, f.next = Cancel, x, 3, at(-9), 0 },
			nil,
		},
		{
			"a backfill of a paused schedule waits",
			func(f *facts) { f.paused, f.filling, f.fill, f.next = true, 3, at(-9), 0 },
			nil,
		},
		{"a schedule that never comes again has none", func(f *facts) { f.next = 0 }, nil},
		{"before it is due there is none", func(f *facts) { f.next = at(11) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := decide(minutely(t, 7, 10, tt.change))
			if diff := cmp.Diff(tt.want, d.runs); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADecisionIsBounded(t *testing.T) {
	d := decide(minutely(t, 0, 3*MaxDue, func(f *facts) { f.catchUp = 1000 * time.Hour }))
	want := []Run{rowN(0, MaxDue-1, Run{Outcome: Skipped, Reason: Superseded})}
	if diff := cmp.Diff(want, d.runs); diff != "" || d.next != at(MaxDue) || d.look != d.next {
		t.Errorf("next %s, look %s, outcomes (-want +got):\n%s", d.next, d.look, diff)
	}
}

func TestWhoWaitsForAnExecutionLooksLessOftenTheLongerItRuns(t *testing.T) {
	for _, tt := range []struct {
		since int // minutes before now
		want  time.Duration
	}{{0, soonest}, {1, 15 * time.Second}, {600, latest}} {
		f := minutely(t, 0, 700, func(f *facts) {
			f.overlap, f.queued, f.oldest, f.active, f.next, f.since = Queue, 1, at(3), "x", 0, at(700-tt.since)
		})
		if got := decide(f).look; got != f.now+canonical.Stamp(tt.want.Milliseconds()) {
			t.Errorf("active for %d minutes: look %v later, want %v", tt.since,
				time.Duration(got-f.now)*time.Millisecond, tt.want)
		}
	}
}

// TestEveryDueInstantHasExactlyOneOutcome lets a schedule live through looks at any times, and holds its ledger
// against the instants that its cron line has.
func TestEveryDueInstantHasExactlyOneOutcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		life := newLife(t)
		for range rapid.IntRange(1, 40).Draw(t, "looks") {
			life.look(t)
		}
		life.settle(t)
	})
}

// life is a schedule, its ledger and its executions.
type life struct {
	*facts
	first  canonical.Stamp
	ledger map[canonical.Stamp]Run // by due instant; those of rows about several share it
	waits  []canonical.Stamp
}

func newLife(t *rapid.T) *life {
	d := Definition{
		Cron: rapid.SampledFrom([]string{"* * * * *", "*/7 * * * *", "0 3 * * *", "30 1,2 * * *", "15 */5 * * 1-5"}).
			Draw(t, "cron"),
		Zone: rapid.SampledFrom([]string{"UTC", "Asia/Tokyo", "America/New_York", "Australia/Lord_Howe"}).
			Draw(t, "zone"),
		Nonexistent: rapid.SampledFrom([]string{Shift, Omit}).Draw(t, "nonexistent"),
		Ambiguous:   rapid.SampledFrom([]string{First, Second, Both}).Draw(t, "ambiguous"),
		Overlap:     rapid.SampledFrom([]Overlap{Skip, Queue, Cancel}).Draw(t, "overlap"),
	}
	when, err := d.timing()
	if err != nil {
		t.Fatal(err)
	}
	now := canonical.Stamp(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).
		Add(time.Duration(rapid.IntRange(0, 300*24*60).Draw(t, "begin")) * time.Minute).UnixMilli())
	first := when.next(now)
	return &life{
		facts: &facts{
			timing: when, overlap: d.Overlap, next: first, now: now,
			catchUp: time.Duration(rapid.IntRange(1, 600).Draw(t, "catchUp")) * time.Minute,
		},
		first: first, ledger: map[canonical.Stamp]Run{},
	}
}

// look is one look some time later, before which the execution may have ended and the schedule may have been paused
// or resumed.
func (l *life) look(t *rapid.T) {
	l.now += canonical.Stamp(rapid.SampledFrom([]time.Duration{
		time.Second, time.Minute, 17 * time.Minute, 5 * time.Hour, 30 * time.Hour,
	}).Draw(t, "later").Milliseconds())
	if rapid.Bool().Draw(t, "ends") {
		l.active = ""
	}
	if rapid.IntRange(0, 9).Draw(t, "backfill") == 0 {
		l.filling, l.fill = l.filling+rapid.IntRange(1, 5).Draw(t, "instants"), l.first-1
	}
	l.decide(t)
	if l.next == 0 || l.next > l.now { // who pauses and resumes waits for this
		l.paused = rapid.IntRange(0, 9).Draw(t, "pause") == 0
	}
}

func (l *life) decide(t *rapid.T) {
	d := decide(l.facts)
	starts := 0
	for i, r := range d.runs {
		if r.Outcome == Started {
			starts++
		}
		l.check(t, d, i)
		l.enter(t, d, i)
	}
	if starts > 1 || d.start >= 0 != (starts == 1) || d.queued != len(l.waits) || d.queued > MaxQueued {
		t.Fatalf("%d starts, start %d, %d wait and %d should", starts, d.start, d.queued, len(l.waits))
	}
	if d.start >= 0 {
		l.active, l.since = "x", l.now
	}
	l.next, l.queued, l.filling = d.next, d.queued, d.filling
	if l.oldest = 0; len(l.waits) > 0 {
		l.oldest = l.waits[0]
	}
	if d.look != 0 && d.look > l.next && l.next > 0 {
		t.Fatalf("look at %s, after the next instant %s", d.look, l.next)
	}
}

// check holds a row against the policy.
func (l *life) check(t *rapid.T, d *decision, i int) {
	r := d.runs[i]
	late := l.now-r.DueAt > canonical.Stamp(l.catchUp.Milliseconds())
	switch r.Outcome {
	case Started:
		if l.paused || l.active != "" && l.overlap != Cancel || !d.waited && late {
			t.Fatalf("started %s at %s: paused %t, active %q", r.DueAt, l.now, l.paused, l.active)
		}
		if l.active != d.cancels {
			t.Fatalf("cancels %q, active is %q", d.cancels, l.active)
		}
	case Missed:
		if !late || l.paused {
			t.Fatalf("missed %s at %s", r.DueAt, l.now)
		}
	case Queued:
		if l.overlap != Queue {
			t.Fatalf("queued %s by %s", r.DueAt, l.overlap)
		}
	}
}

// enter puts a row into the ledger.
func (l *life) enter(t *rapid.T, d *decision, i int) {
	r := d.runs[i]
	if r.Origin == ByBackfill {
		if i != d.start || !d.waited || d.filling != l.filling-1 || len(l.waits) > 0 || l.active != "" {
			t.Fatalf("%+v of %d that wait is started, of the schedule %d", r, l.filling, len(l.waits))
		}
		return
	}
	if i == d.start && d.waited {
		if l.ledger[r.DueAt].Outcome != Queued || l.waits[0] != r.DueAt {
			t.Fatalf("%s waited, and the ledger has %+v", r.DueAt, l.ledger[r.DueAt])
		}
		l.ledger[r.DueAt], l.waits = r, l.waits[1:]
		return
	}
	n := int64(0)
	for due := r.DueAt; due > 0 && due <= r.LastAt; due = l.timing.next(due) {
		if was, there := l.ledger[due]; there {
			t.Fatalf("%s has a second outcome: %+v after %+v", due, r, was)
		}
		l.ledger[due] = r
		n++
	}
	if n != r.Instants {
		t.Fatalf("%+v is about %d instants", r, n)
	}
	if r.Outcome == Queued {
		l.waits = append(l.waits, r.DueAt)
	}
}

// settle decides until nothing is due, and compares the ledger with the instants of the cron line.
func (l *life) settle(t *rapid.T) {
	for l.next > 0 && l.next <= l.now {
		l.decide(t)
	}
	n := 0
	for due := l.first; due > 0 && due <= l.now; due = l.timing.next(due) {
		n++
		if _, there := l.ledger[due]; !there {
			t.Fatalf("%s has no outcome", due)
		}
	}
	if n != len(l.ledger) {
		t.Fatalf("%d instants were due and the ledger has %d", n, len(l.ledger))
	}
}
