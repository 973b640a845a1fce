package automation_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenant = "00000000-0000-4000-8000-00000000000a"

// id makes ids that are easy to read.
func id(n int) string { return fmt.Sprintf("0199c1a4-0000-7000-8000-%012d", n) }

// The people of the tests.
var ann, ben, cho, team = id(1), id(2), id(3), id(8)

// rig is automation with real records, a real engine and a real bus over a database of its
// own.
type rig struct {
	*testing.T
	db       *sqldb.DB
	engine   *engine.Engine
	carrier  *memory.Carrier
	bus      *bus.Bus
	models   *metadata.Models
	metadata *metadata.Metadata
	records  *records.Records
	auto     *automation.Automation
	clock    atomic.Int64
	taken    atomic.Int64 // events
	twice    atomic.Bool  // every event is handed to the handler again
	lossy    atomic.Bool  // the first transaction that takes an event is undone
	tried    sync.Map     // events
	behind   func(e *events.Event)
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	onSQLite(t, test)
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)}))
	})
}

// onSQLite runs a test whose statements others run on every database.
func onSQLite(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
}

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	r := &rig{T: t, models: metadata.NewModels(), carrier: memory.New()}
	r.clock.Store(time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC).UnixMilli())
	where.Migrations = []sqldb.Migration{
		store.Migration(), audit.Migration(), bus.Migration(), metadata.Migration(), records.Migration(),
		sharing.Migration(), automation.Migration(), idempotency.Migration(),
	}
	db, err := sqldb.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	r.db = db
	waiting := func(w *engine.WaitRow) (sqldb.Stmt, bool) { return r.auto.Waiting(w) }
	r.engine = engine.New(store.New(db, store.Config{Silent: true, Waiting: waiting}), r,
		engine.Config{Exclusive: db.Dialect() == sqldb.SQLite})
	r.bus = bus.New(db, r.carrier, bus.Config{Instance: "test", Exclusive: db.Dialect() == sqldb.SQLite})
	shared := sharing.New(db, sharing.Config{Models: r.models, Records: records.Reads{}, Bus: r.bus})
	r.records = records.New(db, records.Config{
		Models: r.models, Visible: shared, Publisher: r.bus, Rules: automation.Rules{}, Now: r.Now,
	})
	r.auto = automation.New(db, automation.Config{
		Models: r.models, Records: records.Reads{}, Writer: r.records, Engine: r.engine, Now: r.Now,
		Approvers: func(context.Context, *sqldb.Tx, string, string) ([]string, error) {
			return []string{ben, cho},
				nil
		},
	})
	consumer := r.auto.Consumer()
	handle := consumer.Handle
	consumer.Handle = func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
		err := handle(ctx, tx, e)
		if _, again := r.tried.LoadOrStore(e.ID, true); err == nil && r.lossy.Load() && !again {
			return errors.New("the process died")
		}
		if err == nil && r.twice.Load() {
			err = handle(ctx, tx, e)
		}
		if err != nil {
			return err
		}
		tx.OnCommit(func() {
			if r.behind != nil {
				r.behind(e)
			}
			r.taken.Add(1)
		})
		return nil
	}
	together := consumer.HandleAll
	consumer.HandleAll = func(ctx context.Context, tx *sqldb.Tx, batch []*events.Event) error {
		if r.lossy.Load() || r.twice.Load() {
			return errors.New("one by one")
		}
		if err := together(ctx, tx, batch); err != nil {
			return err
		}
		tx.OnCommit(func() {
			for _, e := range batch {
				if r.behind != nil {
					r.behind(e)
				}
				r.taken.Add(1)
			}
		})
		return nil
	}
	r.bus.Subscribe(consumer)
	r.metadata = metadata.New(db, metadata.Config{Models: r.models, Bus: r.bus, InUse: r.records.InUse})
	r.serve()
	r.people()
	return r
}

// Now is the time of the rig.
func (r *rig) Now() time.Time { return time.UnixMilli(r.clock.Load()) }

// at turns the clock.
func (r *rig) at(text string) {
	r.Helper()
	s, err := canonical.ParseStamp(text)
	if err != nil {
		r.Fatal(err)
	}
	r.clock.Store(int64(s))
}

// serve runs database, engine and bus until the test ends.
func (r *rig) serve() {
	serving, stop := context.WithCancel(context.Background())
	database := make(chan error, 1)
	go func() { database <- r.db.Run(serving) }()
	working, rest := context.WithCancel(context.Background())
	deciding, carrying := make(chan error, 1), make(chan error, 1)
	go func() { deciding <- r.engine.Run(working) }()
	go func() { carrying <- r.bus.Run(working) }()
	r.Cleanup(func() {
		rest()
		err := errors.Join(<-deciding, <-carrying)
		stop()
		if err := errors.Join(err, <-database, r.db.Close()); err != nil {
			r.Error(err)
		}
	})
}

// define stores a definition and publishes it.
func (r *rig) define(kind model.Kind, id, body string) {
	r.Helper()
	if _, _, err := r.metadata.Put(r.Context(), metadata.Change{
		Tenant: tenant, Kind: kind, ID: id, Actor: "test",
		CorrelationID: "test",
	}, []byte(body)); err != nil {
		r.Fatal(err)
	}
}

// change is one of a definition.
func (r *rig) change(kind model.Kind, n int) metadata.Change {
	return metadata.Change{Tenant: tenant, Kind: kind, ID: id(n), Actor: "test", CorrelationID: "test"}
}

// people are Ann and Ben, who may do everything, Cho who left, and a queue of all.
func (r *rig) people() {
	r.Helper()
	r.define(model.KindPermissionSet, id(9), `{"name":"all","modifyAll":true,"objects":{}}`)
	for n, name := range []string{"Ann", "Ben", "Cho"} {
		r.define(
			model.KindUser,
			id(n+1),
			fmt.Sprintf(`{"name":%q,"permissionSetIds":[%q],"isActive":%v}`, name, id(9),
				name != "Cho"),
		)
	}
	r.define(model.KindGroup, team, `{"name":"Team","type":"queue","members":[{"type":"User","id":"`+ann+
		`"},{"type":"User","id":"`+ben+`"},{"type":"User","id":"`+cho+`"}]}`)
}

// rule defines a workflow rule that acts after saves.
func (r *rig) rule(n int, name, object, on, condition, actions string) {
	r.Helper()
	if condition == "" {
		condition = "true"
	}
	r.define(model.KindWorkflowRule, id(n),
		fmt.Sprintf(`{"name":%q,"object":%q,"on":%s,"when":"after","condition":%q,"actions":%s}`, name, object, on,
			condition, actions))
}

// save does one operation on a record, as Ann, and gives it.
func (r *rig) save(object string, op records.Op, fields string) records.View {
	r.Helper()
	if err := json.Unmarshal([]byte(fields), &op.Fields); err != nil {
		r.Fatal(err)
	}
	var v records.View
	_, _, err := r.records.Apply(r.Context(), records.Caller{Tenant: tenant, Subject: ann, CorrelationID: "test"},
		records.Batch{Object: object, Ops: []records.Op{op}, AllOrNone: true}, func(results []records.Result) ([]byte,
			error,
		) {
			v = results[0].View()
			return []byte("{}"), nil
		})
	if err != nil {
		r.Fatal(err)
	}
	return v
}

func (r *rig) create(object, fields string) records.View {
	r.Helper()
	return r.save(object, records.Op{Kind: records.Create}, fields)
}

func (r *rig) update(v records.View, fields string) records.View {
	r.Helper()
	return r.save(v.Object, records.Op{Kind: records.Update, ID: v.ID}, fields)
}

// field is a field of a record as it is now.
func (r *rig) field(v records.View, name string) any {
	r.Helper()
	now, err := r.records.Get(r.Context(), records.Caller{Tenant: tenant}, v.Object, v.ID)
	if err != nil {
		r.Fatal(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(now.Fields, &fields); err != nil {
		r.Fatal(err)
	}
	return fields[name]
}

// quiet waits until everything that was published is taken, is a dead letter or waits
// behind one.
func (r *rig) quiet() {
	r.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		var published, left int64
		taken := r.taken.Load() // first: to take one may publish another
		err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			if err := tx.Row(ctx, "SELECT count(*) FROM outbox_events WHERE event_type IN ('"+
				strings.Join(r.auto.Consumer().Types, "', '")+"')").Scan(&published); err != nil {
				return err
			}
			return tx.Row(ctx, `SELECT (SELECT count(*) FROM bus_dead WHERE consumer = 'automation') +
				(SELECT count(*) FROM bus_parked p JOIN bus_lane l ON l.consumer = p.consumer
				AND l.partition_key = p.partition_key
				WHERE p.consumer = 'automation' AND p.dead = 0 AND l.state = 1)`).Scan(&left)
		})
		if err != nil {
			r.Fatal(err)
		}
		if published == taken+left {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("%d published, %d taken, %d left", published, taken, left)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// work lets automation start graphs and fire jobs until there is nothing to do.
func (r *rig) work() {
	r.Helper()
	for range 10_000 {
		worked, err := r.auto.Step(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		if !worked {
			return
		}
	}
	r.Fatal("automation still finds something to do after 10,000 steps")
}

// runs are what was done, oldest first: rule/action type outcome.
func (r *rig) runs(q automation.RunQuery) (all []string) {
	r.Helper()
	q.Limit = 1000
	page, total, err := r.auto.Runs(r.Context(), tenant, q)
	if err != nil || total != len(page) {
		r.Fatal(total, len(page), err)
	}
	for i := range page {
		all = append(all, fmt.Sprintf("%s/%s %s %s", page[i].RuleName, page[i].ActionKey, page[i].Type,
			page[i].Outcome))
	}
	slices.Reverse(all)
	return all
}

// sound checks that nothing is there twice or missing.
func (r *rig) sound() {
	r.Helper()
	differences, err := r.auto.Recount(r.Context(), tenant)
	if err != nil || len(differences) > 0 {
		r.Errorf("recount: %q %v", differences, err)
	}
}

// inbox lists the notifications of a user.
func (r *rig) inbox(user string) (texts []string) {
	r.Helper()
	page, total, err := r.auto.Inbox(r.Context(), kit.Caller{Tenant: tenant, Subject: user}, false, 0, 100)
	if err != nil || total != len(page) {
		r.Fatal(total, err)
	}
	for _, n := range page {
		texts = append(texts, n.Message)
	}
	slices.Reverse(texts)
	return texts
}

// graph stores a graph that waits for somebody.
func (r *rig) graph(name string) {
	r.Helper()
	_, _, err := r.engine.PutGraph(r.Context(), tenant, name, flow.Graph{
		Nodes: []flow.NodeSpec{
			{NodeID: "start", Type: flow.StartKind},
			{NodeID: "call", Type: flow.TaskKind},
			{NodeID: "done", Type: flow.SuccessKind},
		},
		Edges: []flow.Edge{{From: "start", To: "call"}, {From: "call", To: "done"}},
	})
	if err != nil {
		r.Fatal(err)
	}
}

// executions counts those that were started.
func (r *rig) executions() (n int64) {
	r.Helper()
	if err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM engine_execution").Scan(&n)
	}); err != nil {
		r.Fatal(err)
	}
	return n
}
