package engine_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/sim"
)

const tenant = "acme"

// rig is an engine on a store in memory, stepped by hand.
type rig struct {
	*testing.T
	*engine.Engine
	mem   *sim.Memory
	clock *sim.Clock
	log   *slog.Logger
	keys  int
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, mem: sim.NewMemory(), clock: sim.NewClock(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC))}
	r.restart()
	r.graph("line", taskQueue("a", "b", "c"))
	r.graph("pair", pair())
	return r
}

// restart makes another engine on what is stored.
func (r *rig) restart() {
	r.keys += 1000 // IDs and keys of another life
	seed := [32]byte{byte(r.keys >> 8), byte(r.keys)}
	r.Engine = engine.New(r.mem, r.clock, engine.Config{Exclusive: true, Seed: &seed, Log: r.log})
}

// taskQueue is a graph of Tasks after each other, all of one queue.
func taskQueue(tasks ...string) string {
	var s strings.Builder
	s.WriteString(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"end","type":"Success"}`)
	for _, id := range tasks {
		fmt.Fprintf(&s, `,{"nodeId":%q,"type":"Task","queue":"q"}`, id)
	}
	s.WriteString(`],"edges":[`)
	from := "start"
	for _, id := range tasks {
		fmt.Fprintf(&s, `{"from":%q,"to":%q},`, from, id)
		from = id
	}
	fmt.Fprintf(&s, `{"from":%q,"to":"end"}]}`, from)
	return s.String()
}

// pair is a graph with two Tasks at the same time, in two queues, the first with a retry.
func pair() string {
	return `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},
		{"nodeId":"a","type":"Task","queue":"q","retry":{"maxAttempts":3,"initialInterval":"10s","backoff":1}},
		{"nodeId":"b","type":"Task","queue":"other"},
		{"nodeId":"join","type":"Join"},{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"b"},
		{"from":"a","to":"join"},{"from":"b","to":"join"},{"from":"join","to":"end"}]}`
}

func (r *rig) graph(id, text string) {
	r.Helper()
	g, err := flow.ParseGraph([]byte(text), false)
	if err != nil {
		r.Fatal(err)
	}
	if _, _, err := r.PutGraph(r.Context(), tenant, id, g); err != nil {
		r.Fatal(err)
	}
}

// keyOf is the idempotency key of a request. Members "n" and "of" are its body.
func (r *rig) keyOf(key, endpoint string, n int) canonical.IdempotencyKey {
	r.Helper()
	idempotencyKey, err := canonical.ParseIdempotencyKey(key, endpoint, fmt.Appendf(nil, `{"n":%d,"of":"test"}`, n))
	if err != nil {
		r.Fatal(err)
	}
	return idempotencyKey
}

// to is a request with a key of its own.
func (r *rig) to(id flow.ID, cmd flow.Command) engine.Request {
	r.Helper()
	r.keys++
	return engine.Request{
		Tenant: tenant, Execution: id, Command: cmd, Idempotency: r.keyOf(fmt.Sprintf("key-%d", r.keys), cmd.Name(), 1),
		Actor: flow.Actor{Kind: flow.KindUser, ID: "ann"}, CorrelationID: fmt.Sprintf("corr-%d", r.keys),
	}
}

func (r *rig) creation(graph string) engine.Request {
	r.Helper()
	req := r.to(flow.ID{}, flow.Create{Input: flow.Data(`{"n":1}`)})
	req.GraphID = graph
	return req
}

// settle steps until nothing is left to do.
func (r *rig) settle() {
	for r.Step(r.Context()) {
	}
}

// offer hands requests over as one call; the results are there after settle.
func (r *rig) offer(reqs ...engine.Request) *[]engine.Result {
	results := new([]engine.Result)
	r.Offer(reqs, func(got []engine.Result) { *results = got })
	return results
}

// send decides requests in one commit.
func (r *rig) send(reqs ...engine.Request) []engine.Result {
	results := r.offer(reqs...)
	r.settle()
	return *results
}

// must decides one request that has to be accepted.
func (r *rig) must(req engine.Request) engine.Answer {
	r.Helper()
	return r.accepted(r.send(req)[0])
}

func (r *rig) accepted(res engine.Result) engine.Answer {
	r.Helper()
	if res.Err != nil || res.Answer.Refused != nil {
		r.Fatalf("got %+v, want accepted", res)
	}
	return res.Answer
}

// started is a new execution that was started.
func (r *rig) started(graph string) flow.ID {
	r.Helper()
	id := r.must(r.creation(graph)).Execution
	r.must(r.to(id, flow.Start{}))
	return id
}

// state is an execution as it is stored.
func (r *rig) state(id flow.ID) flow.State {
	r.Helper()
	v, err := r.Execution(r.Context(), tenant, id, 0)
	if err != nil {
		r.Fatal(err)
	}
	return v.State
}

// node asks for the status of a node.
func (r *rig) node(id flow.ID, node string, want flow.NodeStatus) {
	r.Helper()
	s := r.state(id)
	if n, _ := s.Find(node); n == nil || n.Status != want {
		r.Errorf("node %s: got %+v, want %v", node, n, want)
	}
}

// claiming is a claim of a worker on queue q.
func (r *rig) claiming(worker string, most int, wait time.Duration) engine.ClaimRequest {
	r.Helper()
	r.keys++
	return engine.ClaimRequest{
		Tenant: tenant, Worker: worker, Queues: []string{"q"}, Max: most, Wait: wait, Lease: 30,
		Idempotency: r.keyOf(
			fmt.Sprintf("key-%d", r.keys),
			"POST /tasks/claim",
			1,
		), CorrelationID: fmt.Sprintf("corr-%d",
			r.keys),
	}
}

// claimed is what becomes of a claim.
type claimed struct {
	engine.Claimed
	err      error
	answered bool
	withdraw func() bool
}

func (r *rig) claim(req engine.ClaimRequest) *claimed {
	c := &claimed{}
	c.withdraw = r.OfferClaim(req, func(out engine.Claimed, err error) {
		if c.answered {
			r.Errorf("claim %s is answered twice", req.Idempotency.Key)
		}
		c.Claimed, c.err, c.answered = out, err, true
	})
	return c
}

// tasks asks for what a claim got: executions, in order.
func (r *rig) tasks(c *claimed, want ...flow.ID) {
	r.Helper()
	var got []flow.ID
	for _, t := range c.Tasks {
		got = append(got, t.Execution)
	}
	if !c.answered || c.err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		r.Errorf("claim: answered %v, tasks of %v, %v; want %v", c.answered, got, c.err, want)
	}
}

// kind asks for the kind and code of an error.
func (r *rig) kind(err error, kind fault.Kind, code string) *fault.Error {
	r.Helper()
	f, ok := fault.As(err)
	if !ok || f.Kind != kind || f.Code != code {
		r.Fatalf("got %v, want %v %s", err, kind, code)
	}
	return f
}

var errBroken = errors.New("broken")
