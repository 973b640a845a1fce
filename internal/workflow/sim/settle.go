package sim

import (
	"time"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// settle ends a run: everything goes well from now on, so every order is answered,
// every deadline fires, every execution ends, and every answer can be had again.
func (w *World) settle() {
	w.trace.say("nothing goes wrong any more")
	w.calm = true
	w.fleet.boot()
	w.idle()
	w.answerAll()
	w.clock.Move(time.Hour)
	w.crew.giveUp()
	w.idle()
	for i := 0; w.drain(); i++ {
		if i == 400 {
			w.fail("the executions do not come to an end")
		}
	}
	w.checkEnd()
	w.replayAll()
	w.audit.verify()
}

// maxSteps is more than an engine needs to do all there is to do in any world.
const maxSteps = 1000

// idle steps until the engine rests, and checks.
func (w *World) idle() {
	for i := 0; w.err == nil && w.fleet.stepAll(func() *mishap { return nil }); i++ {
		if i == maxSteps {
			w.fail("the engine does not come to rest")
		}
	}
	w.audit.check(true)
}

// answerAll repeats every order and claim that was not answered.
func (w *World) answerAll() {
	for w.orders.tidy(); len(w.orders.open) > 0 && w.err == nil; w.orders.tidy() {
		w.send(w.orders.open...)
		w.idle()
	}
	for _, c := range w.crew.claims {
		if !c.flying {
			w.crew.sendClaim(c)
		}
	}
	w.idle()
}

// drain works off what there is, and reports whether anything was left to do.
func (w *World) drain() bool {
	var orders []*order
	var due flow.Time
	active := false
	for _, x := range w.audit.all {
		s := &x.state
		if s.Status.Terminal() {
			continue
		}
		active = true
		due = max(due, s.NextDeadline())
		if s.StartedAt == 0 {
			orders = append(orders, w.orders.place(x.tenant, s.Execution, flow.Start{}))
		}
		for _, n := range s.Nodes {
			switch n.Status {
			case flow.NodeIsRunning:
				orders = append(orders, w.orders.place(x.tenant, s.Execution, flow.Succeed{
					Node: n.ID, Attempt: n.Attempt,
					Output: w.dice.data(1),
				}))
			case flow.NodeIsWaiting:
				resume := flow.Resume{Node: n.ID, ResumeKey: n.WaitKey, Output: flow.Data(`{"n":1}`)}
				resume.As.Roles = []string{boss}
				orders = append(orders, w.orders.place(x.tenant, s.Execution, resume))
			}
		}
	}
	if !active || w.err != nil {
		return false
	}
	if len(orders) > 0 {
		w.send(orders...)
	}
	for _, tenant := range tenants {
		c := w.crew.newClaim(0, 100)
		c.req.Tenant, c.req.Queues = tenant, queues
		w.crew.sendClaim(c)
	}
	w.idle()
	if len(orders) == 0 && due > 0 {
		w.clock.Move(max(0, due.Sub(flow.At(w.clock.Now()))))
		w.idle()
	}
	return true
}

// checkEnd asks that nothing is left over when all executions have ended.
func (w *World) checkEnd() {
	w.mem.mu.RLock()
	defer w.mem.mu.RUnlock()
	for _, x := range w.audit.all {
		if !x.state.Status.Terminal() {
			w.fail("execution %v is %v", x.state.Execution, x.state.Status)
		}
	}
	if len(w.mem.ready) > 0 {
		w.fail("%d tasks are ready in executions that have ended", len(w.mem.ready))
	}
}

// replayAll repeats everything that was ever answered: the answers are the same,
// and nothing is written.
func (w *World) replayAll() {
	before := w.rows()
	w.orders.tidy()
	for _, o := range w.orders.done {
		if !w.expired(o) {
			w.send(o)
		}
	}
	for _, c := range w.crew.claimed {
		if !w.over(c.when) {
			w.crew.sendClaim(c)
		}
	}
	w.idle()
	if after := w.rows(); after != before {
		w.fail("answers from memory wrote %d rows", after-before)
	}
}

// rows counts what is in the logs.
func (w *World) rows() int {
	n := 0
	for _, h := range w.mem.heads(func(*engine.Head) bool { return true }) {
		x, _ := w.mem.find(h.Tenant, h.ID)
		n += len(x.log)
	}
	return n
}
