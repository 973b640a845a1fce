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

func (c *call) left() int { return len(c.reqs) - c.decided }

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

// work is what one commit gets from the queue.
type work struct {
	calls   []*call // those of cancels first
	units   []*unitCall
	claims  []*claim
	woken   map[queueKey]int
	due     []Head           // executions with a deadline that may have come
	late    []item           // that waited too long
	alone   bool             // a part of a commit that failed
	charged map[string]int64 // to tenants, until it is known what it cost
	limit   int64            // who has cost more than this is not in it
}

func (w *work) empty() bool {
	return len(w.calls)+len(w.units)+len(w.claims)+len(w.due)+len(w.late) == 0
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

// count is how many requests a call or a unit still has.
func (i item) count() int {
	if i.unit != nil {
		return 1 + len(i.unit.unit.Commands)
	}
	return i.call.left()
}

// since is since when a call or a unit waits.
func (i item) since() *time.Time {
	if i.unit != nil {
		return &i.unit.since
	}
	return &i.call.since
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
	errBusy    = fault.Overloaded("too many commands are waiting; nothing was done, repeat with the same key")
	errCrowded = fault.TooMuch(MaxTenantQueue,
		"too many commands of this tenant are waiting; nothing was done, send fewer at a time and repeat with the "+
			"same key")
	errCancels = fault.TooMuch(MaxCancelQueue,
		"too many cancels of this tenant are waiting; nothing was done, send fewer at a time and repeat with the "+
			"same key")
	errLate  = fault.Overloaded("the command waited too long for its turn; nothing was done, repeat with the same key")
	errRaced = unavailable("STORAGE_BUSY",
		"another process was at the same thing twice; nothing was done, repeat with the same key")
	errLocked = unavailable("STORAGE_BUSY",
		"somebody else holds this execution in the database; nothing was done, repeat with the same key")
	errClosed = unavailable("SHUTTING_DOWN",
		"this process is shutting down; nothing was done, repeat with the same key")
	errCold = fault.Overloaded(
		"the graph is large and still being prepared; nothing was done, repeat with the same key")
	errLong = fault.Overloaded(
		"the execution is large and still being read; nothing was done, repeat with the same key")
	errGone = unavailable("TIMEOUT",
		"the answer did not come in time; repeat with the same key to learn the outcome")
)

func unavailable(code, message string) *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Code: code, RetryAfter: time.Second, Message: message}
}

// refuse says why an item cannot be accepted, nil when it can. A tenant has its part of the queue,
// so that others find room; cancels have room of their own.
func (q *queue) refuse(it item) error {
	tenant, kind := it.place()
	if q.closed {
		return errClosed
	}
	if kind == ofClaims {
		return nil
	}
	n := it.count()
	if kind == ofCancels {
		if own := q.canceling[tenant]; own > 0 && own+n > MaxCancelQueue {
			return errCancels
		}
		return nil
	}
	switch own := q.of[tenant]; {
	case own > 0 && own+n > MaxTenantQueue:
		return errCrowded
	case q.waiting+n > MaxQueue:
		return errBusy
	}
	return nil
}

// note counts the requests of an item in (1) or out (-1).
func (q *queue) note(it item, sign int) {
	tenant, kind := it.place()
	if kind == ofClaims {
		return
	}
	n := sign * it.count()
	own := &q.canceling
	if kind == ofCalls {
		q.waiting += n
		own = &q.of
	}
	if *own == nil {
		*own = map[string]int{}
	}
	if (*own)[tenant] += n; (*own)[tenant] == 0 {
		delete(*own, tenant)
	}
}

// put adds an item. It is seen by the holder of the engine's baton, or wake must follow.
func (q *queue) put(it item) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.refuse(it); err != nil {
		return err
	}
	tenant, kind := it.place()
	if kind == ofCalls && it.since().IsZero() {
		*it.since() = q.clock.Now()
	}
	q.note(it, 1)
	q.line.Put(tenant, kind, it)
	return nil
}

// putBack returns what was not served; it goes before what came since.
func (q *queue) putBack(left []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, it := range left {
		q.note(it, 1)
	}
	q.line.PutBack(left, item.place)
	q.wake()
}

// itemsOf are the items of claims.
func itemsOf(claims []*claim) []item {
	items := make([]item, len(claims))
	for i, c := range claims {
		items[i].claim = c
	}
	return items
}

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

// next gives the next batch: what fits of the cancels into its first half, of the other commands, and the claims, of
// the tenants who have cost least. A tenant that cost much lately is in no batch that others wait for.
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
		n += it.count()
		q.note(it, -1)
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
	q.note(it, -1)
	if now.Sub(*it.since()) > maxQueued {
		w.late = append(w.late, it)
		return 0
	}
	tenant, _ := it.place()
	q.charge(w, tenant, it.count())
	w.add(it)
	return it.count()
}

// add adds a call or a unit.
func (w *work) add(it item) {
	if it.unit != nil {
		w.units = append(w.units, it.unit)
	} else {
		w.calls = append(w.calls, it.call)
	}
}

// rest is what remains of s after its first n, nil when that is nothing, so that
// the memory of what was dequeued can go.
func rest[T any](s []T, n int) []T {
	if n == len(s) {
		return nil
	}
	return s[n:]
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

func (q *queue) any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.woken) > 0 || q.some()
}

func (q *queue) some() bool { return q.line.Head() < fair.Anybody }
