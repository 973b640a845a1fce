package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// act is one thing that some client does.
func (w *World) act() {
	switch n := w.rng.IntN(100); {
	case n < 10 || len(w.executions) == 0:
		w.send(w.place(pick(w, tenants), flow.ID{}, flow.Create{Input: w.data(1)}))
	case n < 45:
		w.send(w.command())
	case n < 60:
		w.work()
	case n < 72:
		w.claim()
	case n < 80:
		w.repeat()
	case n < 88:
		w.again()
	case n < 91:
		w.contradict()
	case n < 94:
		w.stray()
	case n < 97:
		w.unit()
	default:
		w.send(w.command(), w.command(), w.command())
	}
}

// send offers orders to the engine, in one call.
func (w *World) send(orders ...*order) {
	reqs := make([]engine.Request, len(orders))
	for i, o := range orders {
		w.depart(o)
		reqs[i] = o.req
	}
	m := w.here
	m.engine.Offer(reqs, func(results []engine.Result) {
		for i, o := range orders {
			w.settled(m, o, results[i])
		}
	})
}

// depart notes that an order is under way.
func (w *World) depart(o *order) {
	if _, ok := o.req.Command.(flow.Create); ok && o.req.GraphID == "" {
		o.req.GraphID = graphID(w.rng.IntN(w.graphs))
		if o.req.Start = w.one(3); o.req.Start && w.one(2) {
			o.req.Claim = w.eager()
		}
	}
	if !o.unknown && o.answer == nil && len(o.flights) == 0 && !o.lost {
		o.poison = w.rough > 0 && w.one(60)
	}
	o.flights = append(o.flights, w.here)
	w.trace.say("  send to %s %s %s %s %s %s", w.here.name, o.req.Once.Key, o.req.Command.Name(),
		o.req.Command.Target(), short(o.req.Execution), brief(o.req.Command))
}

// eager is a claim that goes with a creation.
func (w *World) eager() *engine.Eager {
	return &engine.Eager{
		Worker: pick(w, workers), Queues: queues[:1+w.rng.IntN(len(queues))], Max: 1 + w.rng.IntN(3),
		Lease: 1 + w.rng.IntN(30),
	}
}

// brief is who says what about a node, without any data.
func brief(c flow.Command) string {
	switch c := c.(type) {
	case flow.StartNode:
		return fmt.Sprintf("attempt %d, worker %s", c.Attempt, c.Worker)
	case flow.Progress:
		return fmt.Sprintf("attempt %d, worker %s", c.Attempt, c.Worker)
	case flow.Wait:
		return fmt.Sprintf("attempt %d, worker %s, key %s", c.Attempt, c.Worker, c.WaitKey)
	case flow.Succeed:
		return fmt.Sprintf("attempt %d, worker %s, %d bytes, next %v", c.Attempt, c.Worker, len(c.Output), c.Next)
	case flow.Fail:
		return fmt.Sprintf("attempt %d, worker %s, next %v", c.Attempt, c.Worker, c.Next)
	case flow.Resume:
		return fmt.Sprintf("key %s, %d bytes", c.ResumeKey, len(c.Output))
	}
	return ""
}

// poisoned names the order or claim in a batch that the disk does not take.
func (w *World) poisoned(b *engine.Batch) string {
	within := func(correlation string) bool {
		mark := []byte(`"r":"` + correlation + `"`)
		return slices.ContainsFunc(b.Log, func(r engine.LogRow) bool { return bytes.Contains(r.Body, mark) })
	}
	for _, o := range w.open {
		if o.poison && len(o.flights) > 0 && within(o.req.CorrelationID) {
			return o.req.Once.Key
		}
	}
	for _, c := range w.claims {
		if c.poison && c.flying && within(c.req.CorrelationID) {
			return c.req.Once.Key
		}
	}
	return ""
}

// bury notes what an engine took with it: of what was under way there nobody
// knows whether it was done.
func (w *World) bury(m *machine) {
	for _, o := range w.orders {
		if !slices.Contains(o.flights, m) {
			continue
		}
		o.flights = slices.DeleteFunc(o.flights, func(at *machine) bool { return at == m })
		o.poison = o.poison && len(o.flights) > 0
		o.unknown = o.unknown || o.answer == nil || w.expired(o)
	}
	for _, c := range w.claims {
		if c.flying && c.at == m {
			c.flying, c.poison, c.unknown = false, false, true
		}
	}
}

// tidy moves orders that were answered from the open ones.
func (w *World) tidy() {
	open := w.open[:0]
	for _, o := range w.open {
		switch {
		case o.answer == nil:
			open = append(open, o)
		case !o.lost:
			w.done = append(w.done, o)
		}
	}
	w.open = open
}

// repeat sends an order again that was not answered.
func (w *World) repeat() {
	w.tidy()
	if len(w.open) > 0 {
		w.send(pick(w, w.open))
	}
}

// again sends an order again that was answered.
func (w *World) again() {
	w.tidy()
	if len(w.done) > 0 {
		w.send(pick(w, w.done))
	}
}

// contradict uses the key of an answered order or claim with another body.
func (w *World) contradict() {
	w.tidy()
	if len(w.claimed) > 0 && w.one(4) {
		w.contradictClaim(pick(w, w.claimed))
		return
	}
	if len(w.done) == 0 {
		return
	}
	o := pick(w, w.done)
	if o.unknown || w.expired(o) {
		return
	}
	req := o.req
	req.Once = w.another(o.req.Once, o.body)
	w.here.engine.Offer([]engine.Request{req}, func(r []engine.Result) { w.contradicted(req.Once.Key, o.at, r[0].Err) })
}

// stray asks for what does not exist: an execution, another tenant's execution, a node.
func (w *World) stray() {
	id := pick(w, w.executions)
	x := w.audit.byID[id]
	tenant, cmd := x.tenant, flow.Command(flow.Progress{Node: x.state.Nodes[0].ID})
	switch w.rng.IntN(3) {
	case 0:
		id[15] ^= 0xff
	case 1:
		tenant = tenants[0]
		if x.tenant == tenant {
			tenant = tenants[1]
		}
	case 2:
		cmd = flow.Progress{Node: "nowhere"}
	}
	o := w.place(tenant, id, cmd)
	o.lost = true
	if w.one(4) {
		w.sendUnit([]*order{o}, nil, nil)
		return
	}
	w.send(o)
}

// data is a JSON object, now and then one that a state does not hold itself.
func (w *World) data(most int) flow.Data {
	if w.rng.IntN(12) < most {
		return fmt.Appendf(nil, `{"n":%d,"pad":"%s"}`, w.rng.IntN(10), strings.Repeat("x", flow.MaxInline+
			w.rng.IntN(9000)))
	}
	if w.one(10) {
		return nil
	}
	return fmt.Appendf(nil, `{ "n": %d }`, w.rng.IntN(10))
}

var errOwn = errors.New("sim: the unit does not want itself")

// unit offers commands with something of the caller's own around them, which may fail.
func (w *World) unit() {
	var orders []*order
	for range 1 + w.rng.IntN(3) {
		if w.one(4) {
			orders = append(orders, w.place(pick(w, tenants), flow.ID{}, flow.Create{Input: w.data(1)}))
		} else {
			orders = append(orders, w.command())
		}
	}
	var before, after error
	switch w.rng.IntN(6) {
	case 0:
		before = errOwn
	case 1:
		after = errOwn
	}
	w.sendUnit(orders, before, after)
}

func (w *World) sendUnit(orders []*order, before, after error) {
	var reqs []engine.Request
	for _, o := range orders {
		w.depart(o)
		reqs = append(reqs, o.req)
	}
	w.trace.say("  as a unit; before: %v, after: %v", before, after)
	m := w.here
	m.engine.OfferUnit(engine.Unit{
		Commands: reqs,
		Before:   func(_ context.Context, _ *sqldb.Tx) error { return before },
		After:    func(_ context.Context, _ *sqldb.Tx, _ []engine.Result) error { return after },
	}, func(results []engine.Result, err error) {
		if err == nil {
			w.unitDone(m, orders, results, before, after)
			return
		}
		w.unitUndone(m, orders, err, before, after)
	})
}

func (w *World) unitDone(m *machine, orders []*order, results []engine.Result, before, after error) {
	if before != nil || after != nil || len(results) != len(orders) {
		w.fail("a unit of %d commands is done with %d results; before: %v, after: %v", len(orders), len(results),
			before, after)
		return
	}
	w.stress.Units++
	for i, o := range orders {
		w.settled(m, o, results[i])
	}
}

// unitUndone is a unit that failed: none of its commands was done.
func (w *World) unitUndone(m *machine, orders []*order, err, before, after error) {
	kind := fault.KindOf(err)
	switch {
	case errors.Is(err, errOwn) && (before != nil || after != nil):
		w.stress.Undone++
	case kind == fault.Unavailable:
	case kind == fault.Internal && slices.ContainsFunc(orders, func(o *order) bool { return o.poison }):
	case kind == fault.NotFound && slices.ContainsFunc(orders, func(o *order) bool { return o.lost }):
	default:
		w.fail("a unit failed: %v; before: %v, after: %v", err, before, after)
	}
	for _, o := range orders {
		w.trace.say("  %s: undone with its unit: %v", o.req.Once.Key, err)
		o.landed(m)
		o.poison = o.poison && len(o.flights) > 0
		if o.lost {
			w.stress.Strangers++
			w.drop(o)
		}
	}
}
