package reporting

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// fewChecks is how often properties are looked at, unless RENGA_LONG says otherwise: each
// look is a tenant in a real database.
const fewChecks = "4"

func TestMain(m *testing.M) { crmtest.Main(m, fewChecks) }

// rig is reporting over real records and real sharing, with a bus that delivers nothing by itself.
type rig struct {
	*crmtest.Rig
	*Reporting
	sharing *sharing.Sharing
	records *records.Records
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	crmtest.OnEvery(t, func(t *testing.T, where sqldb.Config) { test(t, newRig(t, where)) })
}

func newRig(t testing.TB, where sqldb.Config) *rig {
	t.Helper()
	r := &rig{Rig: crmtest.New(t, where, records.Migration(), sharing.Migration(), approval.Migration(), Migration())}
	db := r.Rig.DB
	r.sharing = sharing.New(db, sharing.Config{Models: r.Models, Records: records.Reads{}, Bus: r.Bus})
	r.records = records.New(db, records.Config{Models: r.Models, Visible: r.sharing, Publisher: r.Bus})
	r.Reporting = New(db, Config{
		Models: r.Models, Visible: r.sharing, Records: records.Reads{},
		Approvals: approval.Reads{}, Engine: r.Engine, Worker: "test",
	})
	return r
}

// tenant is a tenant of a rig, and its events that were not handed out yet.
type tenant struct {
	*rig
	id    string
	seen  int64 // events up to this one are in waits
	waits map[string][]events.Event
	taken []events.Event
}

func newTenant(r *rig) *tenant {
	return &tenant{rig: r, id: uuid.NewString(), waits: map[string][]events.Event{}}
}

// define stores definitions as metadata does, and lets sharing know.
func (t *tenant) define(all ...model.Definition) {
	t.Helper()
	t.Define(t.id, all...)
	t.publish("Directory", t.id, events.RoleHierarchyChanged{
		ChangeType: "RoleUpdated", RoleID: crmtest.ID(1, 1), RoleName: "r", EffectiveAt: 1,
	})
}

// publish publishes an event that is not of a record.
func (t *tenant) publish(kind, id string, p events.Payload) {
	t.Helper()
	t.Publish(t.id, kind, id, p)
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

// keys are those of which events wait.
func (t *tenant) keys() []string {
	t.Helper()
	var batch []events.Event
	batch, t.seen = t.Events(t.id, t.seen)
	for _, e := range batch {
		t.waits[e.Key] = append(t.waits[e.Key], e)
	}
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
	var all []events.Event
	for _, key := range t.keys() {
		all = append(all, t.waits[key]...)
		delete(t.waits, key)
	}
	t.HandleAll(all, t.Consumer(), t.sharing.Consumer())
	t.taken = append(t.taken, all...)
}

// give lets sharing and reporting handle an event, each in a transaction of its own.
func (t *tenant) give(e events.Event) {
	t.Helper()
	t.Handle(&e, t.Consumer())
	t.Handle(&e, t.sharing.Consumer())
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
	got, err := t.Report(t.Context(), kit.Caller{Tenant: t.id, Subject: user}, name, q)
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
