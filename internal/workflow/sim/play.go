package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Play sends a log of commands that follows from a seed through an engine over some
// store, for a tenant that the store does not know yet, and tells everything that was
// answered and everything that can be read afterwards. Stores that are alike give the same
// lines, also when the engine has one of them to itself.
func Play(ctx context.Context, seed uint64, commands int, store engine.Store, exclusive bool) ([]string, error) {
	p := &player{
		World: &World{
			dice: dice{rand.New(rand.NewPCG(seed, 0x706c6179))}, clock: NewClock(epoch),
			climate: climate{cancels: 3},
		},
		tenant: fmt.Sprintf("player-%d", seed),
		keys:   map[string][]byte{},
	}
	after, err := newest(ctx, store)
	if err != nil {
		return nil, err
	}
	var random [32]byte
	binary.BigEndian.PutUint64(random[:], seed)
	p.engine = engine.New(Timed{Store: store, After: after, Tenant: p.tenant}, p.clock, engine.Config{
		Exclusive: exclusive, Seed: &random, CacheBytes: []int{1, 16 << 10, 1 << 20}[p.dice.IntN(3)],
	})
	if err := p.found(ctx); err != nil {
		return nil, err
	}
	for p.sent < commands {
		p.act(ctx)
		if err := p.step(ctx); err != nil {
			return p.lines, err
		}
	}
	return p.lines, p.read(ctx)
}

// newest is the number of the newest execution of a store.
func newest(ctx context.Context, store engine.Store) (last int64, err error) {
	for {
		heads, err := store.Scan(ctx, last, 1000)
		if err != nil || len(heads) == 0 {
			return last, err
		}
		last = heads[len(heads)-1].Num
	}
}

// player is a World in which nothing goes wrong and nothing is checked, for one tenant.
type player struct {
	*World
	tenant string
	engine *engine.Engine
	sent   int
	past   []engine.Request
	keys   map[string][]byte // bodies of what was sent
	ids    []flow.ID
	tasks  []held
	lines  []string
}

func (p *player) say(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// found registers some graphs, some of them in two versions.
func (p *player) found(ctx context.Context) error {
	p.graphs = 1 + p.dice.IntN(3)
	for i := range p.graphs + p.dice.IntN(2) {
		row, created, err := p.engine.PutGraph(ctx, p.tenant, graphID(i%p.graphs), randomGraph(p.dice.Rand))
		if err != nil {
			return err
		}
		p.say("graph %s version %d %s at %v, new: %v", row.ID, row.Version, row.Digest, row.CreatedAt, created)
	}
	return nil
}

// act offers something to the engine: commands, one or more in a call, or a claim.
func (p *player) act(ctx context.Context) {
	p.clock.Move(
		[]time.Duration{0, 7 * time.Millisecond, 900 * time.Millisecond, 20 * time.Second}[min(p.dice.IntN(10),
			3)] * time.Duration(p.dice.IntN(2)),
	)
	if p.dice.IntN(6) == 0 {
		p.claimTasks()
		return
	}
	var reqs []engine.Request
	for range 1 + max(0, p.dice.IntN(6)-3) {
		reqs = append(reqs, p.request(ctx))
	}
	p.engine.Offer(reqs, func(results []engine.Result) {
		for i, res := range results {
			p.told(&reqs[i], res)
		}
	})
}

// request is a new command, or one that was sent before, now and then with another body.
func (p *player) request(ctx context.Context) engine.Request {
	if len(p.past) > 0 && p.dice.IntN(8) == 0 {
		req := p.past[p.dice.IntN(len(p.past))]
		if p.dice.IntN(4) == 0 {
			req.Idempotency = p.another(req.Idempotency, p.keys[req.Idempotency.Key])
		}
		return req
	}
	req := engine.Request{Tenant: p.tenant, Actor: flow.Actor{Kind: flow.KindUser, ID: "ann"}}
	if len(p.ids) == 0 || p.dice.IntN(8) == 0 {
		req.Command, req.GraphID, req.Start = flow.Create{Input: p.dice.data(1)}, graphID(p.dice.IntN(p.graphs)),
			p.dice.IntN(2) == 0
		if req.Start && p.dice.IntN(2) == 0 {
			req.Claim = p.dice.eager()
		}
	} else if len(p.tasks) > 0 && p.dice.IntN(3) == 0 {
		h := p.tasks[p.dice.IntN(len(p.tasks))]
		req.Execution, req.Command = h.task.Execution, p.dice.report(h.task.Node, h.task.Attempt, h.worker)
	} else {
		req.Execution = p.ids[p.dice.IntN(len(p.ids))]
		v, err := p.engine.Execution(ctx, p.tenant, req.Execution, 0)
		if err != nil {
			p.fail("execution %v: %v", req.Execution, err)
			v.State.Nodes = []*flow.Node{{}}
		}
		req.Command = p.commandOn(&audited{state: v.State})
	}
	req.Idempotency, req.CorrelationID = p.identity(req.Command.Name(), fmt.Appendf(nil, `{"command":%q,"on":%q}`,
		req.Command.Name(), req.Command.Target()))
	p.past = append(p.past, req)
	return req
}

// identity is a key and a correlation id that nothing else has.
func (p *player) identity(endpoint string, body []byte) (canonical.IdempotencyKey, string) {
	p.sent++
	key := fmt.Sprintf("k%04d", p.sent)
	p.keys[key] = body
	return p.keyOf(key, endpoint, body), "c" + key
}

func (p *player) claimTasks() {
	req := engine.ClaimRequest{
		Tenant: p.tenant, Worker: workers[p.dice.IntN(len(workers))], Queues: queues[:1+p.dice.IntN(len(queues))],
		Max: 1 + p.dice.IntN(4), Lease: 1 + p.dice.IntN(30),
	}
	req.Idempotency, req.CorrelationID = p.identity(claimEndpoint, []byte(`{"claim":true}`))
	p.engine.OfferClaim(req, func(out engine.Claimed, err error) {
		p.say("claim %s of %v: %v", req.Idempotency.Key, req.Queues, failure(err))
		for i := range out.Tasks {
			p.say("  task %s", showTask(&out.Tasks[i]))
			p.tasks = append(p.tasks, held{out.Tasks[i], p.tenant, req.Worker})
		}
	})
}

// told notes an answer.
func (p *player) told(req *engine.Request, res engine.Result) {
	p.say(
		"%s %s %s: %s%s",
		req.Idempotency.Key,
		req.Command.Name(),
		req.Command.Target(),
		show(&res.Answer),
		failure(res.Err),
	)
	if _, ok := req.Command.(flow.Create); ok && res.Err == nil && !res.Answer.Replay {
		p.ids = append(p.ids, res.Answer.Execution)
		for _, t := range res.Answer.Tasks {
			p.tasks = append(p.tasks, held{t, p.tenant, req.Claim.Worker})
		}
	}
}

// failure is an error as a caller sees it.
func failure(err error) string {
	f, ok := fault.As(err)
	switch {
	case err == nil:
		return ""
	case !ok:
		return ", failed: " + err.Error()
	}
	return fmt.Sprintf(", failed: %s %v %v", f.Code, err, f.Details)
}

// step lets the engine do all there is to do.
func (p *player) step(ctx context.Context) error {
	for n := 0; p.engine.Step(ctx); n++ {
		if n == 1000 {
			return fmt.Errorf("the engine does not come to rest")
		}
	}
	return p.err
}

// read tells everything that can be read.
func (p *player) read(ctx context.Context) error {
	for _, status := range [][]flow.Status{nil, {flow.Active}, {flow.Canceled, flow.Failed}} {
		heads, total, err := p.engine.List(ctx, engine.ListQuery{Tenant: p.tenant, Status: status, Limit: 10})
		if err != nil {
			return err
		}
		p.say("%d executions with %v", total, status)
		for _, h := range heads {
			h.Num = 0
			p.say("  %+v", h)
		}
	}
	for _, id := range p.ids {
		if err := p.readOne(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) readOne(ctx context.Context, id flow.ID) error {
	events, total, err := p.engine.Events(ctx, p.tenant, id, 1, 10_000)
	if err != nil {
		return err
	}
	p.say("execution %v: %d events", id, total)
	for _, ev := range events {
		line, err := ev.MarshalJSON()
		if err != nil {
			return err
		}
		p.say("  %s", line)
	}
	for _, at := range []uint64{0, 1 + p.dice.Uint64N(total)} {
		v, err := p.engine.Execution(ctx, p.tenant, id, at)
		if err != nil {
			return err
		}
		line, err := json.Marshal([]any{v.State, v.Late}, json.Deterministic(true))
		if err != nil {
			return err
		}
		p.say("  at %d: %s", at, line)
	}
	decided, n, err := p.engine.Commands(ctx, engine.CommandQuery{Tenant: p.tenant, Execution: id, Limit: 100})
	if err != nil {
		return err
	}
	p.say("  %d commands", n)
	for _, d := range decided {
		refused := ""
		if d.Refused != nil {
			refused = fmt.Sprintf("%+v", *d.Refused)
		}
		p.say("  %s %s %s at %v %d–%d %d %s late %t", d.Command, d.Node, d.Key, d.At, d.FirstSeq, d.LastSeq,
			d.CancelSeq, refused, d.Late != nil)
	}
	return nil
}
