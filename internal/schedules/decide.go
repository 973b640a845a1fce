package schedules

import (
	"time"

	"renga.dev/renga/internal/platform/canonical"
)

// The bounds of one decision.
const (
	// MaxDue is how many due instants of a schedule one decision is about; the next one goes on behind them.
	MaxDue = 1000
	// MaxQueued is how many due instants of a schedule wait for its active execution to end.
	MaxQueued = 100
)

// How soon somebody looks again at a schedule with instants that wait for an active execution: a quarter of the time
// that it has been active, within these.
const (
	soonest = 100 * time.Millisecond
	latest  = 30 * time.Second
)

// facts is what a decision goes by.
type facts struct {
	timing
	overlap Overlap
	catchUp time.Duration
	paused  bool
	next    canonical.Stamp // the first due instant without an outcome; 0: none comes
	active  string          // the execution that was started last and has not ended; "": none
	since   canonical.Stamp // the start of that one
	queued  int             // instants that wait
	oldest  canonical.Stamp // the first of them
	filling int             // instants of backfills that wait
	fill    canonical.Stamp // the first of them
	now     canonical.Stamp
}

// decision is what becomes of the instants that are due.
type decision struct {
	runs    []Run // the outcomes, one row of the ledger each
	start   int   // the place in runs of the one that is started; -1: none
	waited  bool  // that one was queued
	cancels string
	next    canonical.Stamp
	queued  int
	filling int
	look    canonical.Stamp // when to look again; 0: never
}

// decide says what becomes of the instants that are due. At most one of them is started: what is started is active
// as far as the others are concerned.
func decide(f *facts) *decision {
	d := &decision{start: -1, next: f.next, queued: f.queued, filling: f.filling}
	d.unqueue(f)
	d.fire(f)
	d.backfill(f)
	d.look = f.lookAgain(d)
	return d
}

// unqueue starts the oldest of the instants that wait, when nothing is active any more.
func (d *decision) unqueue(f *facts) {
	if f.queued == 0 || f.active != "" || f.paused {
		return
	}
	d.begin(Run{DueAt: f.oldest, LastAt: f.oldest, Instants: 1, Origin: BySchedule})
	d.waited = true
	d.queued--
}

// backfill starts the oldest instant of a backfill, when nothing is active and the schedule has nothing to start
// itself.
func (d *decision) backfill(f *facts) {
	if f.filling == 0 || f.active != "" || d.start >= 0 || d.queued > 0 || f.paused {
		return
	}
	d.begin(Run{DueAt: f.fill, LastAt: f.fill, Instants: 1, Origin: ByBackfill})
	d.waited = true
	d.filling--
}

// fire gives every instant that is due an outcome. Those before the catch-up window are missed, and those of a paused
// schedule skipped, however late they are.
func (d *decision) fire(f *facts) {
	var due []canonical.Stamp
	if due, d.next = f.due(f.next, f.now, MaxDue); len(due) == 0 {
		return
	}
	if f.paused {
		d.several(due, Run{Outcome: Skipped, Reason: Paused})
		return
	}
	from := f.now - canonical.Stamp(f.catchUp.Milliseconds())
	late := 0
	for late < len(due) && due[late] < from {
		late++
	}
	d.several(due[:late], Run{Outcome: Missed})
	if due = due[late:]; len(due) == 0 {
		return
	}
	if f.overlap == Queue {
		d.queue(f, due)
		return
	}
	d.newest(f, due)
}

// newest starts the newest of the due instants, unless something is active and stays so. The others were due while
// nobody looked, and would have been ended by the next one anyway.
func (d *decision) newest(f *facts, due []canonical.Stamp) {
	blocked := d.start >= 0 || d.queued > 0 || f.active != "" && f.overlap != Cancel
	if blocked {
		d.several(due, Run{Outcome: Skipped, Reason: Overlapping, Overlapped: f.active})
		return
	}
	last := len(due) - 1
	if more := d.next > 0 && d.next <= f.now; more { // the newest is yet to come
		last++
	}
	d.several(due[:last], Run{Outcome: Skipped, Reason: Superseded})
	if last == len(due) {
		return
	}
	d.cancels = f.active
	d.begin(Run{DueAt: due[last], LastAt: due[last], Instants: 1, Overlapped: f.active})
}

// queue starts the first of the due instants when nothing is active and nothing waits, and lets the others wait as
// long as there is room.
func (d *decision) queue(f *facts, due []canonical.Stamp) {
	if f.active == "" && d.start < 0 && d.queued == 0 {
		d.begin(Run{DueAt: due[0], LastAt: due[0], Instants: 1})
		due = due[1:]
	}
	for len(due) > 0 && d.queued < MaxQueued {
		d.several(due[:1], Run{Outcome: Queued})
		d.queued++
		due = due[1:]
	}
	d.several(due, Run{Outcome: Skipped, Reason: QueueFull, Overlapped: f.active})
}

// begin adds the instant that is started.
func (d *decision) begin(r Run) {
	r.Outcome = Started
	d.start = len(d.runs)
	d.runs = append(d.runs, r)
}

// several adds one row for instants that follow each other.
func (d *decision) several(due []canonical.Stamp, r Run) {
	if len(due) == 0 {
		return
	}
	r.DueAt, r.LastAt, r.Instants = due[0], due[len(due)-1], int64(len(due))
	d.runs = append(d.runs, r)
}

// lookAgain is when somebody looks at the schedule again.
func (f *facts) lookAgain(d *decision) canonical.Stamp {
	if d.queued+d.filling == 0 || f.paused {
		return d.next
	}
	wait := soonest
	if f.active != "" && d.start < 0 {
		wait = min(max(time.Duration(f.now-f.since)*time.Millisecond/4, soonest), latest)
	}
	look := f.now + canonical.Stamp(wait.Milliseconds())
	if d.next > 0 {
		look = min(look, d.next)
	}
	return look
}
