package messages

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenantA, tenantB = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"

// rig is messages over the real engine, with a clock that tests turn. Unless run was called, tests deliver what is
// queued.
type rig struct {
	*testing.T
	*Messages
	engine interface {
		Engine
		Run(ctx context.Context) error
		Submit(ctx context.Context, reqs []engine.Request) []engine.Result
		PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
		Execution(ctx context.Context, tenant string, id flow.ID, upTo uint64) (engine.View, error)
		List(ctx context.Context, q engine.ListQuery) ([]engine.Head, int, error)
	}
	millis atomic.Int64
	keys   atomic.Int64
}

// Now is the time of the rig.
func (r *rig) Now() time.Time { return time.UnixMilli(r.millis.Load()).UTC() }

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(newRig(t, sqldb.Config{URL: pgtest.New(t)}))
	})
}

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	where.Migrations = []sqldb.Migration{store.Migration(), Migration(), idempotency.Migration()}
	r := &rig{T: t}
	r.millis.Store(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC).UnixMilli())
	db, err := sqldb.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(db, store.Config{
		Silent: true, Late: func(l *engine.Late) (sqldb.Stmt, func(), error) { return r.Late(l) },
		Awaits: func(tenant string, of flow.Awaited) { r.Awaits(tenant, of) },
	})
	if db.Dialect() == sqldb.SQLite {
		r.engine = engine.New(st, r, engine.Config{Exclusive: true})
	} else {
		r.engine = engine.NewShards(st, r, engine.Config{}, 2)
	}
	r.Messages = New(db, Config{
		Engine: r.engine, Awaiting: store.Awaiting, IsAwaited: store.IsAwaited, Subscribed: store.Subscribed,
		Now: r.Now,
	})
	serve, stop := context.WithCancel(context.Background())
	work, finish := context.WithCancel(context.Background())
	served, worked := make(chan error, 1), make(chan error, 1)
	go func() { served <- db.Run(serve) }()
	go func() { worked <- r.engine.Run(work) }()
	t.Cleanup(func() {
		finish()
		first := <-worked
		stop()
		if err := errors.Join(first, <-served, db.Close()); err != nil {
			t.Error(err)
		}
	})
	r.graph(tenantA, "order", waits)
	r.graph(tenantB, "order", waits)
	return r
}

// waits is a graph that waits for paid, then for shipped.
const waits = `{"nodes":[{"nodeId":"s","type":"Start"},
	{"nodeId":"paid","type":"Wait","message":{"name":"paid","key":"input.orderId"},"schema":{"required":["amount"]}},
	{"nodeId":"shipped","type":"Wait","message":{"name":"shipped","key":"input.orderId"}},
	{"nodeId":"e","type":"Success"}],
	"edges":[{"from":"s","to":"paid"},{"from":"paid","to":"shipped"},{"from":"shipped","to":"e"}]}`

// starts is a graph that messages of a name start.
func starts(name string) string {
	return `{"nodes":[{"nodeId":"s","type":"Start","message":{"name":"` + name + `"}},{"nodeId":"e","type":"Success"}],
		"edges":[{"from":"s","to":"e"}]}`
}

func (r *rig) graph(tenant, id, text string) {
	r.Helper()
	g, err := flow.ParseGraph([]byte(text), false)
	if err != nil {
		r.Fatal(err)
	}
	if _, _, err := r.engine.PutGraph(r.Context(), tenant, id, g); err != nil {
		r.Fatal(err)
	}
}

// order starts an execution that waits for paid.
func (r *rig) order(tenant, key string) flow.ID {
	r.Helper()
	input := flow.Data(`{"orderId":"` + key + `"}`)
	return r.submit(engine.Request{
		Tenant: tenant, GraphID: "order", Start: true, Command: flow.Create{Input: input},
	})
}

func (r *rig) submit(req engine.Request) flow.ID {
	r.Helper()
	res := r.engine.Submit(r.Context(), []engine.Request{req})[0]
	if res.Err != nil || res.Answer.Refused != nil {
		r.Fatalf("%+v", res)
	}
	return res.Answer.Execution
}

func (r *rig) cancel(tenant string, id flow.ID) {
	r.Helper()
	r.submit(engine.Request{Tenant: tenant, Execution: id, Command: flow.Cancel{}})
}

// send sends a message under a key of its own.
func (r *rig) send(tenant, body string) Sent {
	r.Helper()
	sent, _, err := r.try(tenant, fmt.Sprint("key-", r.keys.Add(1)), body)
	if err != nil {
		r.Fatalf("%s: %v", body, err)
	}
	return sent
}

func (r *rig) try(tenant, key, body string) (Sent, bool, error) {
	r.Helper()
	d, err := ParseDraft([]byte(body))
	if err != nil {
		return Sent{}, false, err
	}
	idem, err := canonical.ParseIdempotencyKey(key, "POST /messages ann", []byte(body))
	if err != nil {
		r.Fatal(err)
	}
	return r.Send(r.Context(), Caller{Tenant: tenant, Subject: "ann", CorrelationID: "c-1"}, d, &idem)
}

// settle delivers what is queued.
func (r *rig) settle() {
	r.Helper()
	for {
		select {
		case of := <-r.queue:
			if err := r.deliver(r.Context(), of); err != nil {
				r.Fatal(err)
			}
		default:
			return
		}
	}
}

// die forgets what is queued, as a killed process does.
func (r *rig) die() {
	for len(r.queue) > 0 {
		<-r.queue
	}
}

// run lets the loop deliver until the returned function is called.
func (r *rig) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Messages.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// at is the node at which an execution waits, or how it ended.
func (r *rig) at(tenant string, id flow.ID) string {
	r.Helper()
	s := r.state(tenant, id)
	for _, n := range s.Nodes {
		if n.Status == flow.NodeIsWaiting {
			return n.ID
		}
	}
	return s.Status.String()
}

func (r *rig) state(tenant string, id flow.ID) flow.State {
	r.Helper()
	v, err := r.engine.Execution(r.Context(), tenant, id, 0)
	if err != nil {
		r.Fatal(err)
	}
	return v.State
}

// is asks for the state of a message.
func (r *rig) is(tenant, id string, want State) Message {
	r.Helper()
	got, err := r.Get(r.Context(), tenant, id)
	if err != nil || got.State != want {
		r.Fatalf("message %s is %s (%v), want %s: %+v", id, got.State, err, want, got)
	}
	return got
}

// wants compares where an execution is.
func (r *rig) wants(tenant string, id flow.ID, want string) {
	r.Helper()
	if got := r.at(tenant, id); got != want {
		r.Errorf("the execution is at %s, want %s", got, want)
	}
}
