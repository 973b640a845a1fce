package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

type queueKey struct{ tenant, queue string }

// taskQueue is what the loop knows of a task queue: the oldest ready tasks, with more in the store, and the claims that
// wait.
type taskQueue struct {
	rows    []ReadyRow
	more    bool
	waiters []*claim
}

// taskQueues are the task queues of an engine, with what the loop knows of each. Whoever has the baton uses them.
type taskQueues struct {
	all       map[queueKey]*taskQueue
	commands  *queue
	clock     Clock
	exclusive bool
	announce  func(tenant, queue string, n int) // nil: nobody listens
	nextPoll  time.Time                         // when to look for tasks that other processes made ready
}

const maxTaskQueues = 10_000

func (ts *taskQueues) of(key queueKey) *taskQueue {
	l := ts.all[key]
	if l == nil {
		if len(ts.all) >= maxTaskQueues {
			ts.reset()
		}
		l = &taskQueue{more: true}
		ts.all[key] = l
	}
	return l
}

// reset drops what is known of ready tasks; waiting claims stay.
func (ts *taskQueues) reset() {
	for key, l := range ts.all {
		l.rows, l.more = nil, true
		l.prune()
		if len(l.waiters) == 0 {
			delete(ts.all, key)
		}
	}
}

func (l *taskQueue) prune() {
	l.waiters = slices.DeleteFunc(l.waiters, func(c *claim) bool { return !c.isOpen() })
}

// drop drops tasks that nobody will start: to find that out, a claim would have to read their executions.
func (ts *taskQueues) drop(rows []ReadyRow) {
	gone := map[queueKey]map[ReadyRow]bool{}
	for _, r := range rows {
		key := queueKey{r.Tenant, r.Queue}
		if l := ts.all[key]; l == nil || len(l.rows) == 0 {
			continue
		}
		if gone[key] == nil {
			gone[key] = map[ReadyRow]bool{}
		}
		gone[key][r] = true
	}
	for key, rows := range gone {
		l := ts.all[key]
		l.rows = slices.DeleteFunc(l.rows, func(r ReadyRow) bool { return rows[r] })
	}
}

func (ts *taskQueues) noteReady(tasks []readyTask) {
	for _, t := range tasks {
		if t.ent == nil {
			continue
		}
		l := ts.all[queueKey{t.row.Tenant, t.row.Queue}]
		switch {
		case l == nil || l.more || !ts.exclusive:
		case len(l.rows) < MaxWindow:
			l.add(t.row)
		default:
			l.more = true
		}
	}
}

// add puts a row in its place in the order of the queue, which mostly is the end.
func (l *taskQueue) add(row ReadyRow) {
	i := len(l.rows)
	for i > 0 && CompareReady(row, l.rows[i-1]) < 0 {
		i--
	}
	l.rows = slices.Insert(l.rows, i, row)
}

// CompareReady orders the tasks of a tenant by their queues, and those of a queue by age.
func CompareReady(a, b ReadyRow) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.At, b.At),
		cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.Node, b.Node))
}

// wait makes a claim that found nothing wait in its queues.
func (ts *taskQueues) wait(c *claim) {
	for _, q := range c.req.Queues {
		l := ts.of(queueKey{c.req.Tenant, q})
		if len(l.waiters) >= 64 {
			l.prune()
		}
		if !slices.Contains(l.waiters, c) { // it may have been requeued from another queue
			l.enqueue(c)
		}
	}
}

func (ts *taskQueues) unwait(c *claim) {
	for _, q := range c.req.Queues {
		if l := ts.all[queueKey{c.req.Tenant, q}]; l != nil {
			l.waiters = slices.DeleteFunc(l.waiters, func(other *claim) bool { return other == c })
		}
	}
}

// enqueue puts a claim in its place among those that wait, which is the end unless it waited before.
func (l *taskQueue) enqueue(c *claim) {
	i := len(l.waiters)
	for i > 0 && c.since.Before(l.waiters[i-1].since) {
		i--
	}
	l.waiters = slices.Insert(l.waiters, i, c)
}

// requeueWaiters lets waiting claims claim anew where a commit did not serve them: it was full, or it came after one
// that failed. One of them may have caused that, so they are not served in the commits of others until tried alone.
func (ts *taskQueues) requeueWaiters(tasks []readyTask) {
	for _, t := range tasks {
		l := ts.all[queueKey{t.row.Tenant, t.row.Queue}]
		if t.ent == nil || l == nil || len(l.waiters) == 0 {
			continue
		}
		l.prune()
		ts.commands.putBack(itemsOf(l.waiters))
		l.waiters = nil
	}
}

func (ts *taskQueues) releaseClaims() {
	for _, l := range ts.all {
		for _, c := range l.waiters {
			if c.reserve() {
				c.finish(nil)
			}
		}
		l.waiters = nil
	}
}

// WakeClaims says that n tasks of a queue became ready elsewhere: as many of the claims that wait for it here claim
// anew.
func (e *Engine) WakeClaims(tenant, queue string, n int) {
	e.q.wakeClaims(queueKey{tenant, queue}, n)
}

// pollWaiters adds the claims that wait in woken queues to what the next commit does. Every maxIdle one of each queue
// polls by itself: wakeups can be lost.
func (ts *taskQueues) pollWaiters(w *work) {
	now := ts.clock.Now()
	if asks := ts.nextPoll.Sub(now); !ts.exclusive && (asks <= 0 || asks > maxIdle) {
		ts.nextPoll = now.Add(maxIdle)
		for key, l := range ts.all {
			if len(l.waiters) > 0 {
				if w.woken == nil {
					w.woken = map[queueKey]int{}
				}
				w.woken[key] = max(w.woken[key], 1)
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.woken), compareQueues) {
		l := ts.all[key]
		if l == nil {
			continue
		}
		l.prune()
		n := min(len(l.waiters), w.woken[key])
		w.claims = append(w.claims, l.waiters[:n]...)
		l.waiters = rest(l.waiters, n)
	}
}

func compareQueues(a, b queueKey) int {
	return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.queue, b.queue))
}

// publish calls Announce for tasks that no claim of this engine got.
func (ts *taskQueues) publish(tasks []readyTask) {
	if ts.announce == nil {
		return
	}
	counts := map[queueKey]int{}
	for _, t := range tasks {
		if t.ent != nil {
			counts[queueKey{t.row.Tenant, t.row.Queue}]++
		}
	}
	for key, n := range counts {
		ts.announce(key.tenant, key.queue, n)
	}
}
