package schedules

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenantA, tenantB = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"

var ann = Caller{Tenant: tenantA, Subject: "ann", CorrelationID: "call-1"}

// clock stands until it is moved. It begins at base.
type clock struct{ at atomic.Int64 }

func (c *clock) Now() time.Time { return time.UnixMilli(c.at.Load()).UTC() }

func (c *clock) forward(d time.Duration) { c.at.Add(d.Milliseconds()) }

// rig is schedules over the real engine, with a clock that tests turn and a loop that they step.
type rig struct {
	*testing.T
	*Schedules
	engine interface {
		Engine
		Run(ctx context.Context) error
		Submit(ctx context.Context, reqs []engine.Request) []engine.Result
		PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
		Graph(ctx context.Context, tenant, id string, version int) (engine.GraphRow, error)
		Execution(ctx context.Context, tenant string, id flow.ID, upTo uint64) (engine.View, error)
		List(ctx context.Context, q engine.ListQuery) ([]engine.Head, int, error)
	}
	clock *clock
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)}))
	})
}

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	where.Migrations = []sqldb.Migration{
		store.Migration(), audit.Migration(), Migration(), idempotency.Migration(),
	}
	r := &rig{T: t, clock: &clock{}}
	r.clock.at.Store(base.UnixMilli())
	db, err := sqldb.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(db, store.Config{Silent: true})
	if db.Dialect() == sqldb.SQLite {
		r.engine = engine.New(st, r.clock, engine.Config{Exclusive: true})
	} else {
		r.engine = engine.NewShards(st, r.clock, engine.Config{}, 2)
	}
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
	r.Schedules = New(db, Config{
		Engine: r.engine, Active: store.Active, Now: r.clock.Now,
		HasGraph: func(ctx context.Context, tenant, id string) (bool, error) {
			_, err := r.engine.Graph(ctx, tenant, id, 0)
			if fault.KindOf(err) == fault.NotFound {
				return false, nil
			}
			return err == nil, err
		},
	})
	r.graph(tenantA, "work", "Task")
	r.graph(tenantA, "instant", "")
	return r
}

// graph registers a graph of one node between start and end, or of none.
func (r *rig) graph(tenant, id, node string) {
	r.Helper()
	text := `{"nodes":[{"nodeId":"s","type":"Start"},{"nodeId":"e","type":"Success"}],
		"edges":[{"from":"s","to":"e"}]}`
	if node != "" {
		text = `{"nodes":[{"nodeId":"s","type":"Start"},{"nodeId":"n","type":"` + node + `"},
			{"nodeId":"e","type":"Success"}],"edges":[{"from":"s","to":"n"},{"from":"n","to":"e"}]}`
	}
	g, err := flow.ParseGraph([]byte(text), false)
	if err != nil {
		r.Fatal(err)
	}
	if _, _, err := r.engine.PutGraph(r.Context(), tenant, id, g); err != nil {
		r.Fatal(err)
	}
}

// put stores a schedule of a tenant.
func (r *rig) put(tenant, id, body string) Schedule {
	r.Helper()
	d, err := ParseDefinition([]byte(body))
	if err != nil {
		r.Fatal(err)
	}
	c := ann
	c.Tenant = tenant
	stored, _, err := r.Put(r.Context(), c, id, d)
	if err != nil {
		r.Fatal(err)
	}
	return stored
}

// later moves the clock and lets the loop decide about all that is due.
func (r *rig) later(d time.Duration) {
	r.Helper()
	r.clock.forward(d)
	r.run()
}

func (r *rig) run() {
	r.Helper()
	for worked := true; worked; {
		var err error
		if worked, _, err = r.step(r.Context()); err != nil {
			r.Fatal(err)
		}
	}
}

// ledger is all rows of a schedule, the oldest first.
func (r *rig) ledger(id string) []Run {
	r.Helper()
	rows, total, err := r.Runs(r.Context(), tenantA, id, RunQuery{Limit: 1000})
	if err != nil || total != len(rows) {
		r.Fatal(len(rows), total, err)
	}
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	return rows
}

// words are the outcomes of a ledger, with their reasons and how many instants they are about.
func (r *rig) words(id string) (all []string) {
	r.Helper()
	for _, run := range r.ledger(id) {
		word := run.Outcome.String()
		if run.Reason != "" {
			word += " " + run.Reason
		}
		if run.Instants > 1 {
			word += " x" + string(rune('0'+run.Instants))
		}
		all = append(all, word)
	}
	return all
}

// executions are those of a tenant, the newest first.
func (r *rig) executions(tenant string) []engine.Head {
	r.Helper()
	all, _, err := r.engine.List(r.Context(), engine.ListQuery{Tenant: tenant, Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	return all
}

// state is an execution.
func (r *rig) state(id string) flow.State {
	r.Helper()
	v, err := r.engine.Execution(r.Context(), tenantA, parsed(r, id), 0)
	if err != nil {
		r.Fatal(err)
	}
	return v.State
}

func parsed(t testing.TB, id string) flow.ID {
	t.Helper()
	got, err := flow.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// end cancels an execution.
func (r *rig) end(id string) {
	r.Helper()
	res := r.engine.Submit(r.Context(), []engine.Request{{
		Tenant: tenantA, Execution: parsed(r, id), Command: flow.Cancel{},
	}})[0]
	if res.Err != nil || res.Answer.Refused != nil {
		r.Fatalf("%+v", res)
	}
}

// last is the execution that a schedule started last.
func (r *rig) last(id string) string {
	r.Helper()
	s, err := r.Get(r.Context(), tenantA, id)
	if err != nil {
		r.Fatal(err)
	}
	return s.ExecutionID
}

func stamp(text string) canonical.Stamp {
	s, err := canonical.ParseStamp(text)
	if err != nil {
		panic(err)
	}
	return s
}
