package engine

import (
	"slices"
	"sync"
	"time"

	"renga.dev/renga/internal/fault"
)

// call is the requests of one caller. Its results are set and done is called
// after the commit that decided them is durable.
type call struct {
	reqs    []Request
	results []Result
	done    func()
}

// unitCall is a unit on its way through the loop.
type unitCall struct {
	unit    Unit
	results []Result
	err     error
	done    func()
}

// work is what one commit takes from the queue.
type work struct {
	calls  []*call // those of cancels first
	units  []*unitCall
	claims []*claim
	nudged map[lineKey]int
	due    []Head // executions with a deadline that may have come
	alone  bool   // a part of a commit that failed
}

func (w *work) empty() bool {
	return len(w.calls) == 0 && len(w.units) == 0 && len(w.claims) == 0 && len(w.due) == 0
}

// queue is where callers hand over to the loop. Cancels have a lane of their own
// with reserved room, and are taken first.
type queue struct {
	mu        sync.Mutex
	cancels   []*call
	calls     []*call
	units     []*unitCall
	claims    []*claim        // as many as there are claimers at most
	canceling int             // requests in cancels
	waiting   int             // requests in calls and units
	nudged    map[lineKey]int // tasks that others made ready, or may have
	closed    bool
	kick      chan struct{} // holds one token when there is something to take
}

var (
	errBusy = &fault.Error{
		Kind: fault.Unavailable, Code: "OVERLOADED", RetryAfter: time.Second,
		Message: "too many commands are waiting; nothing was done, repeat with the same key",
	}
	errRaced = &fault.Error{
		Kind: fault.Unavailable, Code: "STORAGE_BUSY", RetryAfter: time.Second,
		Message: "another process was at the same thing twice; nothing was done, repeat with the same key",
	}
	errLocked = &fault.Error{
		Kind: fault.Unavailable, Code: "STORAGE_BUSY", RetryAfter: time.Second,
		Message: "somebody else holds this execution in the database; nothing was done, repeat with the same key",
	}
	errClosed = &fault.Error{
		Kind: fault.Unavailable, Code: "SHUTTING_DOWN", RetryAfter: time.Second,
		Message: "this process is shutting down; nothing was done, repeat with the same key",
	}
)

// full says why n more cannot be taken, nil when they can.
func (q *queue) full(n, waiting, limit int) error {
	switch {
	case q.closed:
		return errClosed
	case waiting+n > limit:
		return errBusy
	}
	return nil
}

// What put… adds is seen by whoever has the engine's baton, or wake must follow.

func (q *queue) putCancels(c *call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.full(len(c.reqs), q.canceling, MaxCancelQueue); err != nil {
		return err
	}
	q.canceling += len(c.reqs)
	q.cancels = append(q.cancels, c)
	return nil
}

func (q *queue) put(c *call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.full(len(c.reqs), q.waiting, MaxQueue); err != nil {
		return err
	}
	q.waiting += len(c.reqs)
	q.calls = append(q.calls, c)
	return nil
}

func (q *queue) putUnit(u *unitCall) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.full(1+len(u.unit.Commands), q.waiting, MaxQueue); err != nil {
		return err
	}
	q.waiting += 1 + len(u.unit.Commands)
	q.units = append(q.units, u)
	return nil
}

func (q *queue) putClaim(c *claim) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errClosed
	}
	q.claims = append(q.claims, c)
	return nil
}

// putBack takes claims that were not served; they go before those that came since.
func (q *queue) putBack(claims []*claim) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.claims = slices.Concat(claims, q.claims)
	q.wake()
}

// nudge says that others may have made n tasks of a queue ready.
func (q *queue) nudge(key lineKey, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.nudged == nil {
		q.nudged = map[lineKey]int{}
	}
	if len(q.nudged) < maxLines {
		q.nudged[key] = min(q.nudged[key]+n, MaxClaimers)
	}
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.kick <- struct{}{}:
	default:
	}
}

// take gives the next batch: all cancels, then what fits.
func (q *queue) take() work {
	q.mu.Lock()
	defer q.mu.Unlock()
	var w work
	n := 0
	w.calls, q.cancels, q.canceling = q.cancels, nil, 0
	for _, c := range w.calls {
		n += len(c.reqs)
	}
	taken := 0
	for taken < len(q.calls) && n < MaxBatch {
		n += len(q.calls[taken].reqs)
		q.waiting -= len(q.calls[taken].reqs)
		taken++
	}
	w.calls = append(w.calls, q.calls[:taken]...)
	q.calls = rest(q.calls, taken)
	taken = 0
	for taken < len(q.units) && (n < MaxBatch || taken == 0) {
		n += 1 + len(q.units[taken].unit.Commands)
		q.waiting -= 1 + len(q.units[taken].unit.Commands)
		taken++
	}
	w.units, q.units = q.units[:taken:taken], rest(q.units, taken)
	w.claims, q.claims = q.claims, nil
	w.nudged, q.nudged = q.nudged, nil
	if len(q.calls) > 0 || len(q.units) > 0 {
		q.wake()
	}
	return w
}

// rest is what remains of s after its first n, nil when that is nothing, so that
// the memory of what was taken can go.
func rest[T any](s []T, n int) []T {
	if n == len(s) {
		return nil
	}
	return s[n:]
}

// close lets nobody in any more.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

// any reports whether something waits to be taken.
func (q *queue) any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.nudged) > 0 || len(q.cancels) > 0 || len(q.calls) > 0 || len(q.units) > 0 || len(q.claims) > 0
}
