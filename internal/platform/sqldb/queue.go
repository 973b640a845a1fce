package sqldb

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/fault"
)

// Priority says which jobs go first.
type Priority uint8

const (
	Engine Priority = iota // goes first; executions wait for it
	Other                  // services, relay marks, keys, retention
	priorities
)

func (l Priority) String() string {
	if l == Engine {
		return "engine"
	}
	return "other"
}

const (
	waiting int32 = iota
	begun
	left // the caller left before it began
)

// job is a write on its way through the loop.
type job struct {
	priority Priority
	key      string          // the tenant, see For
	ctx      context.Context // of this call
	fn       Func
	waits    func() error // error of the caller's context
	put      time.Time    // when it was queued
	state    atomic.Int32
	err      error
	after    []func() // see Tx.OnCommit
	done     chan struct{}
}

// queue holds the waiting jobs, bounded per priority. Tenants of a priority take turns.
type queue struct {
	size   int
	wakeup chan struct{} // holds a token to wake the loop

	mu       sync.Mutex
	closed   error // why jobs are refused
	priority [priorities]fair.Line[*job]
	count    [priorities]atomic.Int64 // by priority, readable without mu
}

func newQueue(size int) *queue { return &queue{size: size, wakeup: make(chan struct{}, 1)} }

func (q *queue) put(j *job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := &q.priority[j.priority]
	switch {
	case q.closed != nil:
		return q.closed
	case j.priority == Other && j.key != "" && line.Of(j.key, 0) >= part(q.size):
		return crowded(q.size)
	case line.Len(0) >= q.size:
		return errQueueFull
	}
	line.Put(j.key, 0, j)
	q.count[j.priority].Add(1)
	return nil
}

// drop removes a job whose caller left.
func (q *queue) drop(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.priority[j.priority].Remove(j.key, 0, func(other *job) bool { return other == j }) {
		q.count[j.priority].Add(-1)
	}
}

var errQueueFull = unavailable("sqldb.write", codeBusy, "too many writes are waiting; try again", nil)

// part is how many of the waiting writes can be of one tenant, so that others find room. The process itself may have
// all.
func part(queue int) int { return max(1, queue/2) }

func crowded(queue int) error {
	err := fault.TooMuch(part(queue),
		"too many writes of this tenant are waiting; nothing was done, send fewer at a time and try again")
	err.Op = "sqldb.write"
	return err
}

// close refuses new jobs; waiting ones stay. The first reason stands.
func (q *queue) close(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = why
	}
}

func (q *queue) wake() {
	select {
	case q.wakeup <- struct{}{}:
	default:
	}
}

func (q *queue) any() bool { return q.more(Engine) || q.more(Other) }

func (q *queue) more(priority Priority) bool { return q.waiting(priority) > 0 }

func (q *queue) waiting(priority Priority) int { return int(q.count[priority].Load()) }

// next returns the next job of a transaction; nil: commit. A tenant whose jobs took long lately may begin a
// transaction but does not join one that others wait for.
func (q *queue) next(s share) *job {
	if !q.any() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		limit := int64(fair.Anybody)
		if s.jobs > 0 {
			limit = q.priority[Other].Now() + maxRun.Microseconds()
		}
		priority, ok := s.pick(q.priority[Engine].Len(0) > 0, q.priority[Other].Ready(0, limit))
		if !ok {
			return nil
		}
		if priority == Engine {
			limit = fair.Anybody
		}
		j, ok := q.priority[priority].Next(0, limit)
		if !ok {
			return nil
		}
		q.count[priority].Add(-1)
		if j.state.CompareAndSwap(waiting, begun) {
			return j
		}
	}
}

// charge adds a job's time to its tenant's account. The process itself has none.
func (q *queue) charge(j *job, took time.Duration) {
	if j.key == "" || j.priority == Engine {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.priority[j.priority].Charge(j.key, took.Microseconds())
}

const (
	maxJobs    = 256                   // jobs that share a commit
	maxRun     = 20 * time.Millisecond // of all jobs before the commit
	otherFloor = 2 * time.Millisecond  // for the others beside any engine job
	maxOwed    = 5 * maxRun            // between the priorities
)

// share is how a transaction has divided its time.
type share struct {
	jobs int
	ran  [priorities]time.Duration
	owed time.Duration // to the others, from earlier transactions; negative: by them
	slow bool          // the last engine job took longer than maxRun
}

// pick chooses the next priority, or to commit. The engine goes first, with at most two thirds of the time while others
// wait; the others delay a commit that an engine job waits for by at most half of that job's time, or the floor.
func (s share) pick(engine, other bool) (Priority, bool) {
	run, used := s.ran[Engine], s.ran[Other]-s.owed
	if s.jobs >= maxJobs || run+s.ran[Other] >= maxRun {
		return 0, false
	}
	room := run == 0 || used < max(run/2, otherFloor)
	switch {
	case other && room && (!engine || 2*used < run):
		return Other, true
	case engine && (!s.slow || s.ran[Other] == 0): // others do not wait for another slow one
		return Engine, true
	}
	return 0, false
}

// next is the share that the next transaction begins with: what the others missed of their third, or had beyond it,
// counts while they wait.
func (s share) next(other bool) share {
	if !other {
		return share{slow: s.slow}
	}
	return share{slow: s.slow, owed: min(max(s.owed+s.ran[Engine]/2-s.ran[Other], -maxOwed), maxOwed)}
}
