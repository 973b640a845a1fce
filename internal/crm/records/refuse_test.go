package records

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
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
	r.See(func(ctx context.Context, tx *sqldb.Tx) error {
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
		r.Define(tenantA, user(ann, "Ann", sales), set(sales, nil), model.Definition{
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
			{
				"a record that others name",
				"Account",
				system,
				Op{Kind: Delete, ID: account.ID},
				``,
				CodeReferenced,
				"",
			},
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
