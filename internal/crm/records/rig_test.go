package records

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
	"renga.dev/renga/internal/platform/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenantA, tenantB = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"

// rig is the service over a database of its own.
type rig struct {
	*testing.T
	db      *sqldb.DB
	bus     *bus.Bus
	models  *metadata.Models
	records *Records
	clock   atomic.Int64
	seen    int64 // id of the last event of the outbox that was looked at
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
	db := sqltest.Open(t, where, audit.Migration(), bus.Migration(), metadata.Migration(), Migration(),
		idempotency.Migration())
	r := &rig{T: t, db: db, models: metadata.NewModels()}
	r.bus = bus.New(db, memory.New(), bus.Config{Instance: "test"})
	r.records = New(db, Config{
		Models: r.models, Visible: owned{r.models}, Publisher: r.bus, Now: func() time.Time {
			return time.UnixMilli(r.clock.Load())
		},
	})
	r.clock.Store(time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC).UnixMilli())
	return r
}

// owned lets users see and edit their own records, and those of whoever has "shared" in
// their fields' Description: Read.
type owned struct{ models *metadata.Models }

func (o owned) Where(ctx context.Context, tx *sqldb.Tx, tenant, _, user string, level model.Access, b *sqldb.Binds) (
	string, error,
) {
	m, err := o.models.Model(ctx, tx, tenant)
	if err != nil {
		return "", err
	}
	switch {
	case m.ModifyAll(user) || level == model.Read && m.ViewAll(user):
		return "1 = 1", nil
	case level == model.Read:
		return "r.owner_id = " + b.Add(user) + " OR r.fields LIKE " + b.Add("%everybody reads%"), nil
	}
	return "r.owner_id = " + b.Add(user), nil
}

func (o owned) See(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access) (
	total int, _ []string, err error,
) {
	var b sqldb.Binds
	where, err := o.Where(ctx, tx, tenant, object, user, level, &b)
	if err != nil {
		return 0, nil, err
	}
	query := "SELECT count(*) FROM records_record r WHERE r.tenant_id = " + b.Add(tenant) + " AND r.object = " +
		b.Add(object) + " AND r.deleted_at = 0 AND (" + where + ")"
	return total, nil, tx.Row(ctx, query, b.Args()...).Scan(&total)
}

func (o owned) WhereOne(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	b *sqldb.Binds,
) (string, error) {
	return o.Where(ctx, tx, tenant, object, user, level, b)
}

// write runs SQL in one transaction.
func (r *rig) write(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	r.Helper()
	if err := r.db.Write(r.Context(), sqldb.Other, fn); err != nil {
		r.Fatal(err)
	}
}

// read runs fn in a transaction that cannot write.
func (r *rig) read(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	r.Helper()
	if err := r.db.Read(r.Context(), fn); err != nil {
		r.Fatal(err)
	}
}

// define stores definitions of a tenant, as metadata does.
func (r *rig) define(tenant string, all ...model.Definition) {
	r.Helper()
	r.write(func(ctx context.Context, tx *sqldb.Tx) error {
		for _, d := range all {
			body, err := json.Marshal(d.Value)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx,
				`INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) VALUES ($1, $2, $3, $4, 1)
				ON CONFLICT (tenant_id, kind, id) DO UPDATE SET body = excluded.body`, tenant, string(d.Kind), d.ID,
				string(body)); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO metadata_tenant AS t (tenant_id, revision, stamp) VALUES ($1, 1, $2)
			ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision + 1, stamp = excluded.stamp`, tenant, r.stamp())
		return err
	})
}

// older makes a tenant that has defined something one from before personal fields were
// sensitive.
func (r *rig) older(tenant string) {
	r.Helper()
	r.write(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE metadata_tenant SET standard = $2, stamp = $3 WHERE tenant_id = $1",
			tenant, int64(model.StandardOpen), r.stamp())
		return err
	})
}

func (r *rig) stamp() string { return time.Duration(r.clock.Add(1)).String() }

// at turns the clock.
func (r *rig) at(text string) {
	r.Helper()
	s, err := wire.ParseStamp(text)
	if err != nil {
		r.Fatal(err)
	}
	r.clock.Store(int64(s))
}

// fieldsOf reads the fields of a change from JSON.
func (r *rig) fieldsOf(text string) map[string]jsontext.Value {
	r.Helper()
	fields := map[string]jsontext.Value{}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			r.Fatal(err)
		}
	}
	return fields
}

// try does one operation.
func (r *rig) try(c Caller, object string, op Op) (Result, error) {
	r.Helper()
	c.CorrelationID = "test"
	var got Result
	_, _, err := r.records.Apply(r.Context(), c, Batch{Object: object, Ops: []Op{op}, AllOrNone: true},
		func(results []Result) ([]byte, error) {
			got = results[0]
			return []byte("{}"), nil
		})
	return got, err
}

// do does one operation that must succeed.
func (r *rig) do(c Caller, object string, op Op) View {
	r.Helper()
	got, err := r.try(c, object, op)
	if err != nil {
		r.Fatal(err)
	}
	return got.View()
}

func (r *rig) create(c Caller, object, fields string) View {
	r.Helper()
	return r.do(c, object, Op{Kind: Create, Fields: r.fieldsOf(fields)})
}

func (r *rig) update(c Caller, v View, fields string) View {
	r.Helper()
	return r.do(c, v.Object, Op{Kind: Update, ID: v.ID, Version: v.RecordVersion, Fields: r.fieldsOf(fields)})
}

// outbox is the events that were published since it was asked last, one a line: index, type, payload.
func (r *rig) outbox() string {
	r.Helper()
	var b strings.Builder
	r.read(func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT id, body FROM outbox_events WHERE id > $1 ORDER BY id", r.seen) {
			var body []byte
			if err == nil {
				err = row.Scan(&r.seen, &body)
			}
			if err != nil {
				return err
			}
			e, err := wire.ParseEvent(body)
			if err != nil {
				return err
			}
			if e.Producer.Service != "core-platform" || e.CorrelationID != "test" || e.OccurredAt != e.Version {
				r.Errorf("the envelope is %s", body)
			}
			b.WriteString(string(rune('0'+e.Index)) + " " + e.Type + " " + strings.Replace(e.Key, tenantA, "A", 1) +
				" " + e.Version.String() + "\n  " + string(e.Payload) + "\n")
		}
		return nil
	})
	return b.String()
}

// codeOf is the code of a refusal.
func codeOf(err error) string {
	if e, ok := fault.As(err); ok {
		return e.Code
	}
	return ""
}

// system is a caller that may do everything.
var system = Caller{Tenant: tenantA}
