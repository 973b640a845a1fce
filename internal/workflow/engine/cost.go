package engine

import (
	"slices"
	"time"
)

// What commands cost, in microseconds of the time that all tenants wait for a commit.
const (
	usualCost = 20                                 // of a command, until it is known what it cost
	eventCost = 2                                  // to write an event, later than it is decided
	readyCost = 8                                  // to write or delete the row of a ready task, likewise
	openCost  = 35                                 // to write the rows of an execution, likewise
	maxAhead  = int64(MaxSlice / time.Microsecond) // by which tenants of one commit may differ in cost
)

// maxQueued is how long a command may wait for its turn: after that its caller has given up. Cancels wait for as long
// as it takes.
const maxQueued = 10 * time.Second

// spent is what a commit has cost so far. The clock of a simulation stands still meanwhile, so
// there it depends on the events alone.
func (b *batch) spent() time.Duration {
	later := b.events*eventCost + b.rows*readyCost + b.opened*openCost
	return b.e.clock.Now().Sub(b.began) + time.Duration(later)*time.Microsecond
}

func (b *batch) pay(tenant string, do func() error) error {
	before := b.spent()
	err := do()
	b.bill[tenant] += b.spent() - before
	return err
}

// settle charges tenants with what their part of a batch has cost.
func (q *queue) settle(w *work, bill map[string]time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for tenant, spent := range bill {
		q.line.Charge(tenant, spent.Microseconds()-w.charged[tenant])
		delete(w.charged, tenant) // a batch that failed is billed again
	}
}

func (q *queue) charge(w *work, tenant string, requests int) {
	if w.charged == nil {
		w.charged = map[string]int64{}
	}
	w.charged[tenant] += int64(requests) * usualCost
	q.line.Charge(tenant, int64(requests)*usualCost)
}

func (w *work) refuseLate() {
	var late work
	for _, it := range w.late {
		late.add(it)
	}
	late.fail(errLate)
	late.done()
	w.late = nil
}

// postpone leaves deadlines of tenants that cost much lately out of a batch that others wait
// for; they are still due.
func (e *Engine) postpone(w *work) {
	if len(w.due) == 0 || len(w.calls)+len(w.units)+len(w.claims) == 0 {
		return
	}
	e.q.mu.Lock()
	defer e.q.mu.Unlock()
	var later []Head
	w.due = slices.DeleteFunc(w.due, func(h Head) bool {
		dear := e.q.line.Cost(h.Tenant) > w.limit
		if dear {
			later = append(later, h)
		}
		return dear
	})
	if len(later) > 0 {
		e.deadlines.putBack(later)
	}
}
