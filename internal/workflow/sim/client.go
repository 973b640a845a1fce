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
	switch n := w.dice.IntN(100); {
	case n < 10 || len(w.executions) == 0:
		w.send(w.orders.place(pick(w.dice, tenants), flow.ID{}, w.dice.create()))
	case n < 45:
		w.send(w.command())
	case n < 60:
		w.crew.work()
	case n < 72:
		w.crew.claim()
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
	m := w.fleet.here
	m.engine.Offer(reqs, func(results []engine.Result) {
		for i, o := range orders {
			w.orders.settled(m, o, results[i])
		}
	})
}

// depart notes that an order is under way.
func (w *World) depart(o *order) {
	if create, ok := o.req.Command.(flow.Create); ok && o.req.GraphID == "" {
		o.req.GraphID = graphID(w.dice.IntN(w.graphs))
		if len(w.executions) > 0 && w.dice.one(6) {
			if id := pick(w.dice, w.executions); w.audit.one(o.req.Tenant, id) != nil {
				create.RerunOf = id
				o.req.Command = create
			}
		}
		if o.req.Start = w.dice.one(3); o.req.Start && w.dice.one(2) {
			o.req.Claim = w.dice.eager()
		}
	}
	if !o.unknown && o.answer == nil && len(o.flights) == 0 && !o.lost {
		o.poison = w.rough > 0 && w.dice.one(60)
	}
	o.flights = append(o.flights, w.fleet.here)
	w.trace.say("  send to %s %s %s %s %s %s", w.fleet.here.name, o.req.Idempotency.Key, o.req.Command.Name(),
		o.req.Command.Target(), short(o.req.Execution), brief(o.req.Command))
}

// create is a creation, of which some have business keys that others may have too.
func (d dice) create() flow.Create {
	c := flow.Create{Input: d.data(1)}
	if d.one(3) {
		c.BusinessKey = fmt.Sprintf("order %d", d.IntN(4))
	}
	for i := range d.IntN(3) {
		c.Labels = append(c.Labels, flow.Label{Name: fmt.Sprintf("l%d", i), Value: fmt.Sprintf("v%d", d.IntN(3))})
	}
	return c
}

// eager is a claim that goes with a creation.
func (d dice) eager() *engine.Eager {
	return &engine.Eager{
		Worker: pick(d, workers), Queues: queues[:1+d.IntN(len(queues))], Max: 1 + d.IntN(3),
		Lease: 1 + d.IntN(30),
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
	for _, o := range w.orders.open {
		if o.poison && len(o.flights) > 0 && within(o.req.CorrelationID) {
			return o.req.Idempotency.Key
		}
	}
	for _, c := range w.crew.claims {
		if c.poison && c.flying && within(c.req.CorrelationID) {
			return c.req.Idempotency.Key
		}
	}
	return ""
}

// noteCrash notes what an engine took with it: of what was under way there nobody
// knows whether it was done.
func (w *World) noteCrash(m *machine) {
	for _, o := range w.orders.all {
		if !slices.Contains(o.flights, m) {
			continue
		}
		o.flights = slices.DeleteFunc(o.flights, func(at *machine) bool { return at == m })
		o.poison = o.poison && len(o.flights) > 0
		o.unknown = o.unknown || o.answer == nil || w.expired(o)
	}
	for _, c := range w.crew.claims {
		if c.flying && c.at == m {
			c.flying, c.poison, c.unknown = false, false, true
		}
	}
}

// tidy moves orders that were answered from the open ones.
func (b *orders) tidy() {
	open := b.open[:0]
	for _, o := range b.open {
		switch {
		case o.answer == nil:
			open = append(open, o)
		case !o.lost:
			b.done = append(b.done, o)
		}
	}
	b.open = open
}

// repeat sends an order again that was not answered.
func (w *World) repeat() {
	w.orders.tidy()
	if len(w.orders.open) > 0 {
		w.send(pick(w.dice, w.orders.open))
	}
}

// again sends an order again that was answered.
func (w *World) again() {
	w.orders.tidy()
	if len(w.orders.done) > 0 {
		w.send(pick(w.dice, w.orders.done))
	}
}

// contradict uses the key of an answered order or claim with another body.
func (w *World) contradict() {
	w.orders.tidy()
	if len(w.crew.claimed) > 0 && w.dice.one(4) {
		w.crew.contradictClaim(pick(w.dice, w.crew.claimed))
		return
	}
	if len(w.orders.done) == 0 {
		return
	}
	o := pick(w.dice, w.orders.done)
	if o.unknown || w.expired(o) {
		return
	}
	req := o.req
	req.Idempotency = w.another(o.req.Idempotency, o.body)
	w.fleet.here.engine.Offer(
		[]engine.Request{req},
		func(r []engine.Result) { w.contradicted(req.Idempotency.Key, o.at, r[0].Err) },
	)
}

// stray asks for what does not exist: an execution, another tenant's execution, a node.
func (w *World) stray() {
	id := pick(w.dice, w.executions)
	x := w.audit.byID[id]
	tenant, cmd := x.tenant, flow.Command(flow.Progress{Node: x.state.Nodes[0].ID})
	switch w.dice.IntN(3) {
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
	o := w.orders.place(tenant, id, cmd)
	o.lost = true
	if w.dice.one(4) {
		w.sendUnit([]*order{o}, nil, nil)
		return
	}
	w.send(o)
}

// data is a JSON object, now and then one that a state does not hold itself.
func (d dice) data(most int) flow.Data {
	if d.IntN(12) < most {
		return fmt.Appendf(nil, `{"n":%d,"pad":"%s"}`, d.IntN(10), strings.Repeat("x", flow.MaxInline+
			d.IntN(9000)))
	}
	if d.one(10) {
		return nil
	}
	return fmt.Appendf(nil, `{ "n": %d }`, d.IntN(10))
}

var errOwn = errors.New("sim: the unit does not want itself")

// unit offers commands with something of the caller's own around them, which may fail.
func (w *World) unit() {
	var orders []*order
	for range 1 + w.dice.IntN(3) {
		if w.dice.one(4) {
			orders = append(
				orders,
				w.orders.place(pick(w.dice, tenants), flow.ID{}, flow.Create{Input: w.dice.data(1)}),
			)
		} else {
			orders = append(orders, w.command())
		}
	}
	var before, after error
	switch w.dice.IntN(6) {
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
	m := w.fleet.here
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
		w.orders.settled(m, o, results[i])
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
	case slices.ContainsFunc(orders, func(o *order) bool { return w.unfit(o, err) }):
	default:
		w.fail("a unit failed: %v; before: %v, after: %v", err, before, after)
	}
	for _, o := range orders {
		w.trace.say("  %s: undone with its unit: %v", o.req.Idempotency.Key, err)
		o.landed(m)
		o.poison = o.poison && len(o.flights) > 0
		if o.lost {
			w.stress.Strangers++
			w.orders.drop(o)
		}
	}
}
