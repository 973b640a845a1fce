package airflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/recheck/airflow/airflowtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

const tenant, queue = "default", "pdca.recheck"

// runner is an engine.
type runner interface {
	Engine
	Run(ctx context.Context) error
	PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
	Execution(ctx context.Context, tenant string, id flow.ID, upTo uint64) (engine.View, error)
}

// rig is the real engine over a database, and an Airflow of the tests.
type rig struct {
	*testing.T
	engine  runner
	airflow *airflowtest.Server
	log     *journal
}

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// onEvery runs a test on every database.
func onEvery(t *testing.T, cfg airflowtest.Config, test func(r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}, cfg))
	})
	t.Run("postgres", func(t *testing.T) { test(newRig(t, sqldb.Config{URL: pgtest.New(t)}, cfg)) })
}

// onSQLite is a rig for what has nothing to do with the database.
func onSQLite(t *testing.T, cfg airflowtest.Config) *rig {
	t.Helper()
	return newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}, cfg)
}

func newRig(t *testing.T, where sqldb.Config, cfg airflowtest.Config) *rig {
	t.Helper()
	r := &rig{T: t, log: &journal{}}
	where.Migrations = []sqldb.Migration{store.Migration()}
	db, err := sqldb.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(db, store.Config{Silent: true})
	if db.Dialect() == sqldb.SQLite {
		r.engine = engine.New(st, wall{}, engine.Config{Exclusive: true})
	} else {
		r.engine = engine.NewShards(st, wall{}, engine.Config{}, 2)
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
		for _, secret := range []string{"airflow-pass", "c2VjcmV0LXRva2Vu"} {
			if strings.Contains(r.log.String(), secret) {
				t.Errorf("a credential is in the log:\n%s", r.log)
			}
		}
	})
	r.airflow = airflowtest.New(t, cfg)
	return r
}

// adapter is one that works on the rig until stop, at the latest with the test.
func (r *rig) adapter(change func(*Config, *Ports)) (a *Adapter, stop func()) {
	r.Helper()
	cfg := quick(r.airflow)
	ports := Ports{
		Engine: r.engine, Queue: queue, Worker: "airflow-1", Parse: parse,
		Tenants: func(context.Context) ([]string, error) { return []string{tenant, "other"}, nil },
		Log:     slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&cfg, &ports)
	}
	a, err := New(cfg, ports)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	r.Cleanup(stop)
	return a, stop
}

// input is that of a batch.
type input struct {
	RequestID  string            `json:"request_id"`
	Strategies map[string]string `json:"strategies"`
}

func parse(node string, data flow.Data) (Check, error) {
	var in input
	if err := json.Unmarshal(data, &in); err != nil || in.Strategies[node] == "" {
		return Check{}, fmt.Errorf("node %s has no strategy", node)
	}
	return Check{
		RequestID: in.RequestID, Strategy: in.Strategies[node], Reason: "test",
		TraceID: "0af7651916cd43dd8448eb211c80319c",
	}, nil
}

// batch starts an execution with n checks, s1 to sn, of the strategies strat.1 on.
func (r *rig) batch(of, request string, n int) flow.ID {
	r.Helper()
	g := flow.Graph{Nodes: []flow.NodeSpec{
		{NodeID: "start", Type: flow.StartKind},
		{NodeID: "fork", Type: flow.ForkKind},
		{NodeID: "join", Type: flow.JoinKind, Policy: flow.AllDone},
		{NodeID: "end", Type: flow.SuccessKind},
	}}
	g.Edges = []flow.Edge{{From: "start", To: "fork"}, {From: "join", To: "end"}}
	in := input{request, map[string]string{}}
	for i := range n {
		id := fmt.Sprintf("s%d", i+1)
		g.Nodes = append(g.Nodes, flow.NodeSpec{NodeID: id, Type: flow.TaskKind, Queue: queue, Retry: &flow.Retry{
			MaxAttempts: 5, InitialInterval: flow.Duration(10 * time.Millisecond), Backoff: 1,
			MaxInterval: flow.Duration(time.Second),
		}})
		g.Edges = append(g.Edges, flow.Edge{From: "fork", To: id}, flow.Edge{From: id, To: "join"},
			flow.Edge{From: id, To: "join", On: flow.OnFailure})
		in.Strategies[id] = fmt.Sprintf("strat.%d", i+1)
	}
	graph := fmt.Sprintf("checks-%d", n)
	if _, _, err := r.engine.PutGraph(r.Context(), of, graph, g); err != nil {
		r.Fatal(err)
	}
	data, err := json.Marshal(in)
	if err != nil {
		r.Fatal(err)
	}
	got := r.engine.Submit(r.Context(), []engine.Request{{
		Tenant: of, GraphID: graph, Start: true,
		Command: flow.Create{Input: data},
	}})[0]
	if got.Err != nil || got.Answer.Refused != nil {
		r.Fatal(got.Err, got.Answer.Refused)
	}
	return got.Answer.Execution
}

// nodes are the nodes of an execution, by their ids.
func (r *rig) nodes(of string, id flow.ID) (flow.Status, map[string]flow.Node) {
	r.Helper()
	v, err := r.engine.Execution(r.Context(), of, id, 0)
	if err != nil {
		r.Fatal(err)
	}
	nodes := map[string]flow.Node{}
	for _, n := range v.State.Nodes {
		nodes[n.ID] = *n
	}
	return v.State.Status, nodes
}

// ended waits for the end of an execution.
func (r *rig) ended(of string, id flow.ID) map[string]flow.Node {
	r.Helper()
	var nodes map[string]flow.Node
	wait(r.T, "the end of the execution", func() bool {
		var status flow.Status
		status, nodes = r.nodes(of, id)
		return status.Terminal()
	})
	return nodes
}

// cancel cancels an execution.
func (r *rig) cancel(id flow.ID) {
	r.Helper()
	got := r.engine.Submit(r.Context(), []engine.Request{{
		Tenant: tenant, Execution: id,
		Command: flow.Cancel{Reason: "test"},
	}})[0]
	if got.Err != nil || got.Answer.Refused != nil {
		r.Fatal(got.Err, got.Answer.Refused)
	}
}

// running waits until Airflow has n runs, and gives them.
func (r *rig) running(n int) []airflowtest.Run {
	r.Helper()
	wait(r.T, "runs in Airflow", func() bool { return len(r.airflow.Runs()) == n })
	return r.airflow.Runs()
}
