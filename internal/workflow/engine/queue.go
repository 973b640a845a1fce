package engine

import (
	"sync"
	"time"

	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// call is the requests of one caller. Its results are set and done is called
// after the commit that decided them is durable.
type call struct {
	reqs    []Request
	results []Result
	decided int       // how many of them are decided, and durable
	cancels bool      // they are cancels alone
	since   time.Time // it waits
	done    func()
}

// left is how many requests are not decided yet.
func (c *call) left() int { return len(c.reqs) - c.decided }

// tenant is whose requests they are.
func (c *call) tenant() string { return c.reqs[0].Tenant }

// unitCall is a unit on its way through the loop.
type unitCall struct {
	unit    Unit
	since   time.Time // it waits
	results []Result
	err     error
	done    func()
}

// tenant is whose unit it is; "" when it has no commands.
func (u *unitCall) tenant() string {
	if len(u.unit.Commands) == 0 {
		return ""
	}
	return u.unit.Commands[0].Tenant
}

func (u *unitCall) count() int { return 1 + len(u.unit.Commands) }

// work is what one commit gets from the queue.
type work struct {
	calls  []*call // those of cancels first
	units  []*unitCall
	claims []*claim
	woken  map[queueKey]int
	due    []Head // executions with a deadline that may have come
	alone  bool   // a part of a commit that failed
	late   struct {
		calls []*call
		units []*unitCall
	} // that waited too long
	charged map[string]int64 // to tenants, until it is known what it cost
	limit   int64            // who has cost more than this is not in it
}

func (w *work) empty() bool {
	return len(w.calls) == 0 && len(w.units) == 0 && len(w.claims) == 0 && len(w.due) == 0 && len(w.late.calls) == 0 &&
		len(w.late.units) == 0
}

// The kinds of what waits in the queue.
const (
	ofCancels = iota
	ofCalls   // and units
	ofClaims
)

// item is what waits for a commit: one of these.
type item struct {
	call  *call
	unit  *unitCall
	claim *claim
}

// place is where an item waits: in the queue of its tenant, by kind.
func (i item) place() (tenant string, kind int) {
	switch {
	case i.claim != nil:
		return i.claim.req.Tenant, ofClaims
	case i.unit != nil:
		return i.unit.tenant(), ofCalls
	case i.call.cancels:
		return i.call.tenant(), ofCancels
	}
	return i.call.tenant(), ofCalls
}

// queue is where callers hand requests to the loop. Tenants take turns, by what they cost. Of those whose turn it is
// cancels come first; they have room of their own.
type queue struct {
	clock     Clock
	mu        sync.Mutex
	line      fair.Line[item]
	canceling map[string]int   // requests of cancels of each tenant
	waiting   int              // other requests
	of        map[string]int   // of them of each tenant
	woken     map[queueKey]int // tasks that other processes made ready, or may have
	due       map[flow.ID]Head // executions that other engines handed over
	closed    bool
	wakeup    chan struct{} // holds one token when there is something in the queue
}

var (
	errBusy = &fault.Error{
		Kind: fault.Unavailable, Code: "OVERLOADED", RetryAfter: time.Second,
		Message: "too many commands are waiting; nothing was done, repeat with the same key",
	}
	errCrowded = fault.TooMuch(MaxTenantQueue,
		"too many commands of this tenant are waiting; nothing was done, send fewer at a time and repeat with the "+
			"same key")
	errCancels = fault.TooMuch(MaxCancelQueue,
		"too many cancels of this tenant are waiting; nothing was done, send fewer at a time and repeat with the "+
			"same key")
	errLate = &fault.Error{
		Kind: fault.Unavailable, Code: "OVERLOADED", RetryAfter: time.Second,
		Message: "the command waited too long for its turn; nothing was done, repeat with the same key",
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

// full says why n more cannot be accepted, nil when they can.
func (q *queue) full(n, waiting, limit int) error {
	switch {
	case q.closed:
		return errClosed
	case waiting+n > limit:
		return errBusy
	}
	return nil
}

// crowded refuses a tenant that has its part of the queue, so that others find room.
func (q *queue) crowded(tenant string, n int) error {
	if q.of[tenant] > 0 && q.of[tenant]+n > MaxTenantQueue {
		return errCrowded
	}
	return q.full(n, q.waiting, MaxQueue)
}

// note counts other requests than cancels in or out.
func (q *queue) note(tenant string, n int) {
	if q.of == nil {
		q.of = map[string]int{}
	}
	q.waiting += n
	if q.of[tenant] += n; q.of[tenant] == 0 {
		delete(q.of, tenant)
	}
}

// noteCancels counts cancels in or out.
func (q *queue) noteCancels(tenant string, n int) {
	if q.canceling == nil {
		q.canceling = map[string]int{}
	}
	if q.canceling[tenant] += n; q.canceling[tenant] == 0 {
		delete(q.canceling, tenant)
	}
}

// What put… adds is seen by the holder of the engine's baton, or wake must follow.

func (q *queue) putCancels(c *call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if waiting := q.canceling[c.tenant()]; waiting > 0 && waiting+c.left() > MaxCancelQueue {
		return errCancels
	}
	if q.closed {
		return errClosed
	}
	q.noteCancels(c.tenant(), c.left())
	c.cancels = true
	q.line.Put(c.tenant(), ofCancels, item{call: c})
	return nil
}

func (q *queue) put(c *call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.crowded(c.tenant(), c.left()); err != nil {
		return err
	}
	if c.since.IsZero() {
		c.since = q.clock.Now()
	}
	q.note(c.tenant(), c.left())
	q.line.Put(c.tenant(), ofCalls, item{call: c})
	return nil
}

func (q *queue) putUnit(u *unitCall) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.crowded(u.tenant(), u.count()); err != nil {
		return err
	}
	if u.since.IsZero() {
		u.since = q.clock.Now()
	}
	q.note(u.tenant(), u.count())
	q.line.Put(u.tenant(), ofCalls, item{unit: u})
	return nil
}

func (q *queue) putClaim(c *claim) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errClosed
	}
	q.line.Put(c.req.Tenant, ofClaims, item{claim: c})
	return nil
}

// putBack returns claims that were not served; they go before those that came since.
func (q *queue) putBack(claims []*claim) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := make([]item, len(claims))
	for i, c := range claims {
		left[i].claim = c
	}
	q.line.PutBack(left, item.place)
	q.wake()
}

// wakeClaims says that other processes may have made n tasks of a queue ready.
func (q *queue) wakeClaims(key queueKey, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.woken == nil {
		q.woken = map[queueKey]int{}
	}
	if len(q.woken) < maxTaskQueues {
		q.woken[key] = min(q.woken[key]+n, MaxClaimers)
	}
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.wakeup <- struct{}{}:
	default:
	}
}

// next gives the next batch: what fits of the cancels into its first half, what fits of the other commands, and the
// claims, of the tenants who have cost least. A tenant that cost much lately is in no batch that others wait for, until
// they have cost as much.
func (q *queue) next() work {
	q.mu.Lock()
	defer q.mu.Unlock()
	limit := q.line.Head()
	if limit < fair.Anybody {
		limit += maxAhead
	}
	var w work
	n, now := 0, q.clock.Now()
	for n < MaxBatch/2 {
		it, ok := q.line.Next(ofCancels, limit)
		if !ok {
			break
		}
		n += it.call.left()
		q.noteCancels(it.call.tenant(), -it.call.left())
		w.calls = append(w.calls, it.call)
	}
	for n < MaxBatch || len(w.calls) == 0 && len(w.units) == 0 {
		it, ok := q.line.Next(ofCalls, limit)
		if !ok {
			break
		}
		n += q.nextOne(&w, it, now)
	}
	for it, ok := q.line.Next(ofClaims, limit); ok; it, ok = q.line.Next(ofClaims, limit) {
		w.claims = append(w.claims, it.claim)
	}
	w.limit = limit
	w.woken, q.woken = q.woken, nil
	if q.some() {
		q.wake()
	}
	return w
}

// nextOne adds a call or a unit to a batch and gives how many requests that are. One that has
// waited for longer than its caller did is not decided.
func (q *queue) nextOne(w *work, it item, now time.Time) int {
	if u := it.unit; u != nil {
		q.note(u.tenant(), -u.count())
		if now.Sub(u.since) > maxQueued {
			w.late.units = append(w.late.units, u)
			return 0
		}
		q.charge(w, u.tenant(), u.count())
		w.units = append(w.units, u)
		return u.count()
	}
	c := it.call
	q.note(c.tenant(), -c.left())
	if now.Sub(c.since) > maxQueued {
		w.late.calls = append(w.late.calls, c)
		return 0
	}
	q.charge(w, c.tenant(), c.left())
	w.calls = append(w.calls, c)
	return c.left()
}

// rest is what remains of s after its first n, nil when that is nothing, so that
// the memory of what was dequeued can go.
func rest[T any](s []T, n int) []T {
	if n == len(s) {
		return nil
	}
	return s[n:]
}

// close refuses everything from now on.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

// any reports whether something waits.
func (q *queue) any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.woken) > 0 || q.some()
}

func (q *queue) some() bool { return q.line.Head() < fair.Anybody }
