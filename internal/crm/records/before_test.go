package records

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

// validation is a validation rule, the id the last digits of a UUID.
func validation(id, object, field, condition, message string) model.Definition {
	id = "00000000-0000-4000-8000-000000000" + id
	return model.Definition{Kind: model.KindValidationRule, ID: id, Value: &model.ValidationRule{
		ID: id, Name: "VR-" + id[33:], Object: object, Condition: condition, Message: message, Field: field,
		IsActive: true,
	}}
}

// before is a workflow rule that sets fields before the save.
func before(id, object, condition string, on []string, set ...string) model.Definition {
	id = "00000000-0000-4000-8000-000000000" + id
	rule := &model.WorkflowRule{
		ID: id, Name: "WR-" + id[33:], Object: object, On: on, When: model.BeforeSave,
		Condition: condition, IsActive: true,
	}
	for i := 0; i < len(set); i += 2 {
		rule.Actions = append(rule.Actions, model.Action{
			Key: set[i], Type: model.SetField, Field: set[i],
			Value: jsontext.Value(set[i+1]),
		})
	}
	return model.Definition{Kind: model.KindWorkflowRule, ID: id, Value: rule}
}

var both = []string{model.OnCreate, model.OnUpdate}

func fieldsIn(t *testing.T, v View) map[string]any {
	t.Helper()
	fields := map[string]any{}
	if err := json.Unmarshal([]byte(v.Fields), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestValidationRulesRefuseWithTheirMessagesAndLeaveNothingBehind(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.records.cfg.Rules = automation.Rules{}
		r.Define(tenantA, user(ann, "Ann", sales), set(sales, nil), set(restricted, map[string]model.FieldPermission{
			"Opportunity.NextStep": {Read: true},
		}),
			validation("101", "Opportunity", "Amount", "record.Amount < 0", "An amount is not negative."),
			validation("102", "Opportunity", "CloseDate", `record.IsWon && record.CloseDate > "2026-06-30"`,
				"A deal that is won is closed."),
			validation("103", "Opportunity", "NextStep", "record.NextStep == null && record.Amount < -10",
				"Say what is next."),
			validation("104", "Opportunity", "", "old != null && old.IsClosed && record.Amount != old.Amount",
				"A closed deal keeps its amount."),
			validation("105", "Account", "Name", "true", "Accounts cannot be saved."),
		)
		anns := Caller{Tenant: tenantA, Subject: ann}
		create := func(fields string) error {
			_, err := r.try(
				anns,
				"Opportunity",
				Op{Kind: Create, Fields: r.fieldsOf(`{"Name":"D",` + fields + `}`)},
			)
			return err
		}
		rows := r.rows()
		tests := []struct{ fields, message, details string }{
			{
				`"StageName":"Prospecting","CloseDate":"2026-02-28","Amount":-1`, "An amount is not negative.",
				`{"field":"Amount","rules":[{"id":"00000000-0000-4000-8000-000000000101","name":"VR-101",` +
					`"message":"An amount is not negative.","field":"Amount"}]}`,
			},
			// The values that follow from a stage are seen; a field that the caller may not see is not named.
			{
				`"CloseDate":"2026-12-31","Amount":-20,"StageName":"Closed Won"`,
				"An amount is not negative. A deal that is won is closed. Say what is next.",
				`{"field":"Amount","rules":[{"id":"00000000-0000-4000-8000-000000000101","name":"VR-101",` +
					`"message":"An amount is not negative.","field":"Amount"},` +
					`{"id":"00000000-0000-4000-8000-000000000102","name":"VR-102",` +
					`"message":"A deal that is won is closed.","field":"CloseDate"},` +
					`{"id":"00000000-0000-4000-8000-000000000103","name":"VR-103","message":"Say what is next."}]}`,
			},
		}
		for _, tt := range tests {
			err := create(tt.fields)
			e, _ := fault.As(err)
			if codeOf(err) != CodeRuleBroken || e.Kind != fault.Invalid || e.Message != tt.message {
				t.Errorf("%s: got %v", tt.fields, err)
				continue
			}
			details, err := json.Marshal(e.Details, json.Deterministic(true))
			if diff := cmp.Diff(tt.details, string(details)); diff != "" || err != nil {
				t.Errorf("%s: %v\n%s", tt.fields, err, diff)
			}
		}
		if now := r.rows(); now != rows {
			t.Errorf("before %s\nafter  %s", rows, now)
		}
		// an empty amount is not below 0
		if err := create(`"StageName":"Prospecting","CloseDate":"2026-02-28"`); err != nil {
			t.Error(err)
		}
		opp := r.create(anns, "Opportunity",
			`{"Name":"W","StageName":"Closed Won","CloseDate":"2026-02-28","Amount":5}`)
		if _, err := r.try(anns, "Opportunity", Op{
			Kind: Update, ID: opp.ID,
			Fields: r.fieldsOf(`{"Amount":6}`),
		}); codeOf(err) != CodeRuleBroken {
			t.Errorf("old: got %v", err)
		}
		opp = r.update(anns, opp, `{"Name":"W2"}`)
		r.Define(tenantA, model.Definition{
			Kind: model.KindValidationRule, ID: "00000000-0000-4000-8000-000000000104",
			Value: &model.ValidationRule{Object: "Opportunity", Condition: "true"},
		})
		r.update(anns, opp, `{"Amount":7}`) // off with its definition
		lead := r.create(anns, "Lead", `{"LastName":"Li","Company":"X","Status":"Open - Not Contacted"}`)
		rows = r.rows()
		_, _, err := r.records.Convert(
			t.Context(),
			anns,
			Conversion{LeadID: lead.ID},
			func(Converted) ([]byte, error) {
				return nil, nil
			},
		)
		if codeOf(err) != CodeRuleBroken || r.rows() != rows {
			t.Errorf("a conversion that makes what a rule refuses: got %v", err)
		}
	})
}

// TestALongTextIsNoWayAroundARule is about rules that take more steps with a text than an
// evaluation has: nobody knows whether they hold.
func TestALongTextIsNoWayAroundARule(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.records.cfg.Rules = automation.Rules{}
		r.Define(tenantA, validation("101", "Account", "Description",
			`record.Description.matches("(?i)(first|second|third) word.*forbidden")`,
			"Some words are not for accounts."),
			before("201", "Account", `record.Description.matches("(?i)(first|second|third) word.*forbidden")`, both,
				"Phone", `"1"`))
		create := func(text string) error {
			_, err := r.try(
				system,
				"Account",
				Op{Kind: Create, Fields: r.fieldsOf(`{"Name":"A","Description":"` +
					text + `"}`)},
			)
			return err
		}
		if err := create(strings.Repeat("a well-behaved text ", 10)); err != nil {
			t.Error(err)
		}
		if err := create("the first word is forbidden"); codeOf(err) != CodeRuleBroken {
			t.Errorf("got %v", err)
		}
		err := create(strings.Repeat("long ", 6000) + "the first word is forbidden")
		e, _ := fault.As(err)
		if codeOf(err) != CodeRuleBroken ||
			!strings.HasPrefix(e.Message, `The texts are too long to be held against the rule "VR-101": Some words`) {
			t.Errorf("with a long text before it: got %v", err)
		}
	})
}

func TestRulesSetFieldsBeforeTheSave(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.records.cfg.Rules = automation.Rules{}
		acme := r.create(system, "Account", `{"Name":"Acme"}`)
		gone := r.create(system, "Account", `{"Name":"Gone"}`)
		r.do(system, "Account", Op{Kind: Delete, ID: gone.ID})
		r.Define(
			tenantA,
			user(ann, "Ann", sales),
			set(sales, nil),
			set(restricted, map[string]model.FieldPermission{
				"Opportunity.LeadSource": {Read: true},
			}),
			before("201", "Opportunity", "record.Amount >= 1000", both, "StageName", `"Negotiation"`),
			// sees what follows of the one before
			before("202", "Opportunity", `record.Probability == 75 || record.StageName == "Negotiation"`, both,
				"NextStep", `"Call"`),
			before(
				"203",
				"Opportunity",
				"old.Amount != record.Amount",
				[]string{model.OnUpdate},
				"LeadSource",
				`"Web"`,
				"AccountId",
				`"`+acme.ID+`"`,
			),
			validation("104", "Opportunity", "NextStep", `record.NextStep == "Call" && record.Amount > 5000`,
				"Too much."),
		)
		anns := Caller{Tenant: tenantA, Subject: ann}
		opp := r.create(anns, "Opportunity",
			`{"Name":"D","StageName":"Prospecting","CloseDate":"2026-02-28","Amount":1000}`)
		got := fieldsIn(t, opp)
		negotiation := r.model().Stage("Negotiation")
		if got["StageName"] != "Negotiation" || got["NextStep"] != "Call" ||
			got["Probability"] != float64(negotiation.Probability) || got["AccountId"] != nil {
			t.Errorf("created: %v", got)
		}
		if text := r.outbox(); !strings.Contains(text, `"StageName":"Negotiation"`) ||
			strings.Contains(text, "StageChanged") {
			t.Errorf("the event does not tell what was saved: %s", text)
		}
		opp = r.update(anns, opp, `{"Amount":10,"StageName":"Prospecting"}`)
		if got := fieldsIn(t, opp); got["StageName"] != "Prospecting" || got["AccountId"] != acme.ID ||
			got["LeadSource"] != nil {
			t.Errorf("updated: %v", got) // the caller does not see LeadSource
		}
		if now, err := r.records.Get(t.Context(), system, "Opportunity", opp.ID); err != nil ||
			fieldsIn(t, now)["LeadSource"] != "Web" {
			t.Errorf("what the caller may not write is written: %s %v", now.Fields, err)
		}
		version := opp.RecordVersion
		if opp = r.update(anns, opp, `{"Amount":10}`); opp.RecordVersion != version {
			t.Error("a change that changes nothing lets no rule act")
		}
		if _, err := r.try(anns, "Opportunity", Op{
			Kind: Update, ID: opp.ID,
			Fields: r.fieldsOf(`{"Amount":6000}`),
		}); codeOf(err) != CodeRuleBroken {
			t.Errorf("validation sees what rules set: got %v", err)
		}
		r.Define(tenantA, before("203", "Opportunity", "old.Amount != record.Amount", []string{model.OnUpdate},
			"AccountId", `"`+gone.ID+`"`))
		rows := r.rows()
		_, err := r.try(anns, "Opportunity", Op{Kind: Update, ID: opp.ID, Fields: r.fieldsOf(`{"Amount":11}`)})
		if codeOf(err) != CodeRuleFailed || !strings.Contains(err.Error(), "WR-203") || r.rows() != rows {
			t.Errorf("a rule that names what is gone: got %v", err)
		}
	})
}
