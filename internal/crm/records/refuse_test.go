package records

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

const sales, restricted = "00000000-0000-4000-8000-0000000000d1", "00000000-0000-4000-8000-0000000000d2"

// set is a permission set that lets its users do everything with all objects, but for some
// fields that others alone may read.
func set(id string, fields map[string]model.FieldPermission) model.Definition {
	all := model.ObjectPermission{Create: true, Read: true, Update: true, Delete: true}
	objects := map[string]model.ObjectPermission{}
	for _, o := range []string{"Account", "Contact", "Lead", "Opportunity", "Quote", "Campaign"} {
		objects[o] = all
	}
	return model.Definition{Kind: model.KindPermissionSet, ID: id, Value: &model.PermissionSet{
		ID: id, Name: id,
		Objects: objects, Fields: fields,
	}}
}

// rows counts what the tables hold.
func (r *rig) rows() (n string) {
	r.Helper()
	r.read(func(ctx context.Context, tx *sqldb.Tx) error {
		for _, table := range []string{
			"records_record", "records_history", "records_reference", "outbox_events",
			"records_team", "records_member",
		} {
			var count, sum int64
			if err := tx.Row(ctx, "SELECT count(*) FROM "+table).Scan(&count); err != nil {
				return err
			}
			if table == "records_record" {
				if err := tx.Row(ctx, "SELECT sum(version) FROM records_record").Scan(&sum); err != nil {
					return err
				}
			}
			n += fmt.Sprint(table, " ", count, " ", sum, "; ")
		}
		return nil
	})
	return n
}

func TestBadInputIsRefusedByNameAndLeavesNothingBehind(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.define(tenantA, user(ann, "Ann", sales), set(sales, nil), model.Definition{
			Kind: model.KindField,
			ID:   "Account.Met__c", Value: &model.Field{
				ID: ann, Object: "Account", Name: "Met__c", Type: model.DateTime, Custom: true,
			},
		})
		account := r.create(system, "Account", `{"Name":"Acme","Met__c":"0001-01-01T00:00:00Z"}`)
		gone := r.create(system, "Account", `{"Name":"Gone"}`)
		r.do(system, "Account", Op{Kind: Delete, ID: gone.ID})
		contact := r.create(system, "Contact", `{"LastName":"Ng","AccountId":"`+account.ID+`"}`)
		foreign := r.create(Caller{Tenant: tenantB}, "Account", `{"Name":"Of B"}`)
		lead := r.create(system, "Lead", `{"LastName":"Li","Company":"X","Status":"Open - Not Contacted"}`)
		opp := `"Name":"D","StageName":"Prospecting","CloseDate":"2026-02-28"`
		anns := Caller{Tenant: tenantA, Subject: ann}
		tests := []struct {
			name, object string
			as           Caller
			op           Op
			fields       string
			code, field  string
		}{
			{"an unknown object", "Invoice", system, Op{Kind: Create}, `{"Name":"x"}`, CodeObjectUnknown, ""},
			{
				"an unknown field", "Account", system,
				Op{Kind: Create},
				`{"Name":"x","Colour":"red"}`, CodeFieldUnknown,
				"Colour",
			},
			{"a required field", "Account", system, Op{Kind: Create}, `{"Phone":"1"}`, CodeFieldRequired, "Name"},
			{
				"a required field that is emptied", "Account", system,
				Op{Kind: Update, ID: account.ID},
				`{"Name":null}`,
				CodeFieldRequired, "Name",
			},
			{
				"a required field of nothing", "Account", system,
				Op{Kind: Create},
				`{"Name":""}`, CodeFieldRequired,
				"Name",
			},
			{
				"a required field of blanks only", "Account", system,
				Op{Kind: Create},
				`{"Name":"   "}`,
				CodeFieldRequired, "Name",
			},
			{
				"a required field of wide blanks", "Account", system,
				Op{Kind: Create},
				`{"Name":"\u3000\u00a0"}`,
				CodeFieldRequired, "Name",
			},
			{
				"a required field that becomes blank", "Account", system,
				Op{Kind: Update, ID: account.ID},
				`{"Name":" "}`,
				CodeFieldRequired, "Name",
			},
			{"a number for a text", "Account", system, Op{Kind: Create}, `{"Name":5}`, CodeFieldInvalid, "Name"},
			{
				"a text for a number", "Account", system,
				Op{Kind: Create},
				`{"Name":"x","AnnualRevenue":"5"}`,
				CodeFieldInvalid, "AnnualRevenue",
			},
			{
				"a fraction for a whole number", "Account", system,
				Op{Kind: Create},
				`{"Name":"x","NumberOfEmployees":1.5}`, CodeFieldInvalid, "NumberOfEmployees",
			},
			{
				"too many digits", "Account", system,
				Op{Kind: Create},
				`{"Name":"x","AnnualRevenue":1234567890.1234567}`,
				CodeFieldInvalid, "AnnualRevenue",
			},
			{"an object", "Account", system, Op{Kind: Create}, `{"Name":{}}`, CodeFieldInvalid, "Name"},
			{
				"a text for a boolean", "Contact", system,
				Op{Kind: Create},
				`{"LastName":"x","HasOptedOutOfEmail":"yes"}`,
				CodeFieldInvalid, "HasOptedOutOfEmail",
			},
			{
				"a value that is not in the picklist", "Account", system,
				Op{Kind: Create},
				`{"Name":"x","Industry":"Mining"}`, CodeFieldInvalid, "Industry",
			},
			{
				"a stage that is not there", "Opportunity", system,
				Op{Kind: Create},
				`{"Name":"D","StageName":"Won","CloseDate":"2026-02-28"}`, CodeFieldInvalid, "StageName",
			},
			{
				"a day that is not there", "Opportunity", system,
				Op{Kind: Create},
				`{"Name":"D","StageName":"Prospecting","CloseDate":"2026-02-30"}`, CodeFieldInvalid, "CloseDate",
			},
			{
				"a day of the year 0", "Opportunity", system,
				Op{Kind: Create},
				`{"Name":"D","StageName":"Prospecting","CloseDate":"0000-02-28"}`, CodeFieldInvalid, "CloseDate",
			},
			{
				"an instant of the year 0", "Account", system,
				Op{Kind: Create},
				`{"Name":"x","Met__c":"0000-12-31T23:59:59Z"}`, CodeFieldInvalid, "Met__c",
			},
			{
				"an instant of the year 0 in UTC", "Account", system,
				Op{Kind: Create},
				`{"Name":"x","Met__c":"0001-01-01T00:00:00+09:00"}`, CodeFieldInvalid, "Met__c",
			},
			{
				"an impossible probability", "Opportunity", system,
				Op{Kind: Create},
				`{` + opp + `,"Probability":101}`,
				CodeFieldInvalid, "Probability",
			},
			{
				"an impossible discount", "Quote", system,
				Op{Kind: Create},
				`{"Name":"Q","DiscountPercent":-1}`,
				CodeFieldInvalid, "DiscountPercent",
			},
			{
				"a total of too many digits", "Quote", system,
				Op{Kind: Create},
				`{"Name":"Q","Subtotal":99999999999999.9,"Tax":0.01}`, CodeFieldInvalid, "Subtotal",
			},
			{
				"a discount that makes too many digits", "Quote", system,
				Op{Kind: Create},
				`{"Name":"Q","Subtotal":123456789012345,"DiscountPercent":1}`, CodeFieldInvalid, "Subtotal",
			},
			{
				"no e-mail address", "Contact", system,
				Op{Kind: Create},
				`{"LastName":"x","Email":"x"}`, CodeFieldInvalid,
				"Email",
			},
			{
				"no URL", "Account", system,
				Op{Kind: Create},
				`{"Name":"x","Website":"javascript:alert(1)"}`,
				CodeFieldInvalid, "Website",
			},
			{"a text that is too long", "Account", system, Op{Kind: Create}, `{"Name":"` + strings.Repeat("x", 256) +
				`"}`, CodeFieldInvalid, "Name"},
			{"a text of two lines", "Account", system, Op{Kind: Create}, `{"Name":"a\nb"}`, CodeFieldInvalid, "Name"},
			{
				"a NUL", "Account", system,
				Op{Kind: Create},
				`{"Name":"x","Description":"a\u0000b"}`, CodeFieldInvalid,
				"Description",
			},
			{
				"a field that the server writes", "Opportunity", system,
				Op{Kind: Create},
				`{` + opp + `,"IsWon":true}`,
				CodeFieldReadOnly, "IsWon",
			},
			{
				"a deleted parent", "Contact", system,
				Op{Kind: Create},
				`{"LastName":"x","AccountId":"` + gone.ID + `"}`,
				CodeFieldInvalid, "AccountId",
			},
			{"a parent of another tenant", "Contact", system, Op{Kind: Create}, `{"LastName":"x","AccountId":"` +
				foreign.ID + `"}`, CodeFieldInvalid, "AccountId"},
			{"a parent of another object", "Contact", system, Op{Kind: Create}, `{"LastName":"x","AccountId":"` +
				contact.ID + `"}`, CodeFieldInvalid, "AccountId"},
			{
				"a parent that the caller does not see", "Contact", anns,
				Op{Kind: Create},
				`{"LastName":"x","AccountId":"` + account.ID + `"}`, CodeFieldInvalid, "AccountId",
			},
			{
				"an owner that is nobody", "Account", system,
				Op{Kind: Create, OwnerID: account.ID},
				`{"Name":"x"}`,
				CodeFieldInvalid, "ownerId",
			},
			{
				"a stale version", "Account", system,
				Op{Kind: Update, ID: account.ID, Version: account.RecordVersion - 1},
				`{"Name":"x"}`, CodeVersionMismatch, "",
			},
			{"a stale version of what is to be deleted", "Contact", system, Op{
				Kind: Delete, ID: contact.ID,
				Version: 1,
			}, ``, CodeVersionMismatch, ""},
			{
				"a deleted record", "Account", system,
				Op{Kind: Update, ID: gone.ID},
				`{"Name":"x"}`, CodeRecordNotFound,
				"",
			},
			{
				"a record of another tenant", "Account", system,
				Op{Kind: Update, ID: foreign.ID},
				`{"Name":"x"}`,
				CodeRecordNotFound, "",
			},
			{
				"a record that the caller does not see", "Account", anns,
				Op{Kind: Update, ID: account.ID},
				`{"Name":"x"}`,
				CodeRecordNotFound, "",
			},
			{"no id", "Account", system, Op{Kind: Delete, ID: "1' OR '1'='1"}, ``, CodeRecordNotFound, ""},
			{"a record that others name", "Account", system, Op{Kind: Delete, ID: account.ID}, ``, CodeReferenced, ""},
			{
				"a field that is only for the server", "Lead", system,
				Op{Kind: Update, ID: lead.ID},
				`{"ConvertedAccountId":"` + account.ID + `"}`, CodeFieldReadOnly, "ConvertedAccountId",
			},
		}
		before := r.rows()
		for _, tt := range tests {
			tt.op.Fields = r.fieldsOf(tt.fields)
			_, err := r.try(tt.as, tt.object, tt.op)
			e, ok := fault.As(err)
			if !ok || e.Code != tt.code {
				t.Errorf("%s: got %v, want %s", tt.name, err, tt.code)
				continue
			}
			details, _ := e.Details.(map[string]string)
			if details["field"] != tt.field || !strings.Contains(e.Message, tt.field) {
				t.Errorf("%s: got %q %v, want it to name %s", tt.name, e.Message, e.Details, tt.field)
			}
			if tt.code == CodeVersionMismatch && !strings.Contains(details["version"], "2026-01-10T") {
				t.Errorf("%s: got %v, want the current version", tt.name, details)
			}
		}
		if after := r.rows(); after != before {
			t.Errorf("something was left behind:\n%s\n%s", before, after)
		}
	})
}

// TestHistoryLeavesOutUpdatesOfWhatTheCallerMayNotRead reads the history of a record in pages
// of one, as somebody who may read all fields and as somebody who may not.
func TestHistoryLeavesOutUpdatesOfWhatTheCallerMayNotRead(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.define(tenantA, user(ann, "Ann", sales), user(ben, "Ben", sales), set(sales, nil),
			set(restricted, map[string]model.FieldPermission{"Account.Hidden__c": {Read: true, Edit: true}}),
			model.Definition{Kind: model.KindField, ID: "Account.Hidden__c", Value: &model.Field{
				ID: restricted, Object: "Account", Name: "Hidden__c", Type: model.Text, MaxLength: 40, Custom: true,
			}})
		v := r.do(system, "Account", Op{Kind: Create, OwnerID: ann, Fields: r.fieldsOf(`{"Name":"A","Hidden__c":"1"}`)})
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
					t.Fatalf("%q is told of %d entries: %v", tt.as, total, err)
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
				t.Errorf("%q is told of %s, want %s", tt.as, got, tt.want)
			}
		}
	})
}

// TestHiddenAndSensitiveFieldsNeverShow plants a word in fields that somebody may not see
// and looks for it, and for the fields' names, in everything that this user gets.
func TestHiddenAndSensitiveFieldsNeverShow(t *testing.T) {
	const secret = "plaNTed"
	onEvery(t, func(t *testing.T, r *rig) {
		r.define(tenantA, user(ann, "Ann", sales), user(ben, "Ben", sales, restricted), set(sales, nil),
			set(restricted, map[string]model.FieldPermission{"Account.Hidden__c": {Read: true, Edit: true}}),
			model.Definition{Kind: model.KindField, ID: "Account.Hidden__c", Value: &model.Field{
				ID: restricted, Object: "Account", Name: "Hidden__c", Type: model.Text, MaxLength: 40, Custom: true,
			}},
			model.Definition{Kind: model.KindField, ID: "Account.Secret__c", Value: &model.Field{
				ID: sales, Object: "Account", Name: "Secret__c", Type: model.Text, MaxLength: 40, Custom: true,
				Sensitive: true,
			}})
		anns, bens := Caller{Tenant: tenantA, Subject: ann}, Caller{Tenant: tenantA, Subject: ben}
		v := r.do(bens, "Account", Op{Kind: Create, OwnerID: ann, Fields: r.fieldsOf(`{"Name":"A","Hidden__c":"` +
			secret + `","Secret__c":"` + secret + `"}`)})
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
		if _, _, err := r.records.List(t.Context(), anns, "Account", Query{Sort: "Hidden__c.asc", Limit: 10}); codeOf(
			err) != CodeFieldUnknown {
			t.Errorf("sort: got %v, want it unknown", err)
		} else if told, _ := fault.As(err); fmt.Sprint(told.Details) != "map[field:Hidden__c]" {
			t.Errorf("sort: the details are %v, want the field", told.Details)
		}
		page, _, err := r.records.List(t.Context(), anns, "Account", Query{Limit: 10})
		for i := range page {
			note(string(page[i].Fields), err)
		}
		_, hidden := r.try(anns, "Account", Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"Hidden__c":"x"}`)})
		_, unknown := r.try(anns, "Account", Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"Nothing__c":"x"}`)})
		if h, u := fmt.Sprint(hidden), strings.ReplaceAll(fmt.Sprint(unknown), "Nothing__c", "Hidden__c"); h != u {
			t.Errorf("a hidden field answers %q, one that does not exist %q", h, u)
		}
		out := r.do(anns, "Account", Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"Name":"B"}`)})
		note(string(out.Fields))
		text := strings.ReplaceAll(shown.String(), `"Secret__c":"`+secret+`2"`, "") // she may read that one
		if strings.Contains(text, secret) || strings.Contains(text, "Hidden__c") {
			t.Errorf("it shows: %s", text)
		}
		r.read(func(ctx context.Context, tx *sqldb.Tx) error {
			for row, err := range tx.Query(ctx, "SELECT body FROM outbox_events") {
				var body []byte
				if err == nil {
					err = row.Scan(&body)
				}
				if err != nil {
					return err
				}
				e, _ := wire.ParseEvent(body)
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
		r.define(tenantA, set(sales, nil), role(head, ""), role(desk, head), withRole(user(ann, "Ann", sales), desk),
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
		if _, _, err := r.records.PutTeamMember(t.Context(), bens, "Account", mine.ID, ben, "Sales Rep", ""); codeOf(
			err) != CodeAccessDenied {
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
	r.read(func(ctx context.Context, tx *sqldb.Tx) (err error) {
		m, err = r.models.Model(ctx, tx, tenantA)
		return err
	})
	return m
}
