package sqldb

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/fault"
)

// Lane is a queue of jobs. The engine's comes first.
type Lane uint8

// The lanes.
const (
	Engine Lane = iota // what executions wait for
	Other              // everything else: services, relay marks, keys, retention
	lanes
)

func (l Lane) String() string {
	if l == Engine {
		return "engine"
	}
	return "other"
}

// The states of a job.
const (
	waiting int32 = iota
	begun
	left // its caller went away before it began
)

// job is a piece of work on its way through the write loop.
type job struct {
	lane  Lane
	key   string          // for whom it is, see For
	ctx   context.Context // of this call; the loop hands it to fn and forgets it
	fn    func(context.Context, *Tx) error
	waits func() error // the end of the caller's context
	put   time.Time    // when it was put into the queue
	state atomic.Int32
	err   error
	after []func() // see Tx.OnCommit
	done  chan struct{}
}

// queue holds the jobs that wait, bounded per lane. In a lane tenants come in turn.
type queue struct {
	size int
	kick chan struct{} // holds one token when the loop shall look

	mu     sync.Mutex
	closed error // why nothing more is taken in
	lane   [lanes]fair.Line[*job]
	count  [lanes]atomic.Int64 // in each lane, to be read without mu
}

func newQueue(size int) *queue { return &queue{size: size, kick: make(chan struct{}, 1)} }

// put adds a job, or says why it cannot.
func (q *queue) put(j *job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := &q.lane[j.lane]
	switch {
	case q.closed != nil:
		return q.closed
	case j.lane == Other && j.key != "" && line.Of(j.key, 0) >= part(q.size):
		return crowded(q.size)
	case line.Len(0) >= q.size:
		return errQueueFull
	}
	line.Put(j.key, 0, j)
	q.count[j.lane].Add(1)
	return nil
}

// drop gives the place of a job back whose caller went away. One that was taken out meanwhile
// has none any more.
func (q *queue) drop(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lane[j.lane].Remove(j.key, 0, func(other *job) bool { return other == j }) {
		q.count[j.lane].Add(-1)
	}
}

var errQueueFull = unavailable("sqldb.write", codeBusy, "too many writes are waiting; try again", nil)

// part is how many of the other writes that may wait can be of one tenant: others find room
// however many one of them sends. The process itself has few writers, and may have all.
func part(queue int) int { return max(1, queue/2) }

// crowded refuses a tenant that has its part of a queue.
func crowded(queue int) error {
	err := fault.TooMuch(part(queue),
		"too many writes of this tenant are waiting; nothing was done, send fewer at a time and try again")
	err.Op = "sqldb.write"
	return err
}

// close refuses everything from now on; what waits still waits. The first reason stands.
func (q *queue) close(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = why
	}
}

// wake has the loop look.
func (q *queue) wake() {
	select {
	case q.kick <- struct{}{}:
	default:
	}
}

// any reports whether a job waits.
func (q *queue) any() bool { return q.more(Engine) || q.more(Other) }

// more reports whether a job of a lane waits.
func (q *queue) more(lane Lane) bool { return q.waiting(lane) > 0 }

// waiting is how many jobs of a lane wait.
func (q *queue) waiting(lane Lane) int { return int(q.count[lane].Load()) }

// next gives the job that a transaction runs next, nil when it should commit. A tenant whose
// jobs took long lately may begin a transaction, but joins none that others wait for.
func (q *queue) next(s share) *job {
	if !q.any() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		limit := int64(fair.Anybody)
		if s.jobs > 0 {
			limit = q.lane[Other].Now() + maxRun.Microseconds()
		}
		lane, ok := s.pick(q.lane[Engine].Len(0) > 0, q.lane[Other].Ready(0, limit))
		if !ok {
			return nil
		}
		if lane == Engine {
			limit = fair.Anybody
		}
		j, ok := q.lane[lane].Next(0, limit)
		if !ok { // pick has seen one
			return nil
		}
		q.count[lane].Add(-1)
		if j.state.CompareAndSwap(waiting, begun) {
			return j
		}
	}
}

// charge says how long a job of a tenant took. The process itself owes nobody anything.
func (q *queue) charge(j *job, took time.Duration) {
	if j.key == "" || j.lane == Engine {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lane[j.lane].Charge(j.key, took.Microseconds())
}

// The bounds of one transaction.
const (
	maxJobs    = 256                   // jobs that share a commit
	maxRun     = 20 * time.Millisecond // time of all jobs before the commit begins
	otherFloor = 2 * time.Millisecond  // time that the others have beside any engine job
	maxOwed    = 5 * maxRun            // what one lane may owe the other
)

// share is how a transaction divided its time so far.
type share struct {
	jobs int
	ran  [lanes]time.Duration
	owed time.Duration // to the others, from the transactions before; below 0: by them
	slow bool          // the last job of the engine took longer than a transaction should
}

// pick says which lane is next, or that it is time to commit. The engine goes
// first, but never over two thirds of the time while others wait; the others do
// not hold up the commit that an engine job waits for by more than half of that
// job's time, or the floor.
func (s share) pick(engine, other bool) (Lane, bool) {
	run, used := s.ran[Engine], s.ran[Other]-s.owed
	if s.jobs >= maxJobs || run+s.ran[Other] >= maxRun {
		return 0, false
	}
	room := run == 0 || used < max(run/2, otherFloor)
	switch {
	case other && room && (!engine || 2*used < run):
		return Other, true
	case engine && (!s.slow || s.ran[Other] == 0): // others do not wait for another one like the last
		return Engine, true
	}
	return 0, false
}

// next is the share that the transaction after this one begins with: what the
// others did not get of their third, or had beyond it, counts as long as they wait.
func (s share) next(other bool) share {
	if !other {
		return share{slow: s.slow}
	}
	return share{slow: s.slow, owed: min(max(s.owed+s.ran[Engine]/2-s.ran[Other], -maxOwed), maxOwed)}
}
