package records

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestMain(m *testing.M) { crmtest.Main(m, "") }

const tenantA, tenantB = crmtest.TenantA, crmtest.TenantB

// rig is the service over a database of its own.
type rig struct {
	*crmtest.Rig
	records *Records
	seen    int64 // id of the last event of the outbox that was looked at
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	crmtest.OnEvery(t, func(t *testing.T, where sqldb.Config) { test(t, newRig(t, where)) })
}

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	r := &rig{Rig: crmtest.New(t, where, Migration())}
	r.records = New(r.DB, Config{
		Models: r.Models, Visible: owned{r.Models}, Publisher: r.Bus, Now: r.Clock.Now,
	})
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

// older makes a tenant that has defined something one from before personal fields were
// sensitive.
func (r *rig) older(tenant string) {
	r.Helper()
	r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE metadata_tenant SET standard = $2, stamp = $3 WHERE tenant_id = $1",
			tenant, int64(model.StandardOpen), r.stamp())
		return err
	})
}

func (r *rig) stamp() string { return time.Duration(r.Clock.Add(1)).String() }

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
	r.See(func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT id, body FROM outbox_events WHERE id > $1 ORDER BY id", r.seen) {
			var body []byte
			if err == nil {
				err = row.Scan(&r.seen, &body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
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

// fieldsOf reads the fields of a change from JSON.
func (r *rig) fieldsOf(text string) map[string]jsontext.Value { return crmtest.Fields(r, text) }

// codeOf is the code of a refusal.
func codeOf(err error) string { return crmtest.CodeOf(err) }

// system is a caller that may do everything.
var system = Caller{Tenant: tenantA}
