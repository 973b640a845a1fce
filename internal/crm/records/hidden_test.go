package records

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestHistoryLeavesOutUpdatesOfWhatTheCallerMayNotRead reads the history of a record in pages
// of one, as somebody who may read all fields and as somebody who may not.
func TestHistoryLeavesOutUpdatesOfWhatTheCallerMayNotRead(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.Define(tenantA, user(ann, "Ann", sales), user(ben, "Ben", sales), set(sales, nil),
			set(restricted, map[string]model.FieldPermission{"Account.Hidden__c": {Read: true, Edit: true}}),
			model.Definition{Kind: model.KindField, ID: "Account.Hidden__c", Value: &model.Field{
				ID: restricted, Object: "Account", Name: "Hidden__c", Type: model.Text, MaxLength: 40, Custom: true,
			}})
		v := r.do(
			system,
			"Account",
			Op{Kind: Create, OwnerID: ann, Fields: r.fieldsOf(`{"Name":"A","Hidden__c":"1"}`)},
		)
		for _, fields := range []string{
			`{"Hidden__c":"2"}`, `{"Hidden__c":"3","Phone":"1"}`, `{"Hidden__c":"4"}`,
			`{"Hidden__c":null}`, `{"Name":"Hidden__c"}`,
		} {
			v = r.update(system, v, fields)
		}
		r.do(system, "Account", Op{Kind: Update, ID: v.ID, OwnerID: ben})
		for _, tt := range []struct{ as, want string }{
			{"", "[OwnerId][Name][Hidden__c][Hidden__c][Phone Hidden__c][Hidden__c][Name Hidden__c]"},
			{ben, "[OwnerId][Name][Phone][Name]"},
		} {
			got, n := "", strings.Count(tt.want, "[")
			for at := range n + 1 {
				page, total, err := r.records.History(t.Context(), Caller{Tenant: tenantA, Subject: tt.as}, "Account",
					v.ID, at, 1)
				if err != nil || total != n {
					t.Fatalf("%q sees %d entries: %v", tt.as, total, err)
				}
				for i := range page {
					var names []string
					for _, c := range page[i].Changes {
						names = append(names, c.Field)
					}
					got += fmt.Sprint(names)
				}
			}
			if got != tt.want {
				t.Errorf("%q sees %s, want %s", tt.as, got, tt.want)
			}
		}
	})
}

// TestHiddenAndSensitiveFieldsNeverShow plants a word in fields that somebody may not see
// and looks for it, and for the fields' names, in everything that this user gets.
func TestHiddenAndSensitiveFieldsNeverShow(t *testing.T) {
	const secret = "plaNTed"
	onEvery(t, func(t *testing.T, r *rig) {
		r.Define(tenantA, user(ann, "Ann", sales), user(ben, "Ben", sales, restricted), set(sales, nil),
			set(restricted, map[string]model.FieldPermission{"Account.Hidden__c": {Read: true, Edit: true}}),
			model.Definition{Kind: model.KindField, ID: "Account.Hidden__c", Value: &model.Field{
				ID: restricted, Object: "Account", Name: "Hidden__c", Type: model.Text, MaxLength: 40, Custom: true,
			}},
			model.Definition{Kind: model.KindField, ID: "Account.Secret__c", Value: &model.Field{
				ID: sales, Object: "Account", Name: "Secret__c", Type: model.Text, MaxLength: 40, Custom: true,
				Sensitive: true,
			}})
		anns, bens := Caller{Tenant: tenantA, Subject: ann}, Caller{Tenant: tenantA, Subject: ben}
		v := r.do(
			bens,
			"Account",
			Op{Kind: Create, OwnerID: ann, Fields: r.fieldsOf(`{"Name":"A","Hidden__c":"` +
				secret + `","Secret__c":"` + secret + `"}`)},
		)
		v = r.do(system, "Account", Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"Hidden__c":"` + secret +
			`2","Secret__c":"` + secret + `2"}`)})
		if !strings.Contains(string(v.Fields), secret+"2") {
			t.Fatalf("the system user sees %s", v.Fields)
		}
		var shown strings.Builder
		note := func(things ...any) { fmt.Fprintf(&shown, "%+v\n", things) }
		got, err := r.records.Get(t.Context(), anns, "Account", v.ID)
		note(string(got.Fields), err)
		if !strings.Contains(string(got.Fields), "Secret__c") {
			t.Errorf("a sensitive field is not hidden from who may read it: %s", got.Fields)
		}
		history, total, err := r.records.History(t.Context(), anns, "Account", v.ID, 0, 50)
		note(history, err)
		if total != 2 || !strings.Contains(fmt.Sprint(history), "Secret__c") {
			t.Errorf("got %d entries %v, want 2 that name the sensitive field", total, history)
		}
		for _, filter := range []string{"Hidden__c", "Hidden__c.contains", "Nothing__c"} {
			_, _, err := r.records.List(t.Context(), anns, "Account", Query{
				Filters: []Filter{{filter, "x"}},
				Limit:   10,
			})
			if codeOf(err) != CodeFieldUnknown {
				t.Errorf("filter %s: got %v, want it unknown", filter, err)
			}
		}
		_, _, err = r.records.List(t.Context(), anns, "Account", Query{Sort: "Hidden__c.asc", Limit: 10})
		if codeOf(err) != CodeFieldUnknown {
			t.Errorf("sort: got %v, want it unknown", err)
		} else if failure, _ := fault.As(err); fmt.Sprint(failure.Details) != "map[field:Hidden__c]" {
			t.Errorf("sort: the details are %v, want the field", failure.Details)
		}
		page, _, err := r.records.List(t.Context(), anns, "Account", Query{Limit: 10})
		for i := range page {
			note(string(page[i].Fields), err)
		}
		_, hidden := r.try(
			anns,
			"Account",
			Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"Hidden__c":"x"}`)},
		)
		_, unknown := r.try(
			anns,
			"Account",
			Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"Nothing__c":"x"}`)},
		)
		if h, u := fmt.Sprint(hidden), strings.ReplaceAll(fmt.Sprint(unknown), "Nothing__c", "Hidden__c"); h != u {
			t.Errorf("a hidden field answers %q, one that does not exist %q", h, u)
		}
		out := r.do(anns, "Account", Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"Name":"B"}`)})
		note(string(out.Fields))
		text := strings.ReplaceAll(shown.String(), `"Secret__c":"`+secret+`2"`, "") // she may read that one
		if strings.Contains(text, secret) || strings.Contains(text, "Hidden__c") {
			t.Errorf("it shows: %s", text)
		}
		r.See(func(ctx context.Context, tx *sqldb.Tx) error {
			for row, err := range tx.Query(ctx, "SELECT body FROM outbox_events") {
				var body []byte
				if err == nil {
					err = row.Scan(&body)
				}
				if err != nil {
					return err
				}
				e, _ := events.ParseEvent(body)
				if text := strings.NewReplacer(`"Hidden__c":"`+secret, "", `"Hidden__c":{"old":"`+secret+`","new":"`+
					secret+`2"}`, "").Replace(string(e.Payload)); strings.Contains(text, secret) {
					t.Errorf("an event shows a sensitive value: %s", e.Payload)
				}
			}
			return nil
		})
	})
}

func TestAccessDecidesWhoReadsEditsGivesAwayAndDeletes(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const boss, head, desk = "00000000-0000-4000-8000-0000000000e1", "00000000-0000-4000-8000-0000000000e2",
			"00000000-0000-4000-8000-0000000000e3"
		role := func(id, parent string) model.Definition {
			return model.Definition{Kind: model.KindRole, ID: id, Value: &model.Role{
				ID: id, Name: id,
				ParentRoleID: parent,
			}}
		}
		withRole := func(d model.Definition, role string) model.Definition {
			d.Value.(*model.User).RoleID = role
			return d
		}
		r.Define(tenantA, set(sales, nil), role(head, ""), role(desk, head), withRole(user(ann, "Ann", sales), desk),
			withRole(user(ben, "Ben", sales), desk),
			withRole(user(boss, "Boss", sales), head))
		anns, bens := Caller{Tenant: tenantA, Subject: ann}, Caller{Tenant: tenantA, Subject: ben}
		mine := r.create(anns, "Account", `{"Name":"Mine","Description":"everybody reads"}`)
		if _, err := r.records.Get(t.Context(), bens, "Account", mine.ID); err != nil {
			t.Errorf("what is shared can be read: %v", err)
		}
		for name, op := range map[string]Op{
			"edit":      {Kind: Update, Fields: r.fieldsOf(`{"Name":"His"}`)},
			"give away": {Kind: Update, OwnerID: ben},
			"delete":    {Kind: Delete},
		} {
			op.ID = mine.ID
			if _, err := r.try(bens, "Account", op); codeOf(err) != CodeAccessDenied ||
				fault.KindOf(err) != fault.Forbidden {
				t.Errorf("%s what can only be read: got %v", name, err)
			}
		}
		_, _, err := r.records.PutTeamMember(t.Context(), bens, "Account", mine.ID, ben, "Sales Rep", "")
		if codeOf(err) != CodeAccessDenied {
			t.Errorf("the team of what can only be read: got %v", err)
		}
		if _, err := r.try(Caller{Tenant: tenantA, Subject: "stranger"}, "Account", Op{Kind: Create}); fault.KindOf(
			err) != fault.Forbidden {
			t.Errorf("a stranger: got %v", err)
		}
		m := r.model()
		if !above(m, boss, ann) || above(m, ann, boss) || above(m, ben, ann) || !above(m, ann, ann) {
			t.Error("a role above the owner's gives away and deletes, one beside or below does not")
		}
		r.do(anns, "Account", Op{Kind: Update, ID: mine.ID, OwnerID: ben})
		if _, err := r.try(anns, "Account", Op{
			Kind: Update, ID: mine.ID,
			Fields: r.fieldsOf(`{"Name":"Again"}`),
		}); codeOf(err) != CodeAccessDenied {
			t.Errorf("what was given away: got %v", err)
		}
		r.do(bens, "Account", Op{Kind: Delete, ID: mine.ID})
	})
}

// model is the model of the first tenant.
func (r *rig) model() (m *model.Model) {
	r.Helper()
	r.See(func(ctx context.Context, tx *sqldb.Tx) (err error) {
		m, err = r.Models.Model(ctx, tx, tenantA)
		return err
	})
	return m
}
