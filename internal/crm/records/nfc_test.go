package records

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// The same texts in both forms of Unicode.
const composed, decomposed = "が\u00e9", "か\u3099e\u0301"

func TestTextsAreOneWhateverFormOfUnicodeTheyComeIn(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.records.cfg.Rules = automation.Rules{}
		r.Define(tenantA, user(ann, "Ann", sales), set(sales, nil),
			model.Definition{Kind: model.KindField, ID: "Account.Kana__c", Value: &model.Field{
				Object: "Account", Name: "Kana__c", Label: "Kana", Type: model.Picklist, Values: []string{composed},
				Custom: true,
			}},
			validation("301", "Account", "Name", `record.Name == "禁止`+composed+`"`, "Forbidden."),
			before("302", "Account", `record.Name == "rule"`, both, "Description", `"`+decomposed+`"`))

		if _, err := r.try(system, "Account", Op{Kind: Create, Fields: r.fieldsOf(`{"Name":"禁止` + decomposed +
			`"}`)}); codeOf(err) != CodeRuleBroken {
			t.Errorf("a rule is evaded: got %v", err)
		}
		account := r.create(
			system,
			"Account",
			`{"Name":"`+decomposed+`","Kana__c":"`+decomposed+`","Description":"a\n`+
				decomposed+`"}`,
		)
		if got := fieldsIn(t, account); got["Name"] != composed || got["Kana__c"] != composed ||
			got["Description"] != "a\n"+composed {
			t.Errorf("created: %+q", got)
		}
		if again := r.update(system, account, `{"Name":"`+decomposed+
			`"}`); again.RecordVersion != account.RecordVersion {
			t.Error("the same name in another form is a change")
		}
		if got := fieldsIn(t, r.create(system, "Account", `{"Name":"rule"}`)); got["Description"] != composed {
			t.Errorf("a rule set %+q", got)
		}
		r.Change(func(ctx context.Context, tx *sqldb.Tx) error { // as automation and outcomes of approvals write
			_, err := r.records.Set(ctx, tx, tenantA, "test", "Account",
				[]model.Change{{ID: account.ID, Fields: r.fieldsOf(`{"BillingCity":"` + decomposed + `"}`)}})
			return err
		})
		for _, text := range []string{composed, decomposed} {
			for _, f := range []Filter{
				{"Name", text},
				{"Name.in", "x," + text},
				{"Name.contains", text},
				{"Kana__c", text},
				{"BillingCity", text},
			} {
				page, total, err := r.records.List(t.Context(), system, "Account", Query{
					Filters: []Filter{f},
					Limit:   10,
				})
				if err != nil || total != 1 || page[0].ID != account.ID {
					t.Errorf("%s=%+q: got %d, %v", f.Name, text, total, err)
				}
			}
		}

		// Lengths count what is kept.
		r.create(system, "Account", `{"Name":"`+strings.Repeat("e\u0301", 255)+`"}`)
		if _, err := r.try(system, "Account",
			Op{
				Kind: Create, Fields: r.fieldsOf(`{"Name":"` + strings.Repeat("e\u0301", 256) + `"}`),
			}); codeOf(err) != CodeFieldInvalid {
			t.Errorf("a name of 256 characters: got %v", err)
		}
	})
}

func TestALeadJoinsTheAccountOfItsCompanyInAnyFormOfUnicode(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		account := r.create(system, "Account", `{"Name":"`+decomposed+`"}`)
		contact := r.create(system, "Contact", `{"LastName":"`+composed+`","AccountId":"`+account.ID+`"}`)
		convert := func(lead View) (done Converted) {
			t.Helper()
			_, _, err := r.records.Convert(
				t.Context(),
				Caller{Tenant: tenantA, CorrelationID: "test"},
				Conversion{LeadID: lead.ID, Match: true},
				func(c Converted) ([]byte, error) {
					done = c
					return nil, nil
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		lead := func() View {
			return r.create(
				system,
				"Lead",
				`{"LastName":"`+decomposed+`","Company":"`+decomposed+`","Status":"Open - Not Contacted"}`,
			)
		}
		// old stores a record as it was stored before texts were kept in NFC.
		old := func(v View) {
			r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := tx.Exec(
					ctx,
					"UPDATE records_record SET name = $3, fields = $4 WHERE tenant_id = $1 AND id = $2",
					tenantA,
					v.ID,
					decomposed,
					norm.NFD.String(string(v.Fields)),
				)
				return err
			})
		}
		for _, step := range []string{"both are new", "the lead is old", "both are old"} {
			l := lead()
			if step != "both are new" {
				old(l)
			}
			if step == "both are old" {
				old(account)
				old(contact)
			}
			if done := convert(l); done.AccountID != account.ID || done.ContactID != contact.ID ||
				len(done.Created) != 0 {
				t.Errorf("%s: became %+v", step, done)
			}
		}
	})
}
