package records

import (
	"embed"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/model"
)

//go:embed testdata
var testdata embed.FS

var rewrite = flag.Bool("update", false, "write the golden files anew")

// golden holds a text against a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := testdata.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

var anID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// script notes what was done and what was published, with names for ids.
type script struct {
	*rig
	text  strings.Builder
	names map[string]string
}

func (s *script) name(id, as string) { s.names[id] = as }

// step notes what was published by what was just done.
func (s *script) step(what string) {
	s.Helper()
	published := anID.ReplaceAllStringFunc(s.outbox(), func(id string) string {
		if s.names[id] == "" {
			return "?"
		}
		return s.names[id]
	})
	if published == "" {
		published = "(nothing)\n"
	}
	s.text.WriteString("# " + what + "\n" + published)
}

const (
	ann   = "00000000-0000-4000-8000-0000000000a1"
	ben   = "00000000-0000-4000-8000-0000000000b1"
	queue = "00000000-0000-4000-8000-0000000000c1"
)

func user(id, name string, sets ...string) model.Definition {
	return model.Definition{Kind: model.KindUser, ID: id, Value: &model.User{
		ID: id, Name: name, IsActive: true,
		PermissionSetIDs: sets,
	}}
}

// TestEveryChangePublishesExactlyItsEvents is the table of emission: what is done, and the
// events that follow with all of their fields.
func TestEveryChangePublishesExactlyItsEvents(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.Define(tenantA, user(ann, "Ann"), user(ben, "Ben"),
			model.Definition{Kind: model.KindGroup, ID: queue, Value: &model.Group{
				ID: queue, Name: "Inbound",
				Type: model.Queue,
			}},
			model.Definition{Kind: model.KindField, ID: "Account.Secret__c", Value: &model.Field{
				ID: ann, Object: "Account", Name: "Secret__c", Type: model.Text, MaxLength: 40, Custom: true,
				Sensitive: true,
			}})
		s := &script{rig: r, names: map[string]string{
			ann: "ann", ben: "ben", queue: "queue",
			model.SystemUser(tenantA): "system", tenantA: "A",
		}}
		r.Clock.At(r, "2026-01-10T12:34:56.789Z")
		account := r.create(system, "Account", `{"Name":"Acme","Secret__c":"s3cret","AnnualRevenue":1234.5}`)
		s.name(account.ID, "acme")
		s.step("an account, with a sensitive field")
		opp := r.do(system, "Opportunity", Op{Kind: Create, OwnerID: ann, Fields: crmtest.Fields(r,
			`{"Name":"Deal A","StageName":"Qualification","CloseDate":"2026-02-28","AccountId":"`+account.ID+`"}`)})
		s.name(opp.ID, "deal")
		s.step("an opportunity: its stage says the rest")
		opp = r.update(system, opp, `{"Name":"Deal A"}`)
		s.step("what changes nothing")
		opp = r.update(system, opp, `{"StageName":"Negotiation","Probability":50}`)
		s.step("another stage, with a probability of its own, in the same millisecond")
		r.Clock.At(r, "2026-01-10T12:00:00.000Z")
		opp = r.do(system, "Opportunity", Op{
			Kind: Update, ID: opp.ID, Version: opp.RecordVersion, OwnerID: ben,
			Fields: r.fieldsOf(`{"StageName":"Closed Won"}`),
		})
		s.step("owner and stage at once, by a clock that went back")
		account = r.update(system, account, `{"Secret__c":"other","AnnualRevenue":null}`)
		s.step("a sensitive field and one that is emptied")
		account = r.update(system, account, `{"Secret__c":null}`)
		s.step("a sensitive field alone")
		account = r.do(system, "Account", Op{Kind: Update, ID: account.ID, OwnerID: queue})
		s.step("an owner that is a queue")
		quote := r.create(system, "Quote", `{"Name":"Q1","OpportunityId":"`+opp.ID+
			`","Subtotal":99.99,"DiscountPercent":12.5,"Tax":0.07}`)
		s.name(quote.ID, "quote")
		s.step("a quote and its total")
		quote = r.update(system, quote, `{"DiscountPercent":0}`)
		s.step("another discount")
		r.do(system, "Quote", Op{Kind: Delete, ID: quote.ID, Version: quote.RecordVersion})
		s.step("the quote is deleted")
		golden(t, "emission.txt", s.text.String())
	})
}

// TestTeamsMembersAndConversionsPublishExactlyTheirEvents is the second half of the table of
// emission.
func TestTeamsMembersAndConversionsPublishExactlyTheirEvents(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.Define(tenantA, user(ann, "Ann"), user(ben, "Ben"))
		r.older(tenantA)
		s := &script{rig: r, names: map[string]string{
			ann: "ann", ben: "ben", model.SystemUser(tenantA): "system",
			tenantA: "A",
		}}
		as := Caller{Tenant: tenantA, CorrelationID: "test"}
		yes, no, attended := true, false, "Attended"
		r.Clock.At(r, "2026-01-10T12:34:56.789Z")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		account := r.create(system, "Account", `{"Name":"Acme"}`)
		s.name(account.ID, "acme")
		campaign := r.create(system, "Campaign", `{"Name":"Spring 2026 Webinar"}`)
		s.name(campaign.ID, "spring")
		lead := r.create(
			system,
			"Lead",
			`{"FirstName":"Li","LastName":"Na","Company":"Initech","Status":"Working - Contacted",`+
				`"Email":"li@example.com","LeadSource":"Web"}`,
		)
		s.name(lead.ID, "li")
		second := r.create(
			system,
			"Lead",
			`{"LastName":"Na","FirstName":"Li","Company":"Initech","Status":"Working - Contacted",`+
				`"Email":"li@example.com"}`,
		)
		s.name(second.ID, "li2")
		s.outbox()

		team := func(user, role string, access model.Access) {
			_, _, err := r.records.PutTeamMember(t.Context(), as, "Account", account.ID, user, role, access)
			must(err)
		}
		team(ann, "Sales Rep", "")
		s.step("a member of a team, with the access of the role")
		team(ann, "Sales Rep", model.Edit)
		s.step("the same again")
		team(ann, "Executive Sponsor", model.Read)
		s.step("another role")
		must(r.records.RemoveTeamMember(t.Context(), as, "Account", account.ID, ann))
		s.step("out of the team")

		member := func(d MemberDraft) {
			_, _, err := r.records.PutMember(t.Context(), as, campaign.ID, "Lead", lead.ID, d)
			must(err)
		}
		member(MemberDraft{})
		s.step("a member of a campaign")
		member(MemberDraft{HasResponded: &no})
		s.step("the same again")
		member(MemberDraft{Status: &attended, HasResponded: &yes})
		s.step("another status, and it has responded")
		member(MemberDraft{HasResponded: &no})
		s.step("it has not responded after all")
		must(r.records.RemoveMember(t.Context(), as, campaign.ID, "Lead", lead.ID))
		s.step("out of the campaign")

		convert := func(v Conversion) (done Converted) {
			_, _, err := r.records.Convert(t.Context(), as, v, func(c Converted) ([]byte, error) {
				done = c
				return []byte("{}"), nil
			})
			must(err)
			return done
		}
		first := convert(Conversion{
			LeadID: lead.ID, Match: true,
			Opportunity: r.fieldsOf(`{"StageName":"Prospecting","CloseDate":"2026-03-31"}`),
		})
		s.name(first.AccountID, "initech")
		s.name(first.ContactID, "contact")
		s.name(string(first.OpportunityID), "opportunity")
		s.step("a lead becomes a new account, contact and opportunity")
		again := convert(Conversion{LeadID: second.ID, Match: true})
		s.step("another lead joins them")
		if again.AccountID != first.AccountID || again.ContactID != first.ContactID || again.OpportunityID != "" ||
			len(again.Created) != 0 {
			t.Errorf("the second lead became %+v, want it to join %+v", again, first)
		}
		golden(t, "emission2.txt", s.text.String())
	})
}

// TestADeletionPublishesAllThatItRemoves is the third part of the table of emission: what a deletion
// takes along, and what a new tenant keeps out of events.
func TestADeletionPublishesAllThatItRemoves(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.Define(tenantA, user(ann, "Ann"), user(ben, "Ben"))
		s := &script{rig: r, names: map[string]string{
			ann: "ann", ben: "ben", model.SystemUser(tenantA): "system",
			tenantA: "A",
		}}
		as := Caller{Tenant: tenantA, CorrelationID: "test"}
		r.Clock.At(r, "2026-01-10T12:34:56.789Z")
		lead := r.create(
			system,
			"Lead",
			`{"LastName":"Na","Company":"Initech","Status":"Working - Contacted","Email":"na@example.com",`+
				`"Phone":"1","Street":"2","City":"Kobe"}`,
		)
		s.name(lead.ID, "na")
		s.step("a lead with personal fields")
		r.update(system, lead, `{"MobilePhone":"3","PostalCode":"4","Title":"Buyer"}`)
		s.step("another number")
		contact := r.create(system, "Contact", `{"LastName":"Li","Birthdate":"1990-01-02"}`)
		s.name(contact.ID, "li")
		s.step("a contact with a date of birth")
		account := r.create(system, "Account", `{"Name":"Acme","Phone":"5","BillingStreet":"6"}`)
		s.name(account.ID, "acme")
		campaign := r.create(system, "Campaign", `{"Name":"Spring"}`)
		s.name(campaign.ID, "spring")
		for object, id := range map[string]string{"Lead": lead.ID, "Contact": contact.ID} {
			if _, _, err := r.records.PutMember(t.Context(), as, campaign.ID, object, id, MemberDraft{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{ann, ben} {
			if _, _, err := r.records.PutTeamMember(t.Context(), as, "Account", account.ID, id, "Sales Rep",
				""); err != nil {
				t.Fatal(err)
			}
		}
		s.outbox()
		r.do(system, "Account", Op{Kind: Delete, ID: account.ID})
		s.step("an account with a team is deleted")
		r.do(system, "Campaign", Op{Kind: Delete, ID: campaign.ID})
		s.step("a campaign with members is deleted")
		golden(t, "emission3.txt", s.text.String())
	})
}
