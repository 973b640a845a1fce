package reporting

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// fewChecks is how often properties are looked at, unless RENGA_LONG says otherwise: each
// look is a tenant in a real database.
const fewChecks = "4"

func TestMain(m *testing.M) {
	if os.Getenv("RENGA_LONG") == "" {
		if err := flag.Set("rapid.checks", fewChecks); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m) // it parses the flags, which then count
}

// rig is reporting over real records and real sharing, with a bus that hands nothing out
// by itself.
type rig struct {
	testing.TB
	*Reporting
	bus     *bus.Bus
	models  *metadata.Models
	sharing *sharing.Sharing
	records *records.Records
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)})) })
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func newRig(t testing.TB, where sqldb.Config) *rig {
	t.Helper()
	where.Migrations = []sqldb.Migration{
		store.Migration(), audit.Migration(), bus.Migration(), metadata.Migration(), records.Migration(),
		sharing.Migration(), approval.Migration(), Migration(), idempotency.Migration(),
	}
	db, err := sqldb.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	var e interface {
		rebuild.Engine
		Run(ctx context.Context) error
	}
	st := store.New(db, store.Config{Silent: true})
	if db.Dialect() == sqldb.SQLite {
		e = engine.New(st, wall{}, engine.Config{Exclusive: true})
	} else {
		e = engine.NewShards(st, wall{}, engine.Config{}, 2)
	}
	serve, stop := context.WithCancel(context.Background())
	work, finish := context.WithCancel(context.Background())
	served, worked := make(chan error, 1), make(chan error, 1)
	go func() { served <- db.Run(serve) }()
	go func() { worked <- e.Run(work) }()
	t.Cleanup(func() {
		finish()
		first := <-worked
		stop()
		if err := errors.Join(first, <-served, db.Close()); err != nil {
			t.Error(err)
		}
	})
	r := &rig{TB: t, models: metadata.NewModels()}
	r.bus = bus.New(db, memory.New(), bus.Config{Instance: "test"})
	r.sharing = sharing.New(db, sharing.Config{Models: r.models, Records: records.Reads{}, Bus: r.bus})
	r.records = records.New(db, records.Config{Models: r.models, Visible: r.sharing, Publisher: r.bus})
	r.Reporting = New(db, Config{
		Models: r.models, Visible: r.sharing, Records: records.Reads{},
		Approvals: approval.Reads{}, Engine: e, Worker: "test",
	})
	return r
}

func (r *rig) change(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	r.Helper()
	if err := r.db.Write(r.Context(), sqldb.Other, fn); err != nil {
		r.Fatal(err)
	}
}

// exec runs a statement.
func (r *rig) exec(query string, args ...any) {
	r.Helper()
	r.change(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// tenant is a tenant of a rig, and its events that were not handed out yet.
type tenant struct {
	*rig
	id    string
	seen  int64 // events up to this one are in waits
	waits map[string][]wire.Event
	taken []wire.Event
}

func newTenant(r *rig) *tenant {
	t := &tenant{rig: r, id: uuid.NewString(), waits: map[string][]wire.Event{}}
	t.change(func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT coalesce(max(id), 0) FROM outbox_events").Scan(&t.seen)
	})
	return t
}

// num makes ids of a kind that are easy to read.
func num(kind, n int) string { return fmt.Sprintf("00000000-0000-7000-80%02d-%012d", kind, n) }

// define stores definitions as metadata does, and lets sharing know.
func (t *tenant) define(all ...model.Definition) {
	t.Helper()
	t.change(func(ctx context.Context, tx *sqldb.Tx) error {
		for _, d := range all {
			body, err := json.Marshal(d.Value)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx,
				`INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) VALUES ($1, $2, $3, $4, 1)
				ON CONFLICT (tenant_id, kind, id) DO UPDATE SET body = excluded.body`, t.id, string(d.Kind), d.ID,
				string(body)); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO metadata_tenant AS t (tenant_id, revision, stamp) VALUES ($1, 1, $2)
			ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision + 1, stamp = excluded.stamp`, t.id,
			uuid.NewString())
		return err
	})
	t.publish("Directory", t.id, wire.RoleHierarchyChanged{
		ChangeType: "RoleUpdated", RoleID: num(1, 1), RoleName: "r",
		EffectiveAt: 1,
	})
}

// publish announces something that is not of a record.
func (t *tenant) publish(kind, id string, p wire.Payload) {
	t.Helper()
	t.change(func(ctx context.Context, tx *sqldb.Tx) error {
		body, err := wire.NewPayload(p)
		if err != nil {
			return err
		}
		key := wire.RecordKey(kind, t.id, id)
		version, err := t.bus.NextVersion(ctx, tx, key)
		if err != nil {
			return err
		}
		return t.bus.Publish(ctx, tx, wire.Event{
			Type: p.EventType(), Tenant: t.id, CorrelationID: "test", Key: key,
			Version: version, Payload: body,
		})
	})
}

func (t *tenant) system() records.Caller { return records.Caller{Tenant: t.id, CorrelationID: "test"} }

// apply does something to a record, as the system user.
func (t *tenant) apply(object string, op records.Op) (id string, err error) {
	_, _, err = t.records.Apply(t.Context(), t.system(), records.Batch{
		Object: object, Ops: []records.Op{op},
		AllOrNone: true,
	}, func(results []records.Result) ([]byte, error) {
		id = results[0].ID
		return []byte("{}"), nil
	})
	return id, err
}

// fieldsOf are fields as changes have them.
func (t *tenant) fieldsOf(fields map[string]any) map[string]jsontext.Value {
	t.Helper()
	raw := map[string]jsontext.Value{}
	for name, value := range fields {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		raw[name] = text
	}
	return raw
}

func (t *tenant) create(object, owner string, fields map[string]any) string {
	t.Helper()
	id, err := t.apply(object, records.Op{Kind: records.Create, OwnerID: owner, Fields: t.fieldsOf(fields)})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// keys are those that events wait of.
func (t *tenant) keys() []string {
	t.Helper()
	t.change(func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT id, tenant_id, body FROM outbox_events WHERE id > $1 ORDER BY id",
			t.seen) {
			var of string
			var body []byte
			if err == nil {
				err = row.Scan(&t.seen, &of, &body)
			}
			if err != nil {
				return err
			}
			if of != t.id {
				continue
			}
			e, err := wire.ParseEvent(body)
			if err != nil {
				return err
			}
			t.waits[e.Key] = append(t.waits[e.Key], e)
		}
		return nil
	})
	return slices.Sorted(maps.Keys(t.waits))
}

// take hands out the next event of a key.
func (t *tenant) take(key string) {
	t.Helper()
	e := t.waits[key][0]
	t.give(e)
	if t.waits[key] = t.waits[key][1:]; len(t.waits[key]) == 0 {
		delete(t.waits, key)
	}
	t.taken = append(t.taken, e)
}

// takeAll hands out everything that waits, together.
func (t *tenant) takeAll() {
	t.Helper()
	keys := t.keys()
	for _, c := range []bus.Consumer{t.Consumer(), t.sharing.Consumer()} {
		var all []*wire.Event
		for _, key := range keys {
			for i := range t.waits[key] {
				if e := &t.waits[key][i]; slices.Contains(c.Types, e.Type) {
					all = append(all, e)
				}
			}
		}
		t.change(func(ctx context.Context, tx *sqldb.Tx) error { return c.HandleAll(ctx, tx, all) })
	}
	for _, key := range keys {
		t.taken = append(t.taken, t.waits[key]...)
		delete(t.waits, key)
	}
}

// give lets sharing and reporting take an event, each in a transaction of its own.
func (t *tenant) give(e wire.Event) {
	t.Helper()
	for _, c := range []bus.Consumer{t.Consumer(), t.sharing.Consumer()} {
		if slices.Contains(c.Types, e.Type) {
			t.change(func(ctx context.Context, tx *sqldb.Tx) error { return c.Handle(ctx, tx, &e) })
		}
	}
}

// settle hands out everything.
func (t *tenant) settle() {
	t.Helper()
	for began := time.Now(); ; {
		keys := t.keys()
		if len(keys) == 0 {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("events of %q do not end", keys)
		}
		t.take(keys[0])
	}
}

// table is a report as a text: its rows, one on a line, and the total.
func (t *tenant) table(user, name string, q Query) string {
	t.Helper()
	got, err := t.Report(t.Context(), Caller{t.id, user}, name, q)
	if err != nil {
		t.Fatal(err)
	}
	return textOf(&got)
}

func textOf(t *Table) (text string) {
	for _, row := range append(slices.Clone(t.Rows), t.Total) {
		text += fmt.Sprintln(row)
	}
	return text
}
