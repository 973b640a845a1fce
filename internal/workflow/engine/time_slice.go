package engine

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// MaxSlice is the time after which a commit begins nothing more: no further command of the tenants
// that had their part of it, no further unit, no deadline of another execution. One of each is
// always done, and one command of every tenant, so no costly tenant holds up others.
const MaxSlice = 20 * time.Millisecond

// fetchAhead is how many executions are read at a time where that is a trip to the database: there
// may be no time for more.
const fetchAhead = 128

func (b *batch) ahead() int {
	if b.e.cfg.Exclusive {
		return 1 // to read several takes as long as to read one after the other
	}
	return fetchAhead
}

// timeSlice divides the time of a commit between tenants: their commands, units and deadlines.
type timeSlice struct {
	b         *batch
	w         *work
	part      time.Duration            // of each tenant
	ran       map[string]time.Duration // that their commands have taken
	upto      []int                    // of each call of the commit, how many requests are decided
	read      place                    // the first request whose execution was not read yet
	due       int                      // how many executions were looked at for deadlines
	leftUnits []*unitCall              // for the next commit, since this one had no time for them
}

func newSlice(b *batch, w *work) timeSlice {
	tenants := map[string]bool{}
	upto := make([]int, len(w.calls))
	for k, c := range w.calls {
		tenants[c.tenant()], upto[k] = true, c.decided
	}
	return timeSlice{
		b: b, w: w, part: MaxSlice / time.Duration(max(len(tenants), 1)),
		ran: make(map[string]time.Duration, len(tenants)), upto: upto,
	}
}

// calls decides the requests of all calls, as far as the parts of their tenants go.
func (sl *timeSlice) calls() error {
	for k, c := range sl.w.calls {
		tenant := c.tenant()
		for i := c.decided; i < len(c.reqs) && sl.ran[tenant] < sl.part; i++ {
			if !sl.read.after(k, i) {
				if err := sl.fetchFrom(k, i); err != nil {
					return err
				}
			}
			before := sl.b.bill[tenant]
			err := sl.b.pay(tenant, func() error {
				ans, err := sl.b.run(&c.reqs[i])
				if abortsCommit(err) {
					return err
				}
				c.results[i], sl.upto[k] = Result{Answer: ans, Err: err}, i+1
				return nil
			})
			if err != nil {
				return err
			}
			sl.ran[tenant] += sl.b.bill[tenant] - before
			if isCold(c.results[i].Err) {
				c.leaveFrom(i, &sl.upto[k])
				break
			}
		}
	}
	maps.DeleteFunc(sl.b.gone, func(_ lookup, err error) bool { return errors.Is(err, errLong) })
	return nil // who comes after the calls has nobody who rebuilds for it
}

// leaveFrom leaves the requests of a call from one on to its caller, which prepares what they need and sends them
// again.
func (c *call) leaveFrom(i int, upto *int) {
	for k := i + 1; k < len(c.reqs); k++ {
		c.results[k] = c.results[i]
	}
	*upto = len(c.reqs)
}

type place struct{ call, req int }

func (p place) after(call, req int) bool { return p.call > call || p.call == call && p.req > req }

// fetchFrom reads the executions of some requests, from one on.
func (sl *timeSlice) fetchFrom(call, req int) error {
	var wants []Want
	at := place{call, req}
	for ; at.call < len(sl.w.calls); at = (place{at.call + 1, 0}) {
		c := sl.w.calls[at.call]
		for at.req = max(at.req, c.decided); at.req < len(c.reqs) && len(wants) < sl.b.ahead(); at.req++ {
			wants = sl.b.want(wants, c.reqs[at.req].Tenant, c.reqs[at.req].Execution)
		}
		if len(wants) == sl.b.ahead() {
			break
		}
	}
	sl.read = at
	return sl.b.fetch(wants, sl.b.e.rebuilt.rebuild)
}

// units runs callers' units, at least one.
func (sl *timeSlice) units() error {
	began := sl.b.spent()
	for i, u := range sl.w.units {
		if i > 0 && sl.b.spent()-began >= MaxSlice {
			sl.leftUnits = sl.w.units[i:]
			break
		}
		if err := sl.b.pay(u.tenant(), func() error { return sl.b.unit(u) }); err != nil {
			return err
		}
	}
	return nil
}

// deadlines fires what is due, of at least one execution.
func (sl *timeSlice) deadlines() error {
	began := sl.b.spent()
	for i, h := range sl.w.due {
		if i > 0 && sl.b.spent()-began >= MaxSlice {
			break
		}
		if i%sl.b.ahead() == 0 {
			var wants []Want
			for _, next := range sl.w.due[i:min(i+sl.b.ahead(), len(sl.w.due))] {
				wants = sl.b.want(wants, next.Tenant, next.ID)
			}
			if err := sl.b.fetch(wants, rebuild); err != nil {
				return err
			}
		}
		if err := sl.b.pay(h.Tenant, func() error { return sl.b.expire(h) }); err != nil {
			return err
		}
		sl.b.e.deadlines.noteTurn(h.Tenant)
		sl.due = i + 1
	}
	return nil
}

// requeueLeft puts back what a durable commit had no time for. What stays in w is done.
func (e *Engine) requeueLeft(b *batch, w *work) {
	var left []item
	done := 0
	for k, c := range w.calls {
		e.counters.commands.Add(int64(b.slice.upto[k] - c.decided))
		if c.decided = b.slice.upto[k]; c.decided < len(c.reqs) {
			left = append(left, item{call: c})
			continue
		}
		w.calls[done] = c
		done++
	}
	w.calls = slices.Clip(w.calls[:done])
	w.units = w.units[:len(w.units)-len(b.slice.leftUnits)]
	for _, u := range b.slice.leftUnits {
		left = append(left, item{unit: u})
	}
	if len(left) > 0 {
		e.q.putBack(left)
	}
	if b.slice.due < len(w.due) {
		e.deadlines.putBack(w.due[b.slice.due:]) // they are still due
		w.due = w.due[:b.slice.due]
	}
}
