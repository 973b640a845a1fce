package records

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestCoreConsumesExactlyWhatTheDocumentListsForIt has the column of Core of the document's
// lists of subscribers, sections 4.7 to 4.19.
func TestCoreConsumesExactlyWhatTheDocumentListsForIt(t *testing.T) {
	want := []string{
		"ApprovalConfigChanged", "ApprovalDecided", "ApprovalSubmitted", "AutomationConfigChanged",
		"GroupMemberChanged", "MetadataChanged",
		"PermissionChanged", "RoleHierarchyChanged", "SharingConfigChanged", "SharingRebuildCompleted",
		"TerritoryAssignmentChanged",
	}
	c := new(Records).Consumer(believed{}, nil)
	if got := slices.Sorted(slices.Values(c.Types)); !slices.Equal(got, want) || c.Name != "core" ||
		c.Stream != events.Events {
		t.Errorf("got %s on %v: %v", c.Name, c.Stream, got)
	}
}

// believed is approvals of which all is as events say, and which write nothing.
type believed struct{}

func (believed) Open(context.Context, *sqldb.Tx, string, string) (bool, error) { return true, nil }

func (believed) Outcome(context.Context, *sqldb.Tx, string, string) (o model.Outcome, err error) {
	return o, nil
}

func (believed) Regrouped(context.Context, *sqldb.Tx, *events.Event) error { return nil }

// take lets the consumer take an event.
func (r *rig) take(p events.Payload) {
	r.Helper()
	body, err := events.NewPayload(p)
	if err != nil {
		r.Fatal(err)
	}
	r.Handle(&events.Event{Type: p.EventType(), Tenant: tenantA, Payload: body}, r.records.Consumer(believed{}, nil))
}

func TestAnApprovalLocksFieldsUntilItIsDecided(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const approval = "00000000-0000-4000-8000-0000000000f1"
		opp := r.create(system, "Opportunity", `{"Name":"D","StageName":"Prospecting","CloseDate":"2026-02-28"}`)
		quote := r.create(system, "Quote", `{"Name":"Q","OpportunityId":"`+opp.ID+
			`","Subtotal":100,"DiscountPercent":10}`)
		submitted := events.ApprovalSubmitted{
			ApprovalInstanceID: approval, Target: events.ApprovalTarget{ObjectName: "Quote", RecordID: quote.ID},
			SubmittedBy: ann, SubmittedAt: 1,
			LockedFields: []string{"DiscountPercent", "GrandTotal"},
		}
		r.take(submitted)
		r.take(submitted)                                                               // again
		for _, fields := range []string{`{"DiscountPercent":20}`, `{"Subtotal":200}`} { // the second changes the total
			_, err := r.try(system, "Quote", Op{Kind: Update, ID: quote.ID, Fields: r.fieldsOf(fields)})
			if codeOf(err) != CodeFieldLocked || fault.KindOf(err) != fault.Conflict ||
				!strings.Contains(err.Error(), approval) {
				t.Errorf("%s: got %v, want it locked by %s", fields, err, approval)
			}
		}
		if _, err := r.try(system, "Quote", Op{Kind: Delete, ID: quote.ID}); codeOf(err) != CodeLocked {
			t.Errorf("delete: got %v", err)
		}
		quote = r.update(system, quote, `{"Name":"Q2","DiscountPercent":10}`) // what is not locked, and what stays
		r.take(events.ApprovalDecided{
			ApprovalInstanceID: approval, Target: submitted.Target, Decision: "APPROVED", DecidedBy: ann, DecidedAt: 2,
		})
		r.update(system, quote, `{"DiscountPercent":20}`)
	})
}

func TestBulksAreDoneItemByItemOrNotAtAll(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		parent := r.create(system, "Account", `{"Name":"Parent"}`)
		child := r.create(system, "Account", `{"Name":"Child","ParentId":"`+parent.ID+`"}`)
		r.outbox()
		apply := func(all bool, ops ...Op) (results []Result, err error) {
			_, _, err = r.records.Apply(t.Context(), Caller{Tenant: tenantA, CorrelationID: "test"},
				Batch{Object: "Account", Ops: ops, AllOrNone: all},
				func(got []Result) ([]byte, error) { results = got; return []byte("{}"), nil })
			return results, err
		}
		good, bad := Op{Kind: Create, Fields: r.fieldsOf(`{"Name":"New"}`)}, Op{Kind: Create}
		before := r.rows()
		if _, err := apply(true, good, bad); codeOf(err) != CodeFieldRequired ||
			!strings.Contains(err.Error(), "operations[1]: Name") || r.rows() != before {
			t.Errorf("all or none: got %v", err)
		}
		results, err := apply(
			false,
			Op{Kind: Delete, ID: parent.ID}, // still named
			Op{
				Kind:    Update,
				ID:      child.ID,
				Version: child.RecordVersion,
				Fields:  r.fieldsOf(`{"ParentId":null}`),
			},
			// seen before the line above
			Op{Kind: Update, ID: child.ID, Version: child.RecordVersion, Fields: r.fieldsOf(`{"Name":"Old"}`)},
			Op{Kind: Update, ID: child.ID, Fields: r.fieldsOf(`{"Name":"Grown"}`)},
			Op{Kind: Delete, ID: parent.ID}, // named no more
			Op{Kind: Update, ID: child.ID, Fields: r.fieldsOf(`{"ParentId":"` + parent.ID + `"}`)}, // gone
			Op{Kind: Delete, ID: parent.ID},
			bad,
			good,
		)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range results {
			got = append(got, codeOf(results[i].Err))
		}
		want := []string{
			CodeReferenced, "", CodeVersionMismatch, "", "", CodeFieldInvalid, CodeRecordNotFound,
			CodeFieldRequired, "",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := strings.Count(r.outbox(), "\n  "); n != 4 {
			t.Errorf("got %d events, want one for each change", n)
		}
		now, err := r.records.Get(t.Context(), system, "Account", child.ID)
		if err != nil || string(now.Fields) != `{"Name":"Grown"}` || now.RecordVersion != results[3].Version {
			t.Errorf("got %s %v %v", now.Fields, now.RecordVersion, err)
		}
	})
}

func TestListsFilterSortAndCountExactly(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.Define(tenantA, user(ann, "Ann", sales), set(sales, nil))
		for i, fields := range []string{
			`"Name":"b","Amount":10,"StageName":"Prospecting"`,
			`"Name":"A","Amount":2.5,"StageName":"Closed Won","NextStep":"Call Ång"`,
			`"Name":"c","StageName":"Negotiation","NextStep":"call me"`,
			`"Name":"d","Amount":-1,"StageName":"Closed Lost"`,
		} {
			as := system
			if i == 0 {
				as.Subject = ann
			}
			r.create(as, "Opportunity", `{`+fields+`,"CloseDate":"2026-0`+string(rune('1'+i))+`-01"}`)
		}
		r.Define(tenantA, model.Definition{Kind: model.KindField, ID: "Opportunity.Young__c", Value: &model.Field{
			ID: ben, Object: "Opportunity", Name: "Young__c", Type: model.Boolean, Custom: true,
		}})
		tests := []struct{ filters, sort, want string }{
			{"", "", "b A c d"},
			{"", "Name.asc", "A b c d"},
			{"", "Name.desc", "d c b A"},
			{"", "Amount.asc", "d A b c"},
			{"", "Amount.desc", "b A d c"},
			{"", "IsClosed.desc,CloseDate.desc", "d A c b"},
			{"Amount=10", "", "b"},
			{"Amount.gte=2.5", "", "b A"},
			{"Amount.lt=0", "", "d"},
			{"Amount.empty=true", "", "c"},
			{"IsClosed=true", "", "A d"},
			{"StageName.in=Prospecting,Negotiation", "", "b c"},
			{"StageName.ne=Prospecting&IsWon=false", "", "c d"},
			{"NextStep.ne=call me", "", "b A d"},
			{"Amount.ne=10", "", "A c d"},
			{"AccountId.ne=" + ann, "", "b A c d"},
			{"Name.ne=b", "", "A c d"},
			{"IsWon.ne=false", "", "A"},
			{"Young__c=false", "", "b A c d"},
			{"Young__c.ne=true", "", "b A c d"},
			{"Young__c.ne=false", "", ""},
			{"Young__c.empty=true", "", ""},
			{"CloseDate.gt=2026-01-01&CloseDate.lte=2026-03-01", "", "A c"},
			{"NextStep.contains=CALL", "Name.asc", "A c"},
			{"Name.contains=B", "", "b"},
			{"ownerId=" + ann, "", "b"},
			{"createdAt.gt=2026-01-10T00:00:00Z&updatedBy=" + ann, "", "b"},
			{"Name=nobody", "", ""},
		}
		for _, tt := range tests {
			q := Query{Sort: tt.sort, Limit: 10}
			for _, f := range strings.FieldsFunc(tt.filters, func(c rune) bool { return c == '&' }) {
				name, value, _ := strings.Cut(f, "=")
				q.Filters = append(q.Filters, Filter{name, value})
			}
			page, total, err := r.records.List(t.Context(), system, "Opportunity", q)
			var got []string
			for i := range page {
				_, rest, _ := strings.Cut(string(page[i].Fields), `"Name":"`)
				got = append(got, rest[:1])
			}
			if text := strings.Join(got, " "); text != tt.want || total != len(got) || err != nil {
				t.Errorf("%s %s: got %q (%d) %v, want %q", tt.filters, tt.sort, text, total, err, tt.want)
			}
		}
		page, total, err := r.records.List(t.Context(), system, "Opportunity", Query{Offset: 3, Limit: 2})
		if err != nil || len(page) != 1 || total != 4 {
			t.Errorf("the last page has %d of %d: %v", len(page), total, err)
		}
		if _, total, err := r.records.List(t.Context(), Caller{Tenant: tenantA, Subject: ann}, "Opportunity",
			Query{Limit: 10}); total != 1 || err != nil {
			t.Errorf("ann sees %d: %v", total, err)
		}
		for _, bad := range []Query{
			{Filters: []Filter{{"Amount", "much"}}},
			{Filters: []Filter{{"Amount.like", "1"}}},
			{Filters: []Filter{{"Amount.contains", "1"}}},
			{Filters: []Filter{{"CloseDate", "soon"}}},
			{Filters: []Filter{{"ownerId", "me"}}},
			{Filters: []Filter{{"Amount.empty", "maybe"}}},
			{Sort: "Name"},
			{Sort: "Name.asc,Name.desc"},
			{Sort: "1; DROP TABLE records_record.asc"},
		} {
			if _, _, err := r.records.List(t.Context(), system, "Opportunity", bad); fault.KindOf(
				err) != fault.Invalid {
				t.Errorf("%v: got %v, want it refused", bad, err)
			}
		}
	})
}

func TestDefinitionsThatRecordsNeedAreInUse(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.Define(tenantA, user(ann, "Ann"), user(ben, "Ben"), model.Definition{
			Kind: model.KindField,
			ID:   "Account.Size__c", Value: &model.Field{
				ID: ann, Object: "Account", Name: "Size__c", Type: model.Number, Custom: true,
			},
		})
		uses := func(kind model.Kind, id string) (by []model.Use) {
			r.See(func(ctx context.Context, tx *sqldb.Tx) (err error) {
				by, err = r.records.InUse(ctx, tx, tenantA, kind, id)
				return err
			})
			return by
		}
		if by := append(uses(model.KindField, "Account.Size__c"), uses(model.KindUser, ann)...); by != nil {
			t.Errorf("in use by %v", by)
		}
		gone := r.do(
			system,
			"Account",
			Op{Kind: Create, OwnerID: ann, Fields: r.fieldsOf(`{"Name":"G","Size__c":3}`)},
		)
		r.do(system, "Account", Op{Kind: Delete, ID: gone.ID})
		lead := r.do(system, "Lead", Op{
			Kind: Create, OwnerID: ann,
			Fields: r.fieldsOf(`{"LastName":"L","Company":"C","Status":"Open - Not Contacted"}`),
		})
		v := r.do(
			system,
			"Account",
			Op{Kind: Create, OwnerID: ann, Fields: r.fieldsOf(`{"Name":"A","Size__c":3}`)},
		)
		r.do(system, "Account", Op{Kind: Create, OwnerID: ann, Fields: r.fieldsOf(`{"Name":"B","Size__c":0}`)})
		if diff := cmp.Diff([]model.Use{{Object: "Account", ID: v.ID, Count: 2}},
			uses(model.KindField, "Account.Size__c")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]model.Use{{Object: "Account", ID: v.ID, Count: 2}, {
			Object: "Lead", ID: lead.ID,
			Count: 1,
		}}, uses(model.KindUser, ann)); diff != "" {
			t.Error(diff)
		}
		if by := uses(model.KindUser, ben); by != nil {
			t.Errorf("ben owns %v", by)
		}
	})
}
