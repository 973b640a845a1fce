package inbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenantA, tenantB = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"

// caller is whose deliveries the tests send.
var caller = Caller{Tenant: tenantA, CorrelationID: "call-1"}

// runner is the engine of a process.
type runner interface {
	Starter
	Run(ctx context.Context) error
	Submit(ctx context.Context, reqs []engine.Request) []engine.Result
	Claim(ctx context.Context, req engine.ClaimRequest) (engine.Claimed, error)
	Execution(ctx context.Context, tenant string, id flow.ID, upTo uint64) (engine.View, error)
	List(ctx context.Context, q engine.ListQuery) ([]engine.Head, int, error)
	Graph(ctx context.Context, tenant, id string, version int) (engine.GraphRow, error)
}

// process is a trigger with its engine and its connections.
type process struct {
	*Deliveries
	engine runner
	db     *sqldb.DB
}

// rig is a trigger over the real engine, with a clock that tests turn.
type rig struct {
	*testing.T
	process
	where sqldb.Config
	clock *clock
}

// clock stands until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)})) })
}

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	where.Migrations = []sqldb.Migration{store.Migration(), audit.Migration(), Migration()}
	r := &rig{T: t, where: where, clock: &clock{now: time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)}}
	r.process = r.open(Config{})
	return r
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// open is a process on the rig's database.
func (r *rig) open(cfg Config) process {
	r.Helper()
	db, err := sqldb.Open(r.Context(), r.where)
	if err != nil {
		r.Fatal(err)
	}
	var e runner
	st := store.New(db, store.Config{Silent: true})
	if db.Dialect() == sqldb.SQLite {
		e = engine.New(st, wall{}, engine.Config{Exclusive: true})
	} else {
		e = engine.NewShards(st, wall{}, engine.Config{}, 4)
	}
	serve, stop := context.WithCancel(context.Background())
	work, finish := context.WithCancel(context.Background())
	served, worked := make(chan error, 1), make(chan error, 1)
	go func() { served <- db.Run(serve) }()
	go func() { worked <- e.Run(work) }()
	r.Cleanup(func() {
		finish()
		first := <-worked
		stop()
		if err := errors.Join(first, <-served, db.Close()); err != nil {
			r.Error(err)
		}
	})
	cfg.Engine, cfg.Active = e, store.Active
	cfg.HasGraph = func(ctx context.Context, tenant, id string) (bool, error) {
		_, err := e.Graph(ctx, tenant, id, 0)
		if fault.KindOf(err) == fault.NotFound {
			return false, nil
		}
		return err == nil, err
	}
	if cfg.Now == nil {
		cfg.Now = r.clock.Now
	}
	return process{New(db, cfg), e, db}
}

// with is the rig with other settings, over the same engine.
func (r *rig) with(change func(*Config)) *rig {
	cfg := r.cfg
	change(&cfg)
	other := *r
	other.Deliveries = New(r.db, cfg)
	return &other
}

// closing is a template that an event month_close starts.
const closing = `{"name":"月次締め","year":2026,"month":1,"mfcloud_url":"https://example.com/mf",
	"notes":"from the template",
	"steps":[{"action":"month_close","trigger_kind":"external_event"}]}`

// template stores a template.
func (r *rig) template(id, body string) Stored {
	r.Helper()
	return r.templateOf(tenantA, id, body)
}

func (r *rig) templateOf(tenant, id, body string) Stored {
	r.Helper()
	tpl, err := ParseTemplate([]byte(body))
	if err != nil {
		r.Fatal(err)
	}
	stored, _, err := r.PutTemplate(r.Context(), tenant, id, tpl)
	if err != nil {
		r.Fatal(err)
	}
	return stored
}

// deliver sends a body and gives the answer.
func (r *rig) deliver(body string) (Outcome, error) {
	r.Helper()
	return r.deliverTo(caller, body)
}

func (r *rig) deliverTo(call Caller, body string) (Outcome, error) {
	r.Helper()
	d, err := ParseDelivery([]byte(body), "")
	if err != nil {
		return r.Refuse(r.Context(), call, d, err)
	}
	return r.Deliver(r.Context(), call, d)
}

// starts sends a body that must start a run.
func (r *rig) starts(body string) Outcome {
	r.Helper()
	out, err := r.deliver(body)
	if err != nil || out.Duplicate || out.RunID == "" {
		r.Fatalf("%s: got %+v %v, want a run", body, out, err)
	}
	return out
}

// repeats sends a body that must lead to a run that is there.
func (r *rig) repeats(body, run string) Outcome {
	r.Helper()
	out, err := r.deliver(body)
	if err != nil || !out.Duplicate || out.RunID != run {
		r.Fatalf("%s: got %+v %v, want a duplicate of %s", body, out, err, run)
	}
	return out
}

// refused sends a body that must be refused.
func (r *rig) refused(body string, want fault.Kind, message string, reason fault.Reason) {
	r.Helper()
	out, err := r.deliver(body)
	failure, _ := fault.As(err)
	if failure == nil || out != (Outcome{}) || fault.KindOf(err) != want || failure.Message != message ||
		failure.Reason != reason {
		r.Errorf("%s:\ngot  %+v %v %+v\nwant %v %q %+v", body, out, err, failure, want, message, reason)
	}
}

// end cancels a run.
func (r *rig) end(run string) {
	r.Helper()
	r.command(run, flow.Cancel{})
}

func (r *rig) command(run string, cmd flow.Command) {
	r.Helper()
	id, err := flow.ParseID(run)
	if err != nil {
		r.Fatal(err)
	}
	res := r.engine.Submit(r.Context(), []engine.Request{{Tenant: tenantA, Execution: id, Command: cmd}})[0]
	if res.Err != nil || res.Answer.Refused != nil {
		r.Fatalf("%s: %+v", cmd.Name(), res)
	}
}

// entries are the newest lines of the audit log.
func (r *rig) entries(n int) []audit.Entry {
	r.Helper()
	page, _, err := audit.New(r.db).List(r.Context(), audit.Query{Tenant: tenantA, Limit: n})
	if err != nil {
		r.Fatal(err)
	}
	return page
}

// count is the number that a query gives.
func (r *rig) count(query string, args ...any) (n int) {
	r.Helper()
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, query,
			args...).Scan(&n)
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// runs is how many executions there are.
func (r *rig) runs() int {
	r.Helper()
	_, n, err := r.engine.List(r.Context(), engine.ListQuery{Tenant: tenantA, Limit: 1})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// view is an execution.
func (r *rig) view(run string) flow.State {
	r.Helper()
	id, err := flow.ParseID(run)
	if err != nil {
		r.Fatal(err)
	}
	v, err := r.engine.Execution(r.Context(), tenantA, id, 0)
	if err != nil {
		r.Fatal(err)
	}
	return v.State
}

func keyed(key string, month int) string {
	return fmt.Sprintf(`{"idempotency_key":%q,"month":%d}`, key, month)
}

func at(t time.Time) canonical.Stamp { return canonical.Stamp(t.UnixMilli()) }

// logged is a logger that signals every line.
func logged(written chan<- struct{}) *slog.Logger { return slog.New(handler{written}) }

type handler struct{ written chan<- struct{} }

func (h handler) Enabled(context.Context, slog.Level) bool { return true }
func (h handler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h handler) WithGroup(string) slog.Handler            { return h }

func (h handler) Handle(context.Context, slog.Record) error {
	select {
	case h.written <- struct{}{}:
	default:
	}
	return nil
}
