package engine

import (
	"errors"
	"slices"
	"time"
)

// MaxSlice is the time after which a commit begins nothing more: no further command of the
// tenants that had their part of it, no further unit, no deadline of another execution. What
// is left waits for the next commit. One of each is always done, and one command of every
// tenant that waits, so no costly tenant holds up others, and everything ends.
const MaxSlice = 20 * time.Millisecond

// fetchAhead is how many executions are read at a time for a commit where that is a trip to
// the database: it may turn out that there is no time for more.
const fetchAhead = 128

// ahead is how many executions are read at a time.
func (b *batch) ahead() int {
	if b.e.cfg.Exclusive {
		return 1 // to read several takes as long as to read one after the other
	}
	return fetchAhead
}

// timeSlice is how the time of a commit is divided between tenants.
type timeSlice struct {
	part time.Duration            // of each of them
	ran  map[string]time.Duration // that their commands have taken
	upto []int                    // of each call of the commit, how many requests are decided
	read place                    // the first request whose execution was not read yet
	due  int                      // how many executions were looked at for deadlines
}

// sliced runs the parts of a batch that are divided between tenants: their commands, units and deadlines.
type sliced struct{ *batch }

func (sl sliced) newSlice(w *work) {
	tenants := map[string]bool{}
	for _, c := range w.calls {
		tenants[c.tenant()] = true
	}
	sl.slice = timeSlice{
		part: MaxSlice / time.Duration(max(len(tenants), 1)),
		ran:  make(map[string]time.Duration, len(tenants)), upto: make([]int, len(w.calls)),
	}
	for k, c := range w.calls {
		sl.slice.upto[k] = c.decided
	}
}

// calls decides the requests of all calls, as far as the parts of their tenants go.
func (sl sliced) calls(w *work) error {
	for k, c := range w.calls {
		tenant := c.tenant()
		for i := c.decided; i < len(c.reqs) && sl.slice.ran[tenant] < sl.slice.part; i++ {
			if !sl.slice.read.after(k, i) {
				if err := sl.fetchFrom(w, k, i); err != nil {
					return err
				}
			}
			before := sl.bill[tenant]
			err := sl.pay(tenant, func() error {
				ans, err := sl.run(&c.reqs[i])
				if abortsCommit(err) {
					return err
				}
				c.results[i], sl.slice.upto[k] = Result{Answer: ans, Err: err}, i+1
				return nil
			})
			if err != nil {
				return err
			}
			sl.slice.ran[tenant] += sl.bill[tenant] - before
			if errors.Is(c.results[i].Err, errCold) {
				c.leaveFrom(i, &sl.slice.upto[k])
				break
			}
		}
	}
	return nil
}

// leaveFrom leaves all requests of a call from one on to its caller, which compiles a graph and sends them again: none
// may overtake that one.
func (c *call) leaveFrom(i int, upto *int) {
	for k := i + 1; k < len(c.reqs); k++ {
		c.results[k] = c.results[i]
	}
	*upto = len(c.reqs)
}

// place is a request of a call.
type place struct{ call, req int }

func (p place) after(call, req int) bool { return p.call > call || p.call == call && p.req > req }

// fetchFrom reads the executions of some requests, from one on.
func (sl sliced) fetchFrom(w *work, call, req int) error {
	var wants []Want
	at := place{call, req}
	for ; at.call < len(w.calls); at = (place{at.call + 1, 0}) {
		c := w.calls[at.call]
		for at.req = max(at.req, c.decided); at.req < len(c.reqs) && len(wants) < sl.ahead(); at.req++ {
			wants = sl.want(wants, c.reqs[at.req].Tenant, c.reqs[at.req].Execution)
		}
		if len(wants) == sl.ahead() {
			break
		}
	}
	sl.slice.read = at
	return sl.fetch(wants)
}

// units runs callers' units, at least one.
func (sl sliced) units(w *work) error {
	began := sl.e.clock.Now()
	for i, u := range w.units {
		if i > 0 && sl.e.clock.Now().Sub(began) >= MaxSlice {
			sl.leftUnits = w.units[i:]
			break
		}
		if err := sl.pay(u.tenant(), func() error { return sl.unit(u) }); err != nil {
			return err
		}
	}
	return nil
}

// deadlines fires what is due, of at least one execution.
func (sl sliced) deadlines(w *work) error {
	began := sl.e.clock.Now()
	for i, h := range w.due {
		if i > 0 && sl.e.clock.Now().Sub(began) >= MaxSlice {
			break
		}
		if i%sl.ahead() == 0 {
			var wants []Want
			for _, next := range w.due[i:min(i+sl.ahead(), len(w.due))] {
				wants = sl.want(wants, next.Tenant, next.ID)
			}
			if err := sl.fetch(wants); err != nil {
				return err
			}
		}
		if err := sl.pay(h.Tenant, func() error { return sl.expire(h) }); err != nil {
			return err
		}
		sl.e.deadlines.noteTurn(h.Tenant)
		sl.slice.due = i + 1
	}
	return nil
}

// requeueLeft puts back what a durable commit had no time for. What stays in w is done.
func (e *Engine) requeueLeft(b *batch, w *work) {
	var left []*call
	done := 0
	for k, c := range w.calls {
		e.counters.commands.Add(int64(b.slice.upto[k] - c.decided))
		if c.decided = b.slice.upto[k]; c.decided < len(c.reqs) {
			left = append(left, c)
			continue
		}
		w.calls[done] = c
		done++
	}
	w.calls = slices.Clip(w.calls[:done])
	w.units = w.units[:len(w.units)-len(b.leftUnits)]
	if len(left)+len(b.leftUnits) > 0 {
		e.q.putBackCalls(left, b.leftUnits)
	}
	if b.slice.due < len(w.due) {
		w.due, e.deadlines.next = w.due[:b.slice.due], e.now() // the others are still due
	}
}

// putBackCalls returns calls and units that a commit had no time for; they go before those that came since.
func (q *queue) putBackCalls(calls []*call, units []*unitCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := make([]item, 0, len(calls)+len(units))
	for _, c := range calls {
		if c.cancels {
			q.noteCancels(c.tenant(), c.left())
		} else {
			q.note(c.tenant(), c.left())
		}
		left = append(left, item{call: c})
	}
	for _, u := range units {
		q.note(u.tenant(), u.count())
		left = append(left, item{unit: u})
	}
	q.line.PutBack(left, item.place)
	q.wake()
}
