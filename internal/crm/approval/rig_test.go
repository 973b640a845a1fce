package approval

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

func TestMain(m *testing.M) { crmtest.Main(m, "") }

const tenantA, tenantB = crmtest.TenantA, crmtest.TenantB

// uid is an id by a number.
func uid(n int) string {
	return "00000000-0000-4000-8000-0000000000" + string("0123456789abcdef"[n/16]) + string("0123456789abcdef"[n%16])
}

// The people: sal sells, and owns the quotes; mia and max manage, vic is vice president,
// leo is of the legal group, out may not read quotes, nat does not know of anything.
var sal, mia, max, vic, leo, out, nat = uid(0x21), uid(0x22), uid(0x23), uid(0x24), uid(0x25), uid(0x26), uid(0x27)

const (
	salesSet  = "00000000-0000-4000-8000-000000000001"
	readerSet = "00000000-0000-4000-8000-000000000002"
	managers  = "00000000-0000-4000-8000-000000000011"
	legal     = "00000000-0000-4000-8000-000000000012"
	process   = "00000000-0000-4000-8000-000000000031"
)

// rig is approvals over a rig of their own.
type rig struct {
	*crmtest.Rig
	*Approvals
	records *records.Records
	seen    int64 // id of the last event of the outbox that was looked at

	delivered int64 // and of the last that core was given
	passed    int64 // and of the last of the race before

	telling sync.Mutex
	refused []model.Outcome // that records did not take
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	crmtest.OnEvery(t, func(t *testing.T, where sqldb.Config) { test(t, newRig(t, where)) })
}

// long reports whether tests have their full size.
func long() bool { return os.Getenv("RENGA_LONG") != "" }

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	r := &rig{}
	ended := func(h *engine.Head) (sqldb.Stmt, bool) { return r.Ended(h) }
	r.Rig = crmtest.NewStored(
		t,
		where,
		store.Config{Ended: ended},
		records.Migration(),
		sharing.Migration(),
		Migration(),
	)
	r.at("2026-01-10T14:00:00.000Z")
	shared := sharing.New(r.DB, sharing.Config{Models: r.Models, Records: records.Reads{}, Bus: r.Bus})
	r.records = records.New(r.DB, records.Config{
		Models: r.Models, Visible: shared, Publisher: r.Bus, Rules: automation.Rules{}, Now: r.Clock.Now,
	})
	r.Approvals = New(r.DB, Config{
		Models: r.Models, Core: r.records, Records: records.Reads{}, Locks: records.Locks{}, Publisher: r.Bus,
		Engine: r.Engine, Now: r.Clock.Now,
	})
	return r
}

// core is the consumer of records.
func (r *rig) core() bus.Consumer { return r.records.Consumer(r.Approvals, r) }

// OutcomeRefused notes whom automation would notify.
func (r *rig) OutcomeRefused(_ context.Context, _ *sqldb.Tx, _ *events.Event, o model.Outcome) error {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.refused = append(r.refused, o)
	return nil
}

// refusedOutcomes are the outcomes that records refused, of which people were notified.
func (r *rig) refusedOutcomes() []model.Outcome {
	r.telling.Lock()
	defer r.telling.Unlock()
	return slices.Clone(r.refused)
}

// at sets the clock.
func (r *rig) at(text string) {
	r.Helper()
	r.Clock.At(r, text)
}

// define stores definitions of tenant A.
func (r *rig) define(all ...model.Definition) {
	r.Helper()
	r.Define(tenantA, all...)
}

func user(id, name, role string, sets ...string) model.Definition {
	return crmtest.User(id, name, role, sets...)
}

// processOf is the process of quotes with these steps.
func processOf(steps ...model.ApprovalStep) model.Definition {
	return model.Definition{Kind: model.KindApprovalProcess, ID: process, Value: &model.ApprovalProcess{
		ID: process, Name: "Quote Discount Approval", Object: "Quote",
		Condition:    "record.DiscountPercent != null && record.DiscountPercent > 5.0",
		LockedFields: []string{"DiscountPercent", "GrandTotal"}, Steps: steps, IsActive: true,
	}}
}

func step(name, decide string, approvers ...model.Member) model.ApprovalStep {
	return model.ApprovalStep{Name: name, Decide: decide, Approvers: approvers}
}

func ofUser(id string) model.Member  { return model.Member{Type: model.TypeUser, ID: id} }
func ofRole(id string) model.Member  { return model.Member{Type: model.TypeRole, ID: id} }
func ofGroup(id string) model.Member { return model.Member{Type: model.TypeGroup, ID: id} }

// staff defines the people.
func (r *rig) staff() {
	r.Helper()
	all := model.ObjectPermission{Create: true, Read: true, Update: true, Delete: true}
	r.define(
		model.Definition{Kind: model.KindPermissionSet, ID: salesSet, Value: &model.PermissionSet{
			ID: salesSet, Name: "Sales", Objects: map[string]model.ObjectPermission{"Quote": all, "Opportunity": all},
			Fields: map[string]model.FieldPermission{},
		}},
		model.Definition{Kind: model.KindPermissionSet, ID: readerSet, Value: &model.PermissionSet{
			ID: readerSet, Name: "Reader", Objects: map[string]model.ObjectPermission{"Quote": {Read: true}},
			Fields: map[string]model.FieldPermission{},
		}},
		model.Definition{Kind: model.KindRole, ID: managers, Value: &model.Role{ID: managers, Name: "Managers"}},
		user(sal, "Sal", "", salesSet), user(mia, "Mia", managers, readerSet), user(max, "Max", managers, readerSet),
		user(vic, "Vic", "", readerSet),
		user(leo, "Leo", "", readerSet), user(out, "Out", managers), user(nat, "Nat", "", readerSet),
		model.Definition{Kind: model.KindGroup, ID: legal, Value: &model.Group{
			ID: legal, Name: "Legal",
			Type: model.PublicGroup, Members: []model.Member{ofUser(leo)},
		}},
	)
}

func as(subject string) Caller {
	return Caller{Tenant: tenantA, Subject: subject, CorrelationID: "test"}
}

// apply does one operation on a record.
func (r *rig) apply(c Caller, object string, op records.Op, fields string) (v records.View, err error) {
	r.Helper()
	op.Fields = crmtest.Fields(r, fields)
	_, _, err = r.records.Apply(r.Context(), c, records.Batch{Object: object, Ops: []records.Op{op}, AllOrNone: true},
		func(results []records.Result) ([]byte, error) { v = results[0].View(); return []byte("{}"), nil })
	return v, err
}

// quote makes a quote of sal.
func (r *rig) quote(fields string) string {
	r.Helper()
	opp, err := r.apply(as(sal), "Opportunity", records.Op{Kind: records.Create},
		`{"Name":"D","StageName":"Prospecting","CloseDate":"2026-02-28"}`)
	if err != nil {
		r.Fatal(err)
	}
	v, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Create}, `{"Name":"Q","OpportunityId":"`+opp.ID+`",`+
		fields+`}`)
	if err != nil {
		r.Fatal(err)
	}
	return v.ID
}

// discount is what is done to the locked field of a quote.
func (r *rig) discount(quote, percent string) error {
	_, err := r.apply(
		as(sal),
		"Quote",
		records.Op{Kind: records.Update, ID: quote},
		`{"DiscountPercent":`+percent+`}`,
	)
	return err
}

// submit submits a quote of sal.
func (r *rig) submit(quote string) View {
	r.Helper()
	body, _, err := r.Submit(r.Context(), as(sal), Order{Object: "Quote", RecordID: quote, Comment: "please"}, nil)
	return r.parsed(body, err)
}

func (r *rig) parsed(body []byte, err error) (v View) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	if err := json.Unmarshal(body, &v); err != nil {
		r.Fatal(err)
	}
	return v
}

// decide decides, and must succeed.
func (r *rig) decide(who, id string, d Status) View {
	r.Helper()
	body, _, err := r.Decide(r.Context(), as(who), id, Ballot{Decision: d, Comment: "by " + d.String()}, nil)
	return r.parsed(body, err)
}

// refuses reports a decision that is not refused with a code.
func (r *rig) refuses(who, id string, d Status, code string) {
	r.Helper()
	if _, _, err := r.Decide(r.Context(), as(who), id, Ballot{Decision: d}, nil); codeOf(err) != code {
		r.Errorf("got %v, want %s", err, code)
	}
}

// codeOf is the code of a refusal.
func codeOf(err error) string { return crmtest.CodeOf(err) }

// outbox is the events of approvals that were published since it was asked last, one a
// line: type, key, version, payload.
func (r *rig) outbox() string {
	r.Helper()
	var b strings.Builder
	batch, last := r.Events(tenantA, r.seen)
	r.seen = last
	for _, e := range batch {
		if !strings.HasPrefix(e.Type, "Approval") {
			continue
		}
		if e.Producer.Service != service || e.CorrelationID != "test" || e.OccurredAt != e.Version || e.Index != 0 {
			r.Errorf("the envelope is %+v", e)
		}
		b.WriteString(e.Type + " " + e.Key + " " + e.Version.String() + "\n  " + string(e.Payload) + "\n")
	}
	return b.String()
}

// consistent reports what a recount finds.
func (r *rig) consistent() {
	r.Helper()
	found, err := r.Recount(r.Context(), tenantA)
	if err != nil || len(found) > 0 {
		r.Errorf("a recount finds %q (%v)", found, err)
	}
}
