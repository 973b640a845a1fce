package sqldb

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
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
	ctx   context.Context // of this call; the loop hands it to fn and forgets it
	fn    func(context.Context, *Tx) error
	state atomic.Int32
	err   error
	after []func() // see Tx.OnCommit
	done  chan struct{}
}

// queue holds the jobs that wait, bounded per lane.
type queue struct {
	mu     sync.RWMutex
	closed error // why nothing more is taken in
	lane   [lanes]chan *job
	kick   chan struct{} // holds one token when the loop shall look
}

func newQueue(size int) *queue {
	q := &queue{kick: make(chan struct{}, 1)}
	for i := range q.lane {
		q.lane[i] = make(chan *job, size)
	}
	return q
}

// put adds a job, or says why it cannot.
func (q *queue) put(j *job) error {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed != nil {
		return q.closed
	}
	select {
	case q.lane[j.lane] <- j:
		return nil
	default:
		return unavailable("sqldb.write", codeBusy, "too many writes are waiting; try again", nil)
	}
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
func (q *queue) more(lane Lane) bool { return len(q.lane[lane]) > 0 }

// next gives the job that a transaction runs next, nil when it should commit.
func (q *queue) next(s share) *job {
	for {
		lane, ok := s.pick(q.more(Engine), q.more(Other))
		if !ok {
			return nil
		}
		select {
		case j := <-q.lane[lane]:
			if j.state.CompareAndSwap(waiting, begun) {
				return j
			}
		default: // only who has the baton receives, so this cannot be; but never block
			return nil
		}
	}
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
	case engine:
		return Engine, true
	}
	return 0, false
}

// next is the share that the transaction after this one begins with: what the
// others did not get of their third, or had beyond it, counts as long as they wait.
func (s share) next(other bool) share {
	if !other {
		return share{}
	}
	return share{owed: min(max(s.owed+s.ran[Engine]/2-s.ran[Other], -maxOwed), maxOwed)}
}
