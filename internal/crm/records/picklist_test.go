package records

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
)

// picklist redefines the values of a standard picklist.
func picklist(object, name string, values ...string) model.Definition {
	f := *model.StandardField(object, name)
	f.Values = values
	return model.Definition{Kind: model.KindField, ID: model.FieldKey(object, name), Value: &f}
}

func TestRecordsKeepValuesThatAPicklistDoesNotHaveAnyMore(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		v := r.create(system, "Account", `{"Name":"A","Industry":"Energy","Rating":"Hot"}`)
		r.Define(tenantA, picklist("Account", "Industry", "Banking", "Retail"))
		refused := func(op Op) {
			t.Helper()
			if _, err := r.try(system, "Account", op); codeOf(err) != CodeFieldInvalid ||
				!strings.Contains(err.Error(), "Industry must be one of Banking, Retail") {
				t.Errorf("got %v", err)
			}
		}
		refused(Op{Kind: Create, Fields: r.fieldsOf(`{"Name":"B","Industry":"Energy"}`)})
		v = r.update(system, v, `{"Phone":"1"}`)
		again := r.update(system, v, `{"Phone":"1","Industry":"Energy"}`)
		if again.RecordVersion != v.RecordVersion {
			t.Error("what repeats a value is a change")
		}
		v = r.update(system, v, `{"Phone":"2","Industry":"Energy"}`)
		if !strings.Contains(string(v.Fields), `"Industry":"Energy"`) {
			t.Errorf("got %s", v.Fields)
		}
		refused(Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"Industry":"energy"}`)})
		if _, n, err := r.records.List(t.Context(), system, "Account", Query{
			Filters: []Filter{{"Industry", "Energy"}},
			Limit:   10,
		}); err != nil || n != 1 {
			t.Errorf("a filter finds %d, %v", n, err)
		}
		v = r.update(system, v, `{"Industry":"Retail"}`)
		refused(Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"Industry":"Energy"}`)})
	})
}

func TestAConversionLeavesOutWhatThePicklistDoesNotHave(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		lead := r.create(system, "Lead",
			`{"LastName":"Ng","Company":"Acme","Status":"Open - Not Contacted","Industry":"Energy","Rating":"Hot"}`)
		r.Define(tenantA, picklist("Account", "Industry", "Banking"))
		var done Converted
		_, _, err := r.records.Convert(t.Context(), Caller{Tenant: tenantA, CorrelationID: "test"},
			Conversion{LeadID: lead.ID}, func(c Converted) ([]byte, error) {
				done = c
				return json.Marshal(c)
			})
		if err != nil {
			t.Fatal(err)
		}
		account, err := r.records.Get(t.Context(), system, "Account", done.AccountID)
		if err != nil || strings.Contains(string(account.Fields), "Industry") ||
			!strings.Contains(string(account.Fields), `"Rating":"Hot"`) {
			t.Errorf("got %s, %v", account.Fields, err)
		}
	})
}
