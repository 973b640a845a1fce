package sim

import (
	"bytes"
	"context"
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

// crew is the workers, with their claims and tasks.
type crew struct {
	w       *World
	claims  []*claim // under way or to be repeated
	claimed []*claim // answered with tasks
	held    []held
}

const claimEndpoint = "POST /tasks/claim"

// claim lets a worker ask for tasks, or ask again.
func (cr *crew) claim() {
	var again []*claim
	for _, c := range cr.claims {
		if !c.flying {
			again = append(again, c)
		}
	}
	if len(again) > 0 && cr.w.dice.one(2) {
		cr.sendClaim(pick(cr.w.dice, again))
		return
	}
	if len(cr.claimed) > 0 && cr.w.dice.one(4) {
		if c := pick(cr.w.dice, cr.claimed); !c.flying {
			cr.sendClaim(c)
		}
		return
	}
	wait := cr.w.dice.IntN(3)
	if len(cr.w.fleet.machines) > 1 {
		wait = 0 // nobody would tell it what another machine makes ready
	}
	cr.sendClaim(cr.newClaim(wait, 1+cr.w.dice.IntN(4)))
}

// newClaim writes a claim for some queues that waits for so many seconds.
func (cr *crew) newClaim(wait, most int) *claim {
	cr.w.orders.placed++
	c := &claim{body: fmt.Appendf(nil, `{"n":%d}`, cr.w.orders.placed)}
	wanted := slices.Clone(queues)
	cr.w.dice.Shuffle(len(wanted), func(i, k int) { wanted[i], wanted[k] = wanted[k], wanted[i] })
	key := fmt.Sprintf("k%05d", cr.w.orders.placed)
	c.req = engine.ClaimRequest{
		Tenant: pick(
			cr.w.dice,
			tenants,
		), Worker: pick(cr.w.dice, workers), Queues: wanted[:1+cr.w.dice.IntN(len(wanted))],
		Max: most, Wait: time.Duration(wait) * time.Second, Lease: 1 + cr.w.dice.IntN(30),
		Idempotency: cr.w.keyOf(key, claimEndpoint, c.body), CorrelationID: "c" + key,
	}
	return c
}

func (cr *crew) sendClaim(c *claim) {
	cr.w.trace.say(
		"  claim at %s %s %s %s %v at most %d, wait %v",
		cr.w.fleet.here.name,
		c.req.Idempotency.Key,
		c.req.Tenant,
		c.req.Worker,
		c.req.Queues,
		c.req.Max,
		c.req.Wait,
	)
	c.flying, c.waited, c.at = true, false, cr.w.fleet.here
	if !slices.Contains(cr.claims, c) {
		cr.claims = append(cr.claims, c)
	}
	c.until = cr.w.clock.Now().Add(c.req.Wait)
	c.poison = !cr.w.calm && cr.w.rough > 0 && c.got == nil && !c.unknown && cr.w.dice.one(15)
	c.withdraw = cr.w.fleet.here.engine.OfferClaim(
		c.req,
		func(out engine.Claimed, err error) { cr.served(c, out, err) },
	)
}

// contradictClaim uses the key of a claim with another body.
func (cr *crew) contradictClaim(c *claim) {
	if c.flying || cr.w.over(c.when) {
		return
	}
	req := c.req
	req.Idempotency, req.Wait = cr.w.another(c.req.Idempotency, c.body), 0
	cr.w.fleet.here.engine.OfferClaim(
		req,
		func(_ engine.Claimed, err error) { cr.w.contradicted(req.Idempotency.Key, c.when, err) },
	)
}

// served takes the answer to a claim and checks it.
func (cr *crew) served(c *claim, out engine.Claimed, err error) {
	c.flying = false
	cr.w.trace.say("  %s: replay %v, %d tasks, %v", c.req.Idempotency.Key, out.Replay, len(out.Tasks), err)
	for i := range out.Tasks {
		cr.w.trace.say("    %s", showTask(&out.Tasks[i]))
	}
	if err != nil {
		kind := fault.KindOf(err)
		if kind != fault.Unavailable && !(kind == fault.Internal && c.poison) || len(out.Tasks) > 0 {
			cr.w.fail("claim %s: %d tasks, %v", c.req.Idempotency.Key, len(out.Tasks), err)
		}
		return
	}
	if len(out.Tasks) > c.req.Max {
		cr.w.fail("claim %s: %d tasks, at most %d were wanted", c.req.Idempotency.Key, len(out.Tasks), c.req.Max)
	}
	forgotten := c.got != nil && cr.w.over(c.when)
	switch {
	case out.Replay && c.got == nil && !c.unknown:
		cr.w.fail("claim %s: answered from memory, but it was never served", c.req.Idempotency.Key)
	case c.got != nil && !forgotten && (!out.Replay || !reflect.DeepEqual(c.got.Tasks, out.Tasks)):
		cr.w.fail(
			"claim %s: tasks\n%+v, replay %v, at first\n%+v",
			c.req.Idempotency.Key,
			out.Tasks,
			out.Replay,
			c.got.Tasks,
		)
	case c.got != nil && !forgotten:
		cr.w.stress.Replays++
	default:
		cr.tookTasks(c, &out)
	}
	c.unknown = false
}

// tookTasks is a first answer to a claim, or one after its key was forgotten.
func (cr *crew) tookTasks(c *claim, out *engine.Claimed) {
	if len(out.Tasks) == 0 {
		return
	}
	if c.got == nil {
		cr.claimed = append(cr.claimed, c)
	}
	row, ok := cr.w.mem.remembered(
		engine.KeyRef{Tenant: c.req.Tenant, Endpoint: claimEndpoint, Key: c.req.Idempotency.Key},
	)
	if !ok {
		cr.w.fail("claim %s: answered before it was durable", c.req.Idempotency.Key)
	}
	c.got, c.when = out, row.At
	cr.w.stress.Claims++
	if c.waited {
		cr.w.stress.Waited++
	}
	for _, t := range out.Tasks {
		if !slices.Contains(c.req.Queues, t.Queue) {
			cr.w.fail("claim %s: a task of queue %s", c.req.Idempotency.Key, t.Queue)
		}
		cr.got(cr.w.audit.one(c.req.Tenant, t.Execution), t, c.req.Worker)
	}
}

// got checks a task that a worker was given for the first time. A worker "" is
// the one of the node that was completed.
func (cr *crew) got(x *audited, t engine.Task, worker string) {
	if cr.w.err != nil {
		return // its log was not followed
	}
	name := fmt.Sprintf("%s/%s#%d", short(t.Execution), t.Node, t.Attempt)
	if x == nil {
		cr.w.fail("task %s: no such execution", name)
		return
	}
	started := x.starts[attempt{t.Node, t.Attempt}]
	i, ok := x.plan.Node(t.Node)
	switch {
	case started == nil || !ok:
		cr.w.fail("task %s: it was not started", name)
		return
	case worker != "" && started.WorkerID != worker:
		cr.w.fail("task %s: started for %s, given to %s", name, started.WorkerID, worker)
	case started.LeaseUntil != t.LeaseUntil:
		cr.w.fail("task %s: lease until %v, want %v", name, t.LeaseUntil, started.LeaseUntil)
	case t.Queue != x.plan.Spec(i).Queue || t.GraphID != x.state.GraphID || !bytes.Equal(t.Input, x.state.Input):
		cr.w.fail("task %s: queue %s, graph %s, input %s", name, t.Queue, t.GraphID, t.Input)
	}
	cr.checkOutputs(x, &t, name)
	cr.held = append(cr.held, held{t, x.tenant, started.WorkerID})
}

// checkOutputs compares the outputs of a task with those of the nodes from where edges lead to it, level by level.
func (cr *crew) checkOutputs(x *audited, t *engine.Task, name string) {
	defer func(calm bool) { cr.w.calm = calm }(cr.w.calm)
	cr.w.calm = true
	seen, level, first, room := map[string]bool{t.Node: true}, []string{t.Node}, true, engine.MaxTaskOutputs
	want := map[string]flow.Data{}
	refs := map[string]int{}
	for len(level) > 0 {
		var next []string
		for _, to := range level {
			for _, e := range x.plan.Graph.Edges {
				if e.To == to && !seen[e.From] {
					seen[e.From] = true
					next = append(next, e.From)
				}
			}
		}
		for _, id := range next {
			n, _ := x.state.Find(id)
			data := x.output(n.Output)
			switch {
			case data == nil:
			case first:
				want[id] = data
			case len(data) <= flow.MaxInline && len(data) <= room:
				room -= len(data)
				want[id] = data
			default:
				refs[id] = len(data)
			}
		}
		level, first = next, false
	}
	if len(want) != len(t.Outputs) || len(refs) != len(t.OutputRefs) {
		cr.w.fail("task %s: %d outputs and %d refs, want %d and %d", name, len(t.Outputs), len(t.OutputRefs), len(want),
			len(refs))
	}
	for id, data := range want {
		if !bytes.Equal(t.Outputs[id], data) {
			cr.w.fail("task %s: output %.80s of %s, want %.80s", name, t.Outputs[id], id, data)
		}
	}
	for id, size := range refs {
		got, err := cr.w.audit.reader.Output(context.Background(), x.tenant, t.Execution, id)
		n, _ := x.state.Find(id)
		if err != nil || t.OutputRefs[id].Size != size || !bytes.Equal(got, x.output(n.Output)) {
			cr.w.fail("task %s: ref %v to %.80s of %s, %v", name, t.OutputRefs[id], got, id, err)
		}
		cr.w.stress.OutputRefs++
	}
}

// work is something that the worker of a task says, in time or not.
func (cr *crew) work() {
	if len(cr.held) == 0 {
		cr.w.send(cr.w.command())
		return
	}
	i := cr.w.dice.IntN(len(cr.held))
	h := cr.held[i]
	cmd := cr.w.dice.report(h.task.Node, h.task.Attempt, h.worker)
	switch cmd.(type) {
	case flow.Succeed, flow.Fail:
		cr.held = slices.Delete(cr.held, i, i+1)
	}
	cr.w.send(cr.w.orders.place(h.tenant, h.task.Execution, cmd))
}

// giveUp withdraws claims that have waited long enough, and some before that.
func (cr *crew) giveUp() {
	kept := cr.claims[:0]
	for _, c := range cr.claims {
		if c.flying {
			c.waited = true
			if (cr.w.clock.Now().After(c.until) || cr.w.dice.one(20)) && c.withdraw() {
				cr.w.trace.say("  %s is withdrawn", c.req.Idempotency.Key)
				c.flying = false
			}
		}
		if c.flying || c.unknown {
			kept = append(kept, c)
		}
	}
	cr.claims = kept
}
