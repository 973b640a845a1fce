package sim

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// claim is a worker that wants tasks, and what it was told so far.
type claim struct {
	req      engine.ClaimRequest
	body     []byte
	until    time.Time
	withdraw func() bool
	flying   bool
	waited   bool     // it found nothing at first
	poison   bool     // nothing can be done with it as long as the disk is as it is
	unknown  bool     // it was under way when an engine died
	at       *machine // where it is under way
	got      *engine.Claimed
	when     flow.Time // it was served
}

// held is a task that a worker got and has not finished.
type held struct {
	task   engine.Task
	tenant string
	worker string
}

const claimEndpoint = "POST /tasks/claim"

// claim lets a worker ask for tasks, or ask again.
func (w *World) claim() {
	var again []*claim
	for _, c := range w.claims {
		if !c.flying {
			again = append(again, c)
		}
	}
	if len(again) > 0 && w.one(2) {
		w.sendClaim(pick(w, again))
		return
	}
	if len(w.claimed) > 0 && w.one(4) {
		if c := pick(w, w.claimed); !c.flying {
			w.sendClaim(c)
		}
		return
	}
	wait := w.rng.IntN(3)
	if len(w.machines) > 1 {
		wait = 0 // nobody would tell it what another machine makes ready
	}
	w.sendClaim(w.newClaim(wait, 1+w.rng.IntN(4)))
}

// newClaim writes a claim for some queues that waits for so many seconds.
func (w *World) newClaim(wait, most int) *claim {
	w.placed++
	c := &claim{body: fmt.Appendf(nil, `{"n":%d}`, w.placed)}
	wanted := slices.Clone(queues)
	w.rng.Shuffle(len(wanted), func(i, k int) { wanted[i], wanted[k] = wanted[k], wanted[i] })
	key := fmt.Sprintf("k%05d", w.placed)
	c.req = engine.ClaimRequest{
		Tenant: pick(w, tenants), Worker: pick(w, workers), Queues: wanted[:1+w.rng.IntN(len(wanted))],
		Max: most, Wait: time.Duration(wait) * time.Second, Lease: 1 + w.rng.IntN(30),
		Once: w.once(key, claimEndpoint, c.body), CorrelationID: "c" + key,
	}
	return c
}

func (w *World) sendClaim(c *claim) {
	w.trace.say("  claim at %s %s %s %s %v at most %d, wait %v", w.here.name, c.req.Once.Key, c.req.Tenant,
		c.req.Worker, c.req.Queues, c.req.Max, c.req.Wait)
	c.flying, c.waited, c.at = true, false, w.here
	if !slices.Contains(w.claims, c) {
		w.claims = append(w.claims, c)
	}
	c.until = w.clock.Now().Add(c.req.Wait)
	c.poison = !w.calm && w.rough > 0 && c.got == nil && !c.unknown && w.one(15)
	c.withdraw = w.here.engine.OfferClaim(c.req, func(out engine.Claimed, err error) { w.served(c, out, err) })
}

// contradictClaim uses the key of a claim with another body.
func (w *World) contradictClaim(c *claim) {
	if c.flying || w.over(c.when) {
		return
	}
	req := c.req
	req.Once, req.Wait = w.another(c.req.Once, c.body), 0
	w.here.engine.OfferClaim(req, func(_ engine.Claimed, err error) { w.contradicted(req.Once.Key, c.when, err) })
}

// served takes the answer to a claim and checks it.
func (w *World) served(c *claim, out engine.Claimed, err error) {
	c.flying = false
	w.trace.say("  %s: replay %v, %d tasks, %v", c.req.Once.Key, out.Replay, len(out.Tasks), err)
	for i := range out.Tasks {
		w.trace.say("    %s", showTask(&out.Tasks[i]))
	}
	if err != nil {
		kind := fault.KindOf(err)
		if kind != fault.Unavailable && !(kind == fault.Internal && c.poison) || len(out.Tasks) > 0 {
			w.fail("claim %s: %d tasks, %v", c.req.Once.Key, len(out.Tasks), err)
		}
		return
	}
	if len(out.Tasks) > c.req.Max {
		w.fail("claim %s: %d tasks, at most %d were wanted", c.req.Once.Key, len(out.Tasks), c.req.Max)
	}
	forgotten := c.got != nil && w.over(c.when)
	switch {
	case out.Replay && c.got == nil && !c.unknown:
		w.fail("claim %s: answered from memory, but it was never served", c.req.Once.Key)
	case c.got != nil && !forgotten && (!out.Replay || !reflect.DeepEqual(c.got.Tasks, out.Tasks)):
		w.fail("claim %s: tasks\n%+v, replay %v, at first\n%+v", c.req.Once.Key, out.Tasks, out.Replay, c.got.Tasks)
	case c.got != nil && !forgotten:
		w.stress.Replays++
	default:
		w.tookTasks(c, &out)
	}
	c.unknown = false
}

// tookTasks is a first answer to a claim, or one after its key was forgotten.
func (w *World) tookTasks(c *claim, out *engine.Claimed) {
	if len(out.Tasks) == 0 {
		return
	}
	if c.got == nil {
		w.claimed = append(w.claimed, c)
	}
	row, ok := w.mem.remembered(engine.KeyRef{Tenant: c.req.Tenant, Endpoint: claimEndpoint, Key: c.req.Once.Key})
	if !ok {
		w.fail("claim %s: answered before it was durable", c.req.Once.Key)
	}
	c.got, c.when = out, row.At
	w.stress.Claims++
	if c.waited {
		w.stress.Waited++
	}
	for _, t := range out.Tasks {
		if !slices.Contains(c.req.Queues, t.Queue) {
			w.fail("claim %s: a task of queue %s", c.req.Once.Key, t.Queue)
		}
		w.got(w.audit.one(c.req.Tenant, t.Execution), t, c.req.Worker)
	}
}

// got checks a task that a worker was given for the first time. A worker "" is
// the one of the node that was completed.
func (w *World) got(x *audited, t engine.Task, worker string) {
	name := fmt.Sprintf("%s/%s#%d", short(t.Execution), t.Node, t.Attempt)
	if x == nil {
		w.fail("task %s: no such execution", name)
		return
	}
	started := x.starts[attempt{t.Node, t.Attempt}]
	i, ok := x.plan.Node(t.Node)
	switch {
	case started == nil || !ok:
		w.fail("task %s: it was not started", name)
		return
	case worker != "" && started.WorkerID != worker:
		w.fail("task %s: started for %s, given to %s", name, started.WorkerID, worker)
	case started.LeaseUntil != t.LeaseUntil:
		w.fail("task %s: lease until %v, want %v", name, t.LeaseUntil, started.LeaseUntil)
	case t.Queue != x.plan.Spec(i).Queue || t.GraphID != x.state.GraphID || !bytes.Equal(t.Input, x.state.Input):
		w.fail("task %s: queue %s, graph %s, input %s", name, t.Queue, t.GraphID, t.Input)
	}
	want := map[string]flow.Data{}
	for _, p := range x.plan.Preds(i) {
		if data := x.output(x.state.Nodes[p].Output); data != nil {
			want[x.state.Nodes[p].ID] = data
		}
	}
	if len(want) != len(t.Outputs) {
		w.fail("task %s: %d outputs, want %d", name, len(t.Outputs), len(want))
	}
	for id, data := range want {
		if !bytes.Equal(t.Outputs[id], data) {
			w.fail("task %s: output %.80s of %s, want %.80s", name, t.Outputs[id], id, data)
		}
	}
	w.held = append(w.held, held{t, x.tenant, started.WorkerID})
}

// work is something that the worker of a task says, in time or not.
func (w *World) work() {
	if len(w.held) == 0 {
		w.send(w.command())
		return
	}
	i := w.rng.IntN(len(w.held))
	h := w.held[i]
	cmd := w.report(h.task.Node, h.task.Attempt, h.worker)
	switch cmd.(type) {
	case flow.Succeed, flow.Fail:
		w.held = slices.Delete(w.held, i, i+1)
	}
	w.send(w.place(h.tenant, h.task.Execution, cmd))
}

// giveUp withdraws claims that have waited long enough, and some before that.
func (w *World) giveUp() {
	kept := w.claims[:0]
	for _, c := range w.claims {
		if c.flying {
			c.waited = true
			if (w.clock.Now().After(c.until) || w.one(20)) && c.withdraw() {
				w.trace.say("  %s is withdrawn", c.req.Once.Key)
				c.flying = false
			}
		}
		if c.flying || c.unknown {
			kept = append(kept, c)
		}
	}
	w.claims = kept
}
