package reporting

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/tier"
)

// The kinds of ids.
const (
	users = iota
	roles
	groups
	sets
	rules
)

// TestReportsConvergeToARecount does anything in any order, hands the events out in any
// order that keeps that of their keys, some twice. When it is quiet, a recount finds no
// difference, and everybody is shown what counting the records that it sees gives.
func TestReportsConvergeToARecount(t *testing.T) {
	tier.System(t)
	onEvery(t, func(t *testing.T, r *rig) {
		steps := 100
		if os.Getenv("RENGA_LONG") != "" {
			steps = 400
		}
		rapid.Check(t, func(rt *rapid.T) {
			p := &play{tenant: newTenant(r), T: rt, living: map[string][]string{}}
			p.begin()
			for n := range steps {
				p.step()
				if n%20 == 0 {
					p.agree(crmtest.ID(users, 1+n/20%5))
				}
			}
			p.finish()
			if found, err := p.Recount(r.Context(), p.id); err != nil || len(found) > 0 {
				rt.Fatalf("a recount finds %q, %v", found, err)
			}
			for n := 1; n <= 5; n++ {
				p.compare(crmtest.ID(users, n))
			}
			p.compare("")
		})
	})
}

// play is a tenant in which things happen at random.
type play struct {
	*tenant
	*rapid.T
	living    map[string][]string // ids by object
	approvals []*submission
}

// submission is an approval as the test knows it.
type submission struct {
	id, object, record, by, decision string
	at, decided                      canonical.Stamp
}

func (p *play) Helper() {}

// begin makes a small organization, in which access comes from everything that it can come
// from.
func (p *play) begin() {
	all := map[string]model.ObjectPermission{}
	for _, object := range []string{"Account", "Contact", "Lead", "Opportunity", "Quote", "Campaign"} {
		all[object] = model.ObjectPermission{Read: true}
	}
	reads := model.PermissionSet{
		ID: crmtest.ID(sets, 1), Name: "reads", Objects: all,
		Fields: map[string]model.FieldPermission{},
	}
	sees := model.PermissionSet{
		ID: crmtest.ID(sets, 2), Name: "sees all", Objects: all,
		Fields: map[string]model.FieldPermission{}, ViewAll: true,
	}
	define := []model.Definition{
		{Kind: model.KindPermissionSet, ID: reads.ID, Value: reads},
		{Kind: model.KindPermissionSet, ID: sees.ID, Value: sees},
		{Kind: model.KindRole, ID: crmtest.ID(roles, 1), Value: model.Role{ID: crmtest.ID(roles, 1), Name: "r"}},
		{Kind: model.KindRole, ID: crmtest.ID(roles, 2), Value: model.Role{
			ID: crmtest.ID(roles, 2), Name: "r",
			ParentRoleID: crmtest.ID(roles, 1),
		}},
		{Kind: model.KindRole, ID: crmtest.ID(roles, 3), Value: model.Role{
			ID: crmtest.ID(roles, 3), Name: "r",
			ParentRoleID: crmtest.ID(roles, 1),
		}},
		{Kind: model.KindGroup, ID: crmtest.ID(groups, 1), Value: model.Group{
			ID: crmtest.ID(groups, 1), Name: "q", Type: model.Queue,
			Members: []model.Member{{Type: model.TypeUser, ID: crmtest.ID(users, 4)}},
		}},
		{Kind: model.KindGroup, ID: crmtest.ID(groups, 2), Value: model.Group{
			ID: crmtest.ID(groups, 2), Name: "g",
			Type: model.PublicGroup, Members: []model.Member{
				{Type: model.TypeUser, ID: crmtest.ID(users, 3)}, {Type: model.TypeUser, ID: crmtest.ID(users, 4)},
			},
		}},
		{Kind: model.KindSharingRule, ID: crmtest.ID(rules, 1), Value: model.SharingRule{
			ID: crmtest.ID(rules, 1), Name: "s", Object: "Opportunity", Kind: model.CriteriaRule,
			Criteria: `record.StageName == "Negotiation"`, Access: model.Read,
			Target: model.Member{Type: model.TypeGroup, ID: crmtest.ID(groups, 2)}, IsActive: true,
		}},
		{Kind: model.KindSharingRule, ID: crmtest.ID(rules, 2), Value: model.SharingRule{
			ID: crmtest.ID(rules, 2), Name: "s", Object: "Lead", Kind: model.OwnerRule, Source: &model.Member{
				Type: model.TypeRole, ID: crmtest.ID(roles, 2),
			}, Access: model.Read,
			Target: model.Member{Type: model.TypeUser, ID: crmtest.ID(users, 3)}, IsActive: true,
		}},
		{Kind: model.KindSharingRule, ID: crmtest.ID(rules, 3), Value: model.SharingRule{
			ID: crmtest.ID(rules, 3), Name: "s", Object: "Lead", Kind: model.CriteriaRule,
			Criteria: `record.LeadSource == "Web"`, Access: model.Read,
			Target: model.Member{Type: model.TypeUser, ID: crmtest.ID(users, 4)}, IsActive: true,
		}},
		{Kind: model.KindOWD, ID: "Campaign", Value: model.Default{
			Object: "Campaign",
			Access: rapid.SampledFrom([]model.OWD{model.Private, model.ReadOnly}).Draw(p.T, "default"),
		}},
	}
	for n := 1; n <= 5; n++ {
		u := model.User{ID: crmtest.ID(users, n), Name: fmt.Sprint("u", n), IsActive: true, PermissionSetIDs: []string{
			crmtest.ID(sets, 1),
		}}
		switch n {
		case 1, 2, 3:
			u.RoleID = crmtest.ID(roles, n)
		case 5:
			u.PermissionSetIDs = []string{crmtest.ID(sets, 2)}
		}
		define = append(define, model.Definition{Kind: model.KindUser, ID: u.ID, Value: u})
	}
	p.define(define...)
	for range 2 {
		p.make("Campaign")
		p.make("Account")
	}
}

func (p *play) owner() string {
	if n := rapid.IntRange(1, 6).Draw(p.T, "owner"); n < 6 {
		return crmtest.ID(users, n)
	}
	return crmtest.ID(groups, 1)
}

// some is a living record of an object, "" when that which was drawn is not.
func (p *play) some(object string) string {
	n := rapid.IntRange(0, 9).Draw(p.T, object)
	if n >= len(p.living[object]) {
		return ""
	}
	return p.living[object][n]
}

// draw makes fields of an object, some of them.
func (p *play) draw(object string, whole bool) map[string]any {
	fields, yes := map[string]any{}, func(label string) bool { return whole || rapid.Bool().Draw(p.T, label) }
	one := func(field string, of ...any) {
		if yes(field) {
			fields[field] = rapid.SampledFrom(of).Draw(p.T, field)
		}
	}
	switch object {
	case "Account":
		one("Name", "A", "B")
	case "Campaign":
		one("Name", "=SUM(A1)", "Spring")
		one("ActualCost", 0.0, 100.5, nil)
	case "Lead":
		one("LastName", "L", "M")
		one("Company", "C")
		one("Status", "Open - Not Contacted", "Working - Contacted")
		one("LeadSource", "Web", "Other", nil)
	case "Opportunity":
		one("Name", "O", "P")
		one("StageName", "Prospecting", "Negotiation", "Closed Won", "Closed Lost")
		one("CloseDate", "2026-01-31", "2026-02-01", "2026-12-15")
		one("Amount", 10.0, 0.1, 333.33, 999999999999.99, nil)
		if !whole {
			one("Probability", 0.0, 33.0, 100.0, nil)
		}
		if account := p.some("Account"); account != "" {
			fields["AccountId"] = account
		}
		if campaign := p.some("Campaign"); campaign != "" && yes("campaign") {
			fields["CampaignId"] = campaign
		}
	}
	return fields
}

func (p *play) make(object string) {
	p.living[object] = append(p.living[object], p.create(object, p.owner(), p.draw(object, true)))
}

// refused lets an operation be refused by what is there.
func (p *play) refused(err error) bool {
	if err != nil && fault.KindOf(err) != fault.Conflict {
		p.rig.Fatal(err)
	}
	return err != nil
}

func (p *play) object() string {
	return rapid.SampledFrom([]string{
		"Opportunity", "Opportunity", "Opportunity", "Lead", "Lead", "Account",
		"Campaign",
	}).Draw(p.T, "object")
}

// step lets one thing happen.
func (p *play) step() {
	switch rapid.IntRange(0, 16).Draw(p.T, "step") {
	case 0, 1, 2:
		if object := p.object(); len(p.living[object]) < 10 {
			p.make(object)
		}
	case 3, 4, 5:
		p.edit()
	case 6:
		object := p.object()
		if id := p.some(object); id != "" {
			if _, err := p.apply(object, records.Op{Kind: records.Delete, ID: id}); !p.refused(err) {
				p.living[object] = slices.DeleteFunc(p.living[object], func(other string) bool { return other == id })
			}
		}
	case 7:
		p.convert()
	case 8, 9:
		p.join()
	case 10:
		if id := p.some("Opportunity"); id != "" {
			_, _, err := p.records.PutTeamMember(p.Context(), p.system(), "Opportunity", id,
				crmtest.ID(users, rapid.IntRange(1, 5).Draw(p.T, "mate")), "Sales Rep", model.Read)
			p.refused(err)
		}
	case 11:
		p.approve()
	case 16:
		p.takeAll()
	case 12:
		if len(p.taken) > 0 { // it comes a second time
			p.give(rapid.SampledFrom(p.taken).Draw(p.T, "again"))
		}
	default:
		if keys := p.keys(); len(keys) > 0 {
			p.take(rapid.SampledFrom(keys).Draw(p.T, "key"))
		}
	}
}

func (p *play) edit() {
	object := p.object()
	id := p.some(object)
	if id == "" {
		return
	}
	op := records.Op{Kind: records.Update, ID: id, Fields: p.fieldsOf(p.draw(object, false))}
	if rapid.IntRange(0, 2).Draw(p.T, "given away") == 0 {
		op.OwnerID = p.owner()
	}
	_, err := p.apply(object, op)
	p.refused(err)
}

func (p *play) convert() {
	id := p.some("Lead")
	if id == "" {
		return
	}
	v := records.Conversion{LeadID: id}
	if rapid.Bool().Draw(p.T, "opportunity") {
		v.Opportunity = p.fieldsOf(p.draw("Opportunity", true))
		delete(v.Opportunity, "AccountId")
	}
	_, _, err := p.records.Convert(p.Context(), p.system(), v, func(c records.Converted) ([]byte, error) {
		p.living["Account"] = append(p.living["Account"], c.AccountID)
		if c.OpportunityID != "" {
			p.living["Opportunity"] = append(p.living["Opportunity"], string(c.OpportunityID))
		}
		return []byte("{}"), nil
	})
	p.refused(err)
}

// join changes who is in a campaign.
func (p *play) join() {
	campaign, lead := p.some("Campaign"), p.some("Lead")
	if campaign == "" || lead == "" {
		return
	}
	if rapid.IntRange(0, 3).Draw(p.T, "leaves") == 0 {
		if err := p.records.RemoveMember(p.Context(), p.system(), campaign, "Lead", lead); err != nil &&
			fault.KindOf(err) != fault.NotFound {
			p.rig.Fatal(err)
		}
		return
	}
	responded := rapid.Bool().Draw(p.T, "responded")
	_, _, err := p.records.PutMember(p.Context(), p.system(), campaign, "Lead", lead,
		records.MemberDraft{HasResponded: &responded})
	p.refused(err)
}

// approve submits a record, or decides. Both have keys of their own here, so that they come
// in any order.
func (p *play) approve() {
	if len(p.approvals) > 0 && rapid.Bool().Draw(p.T, "decide") {
		if a := rapid.SampledFrom(p.approvals).Draw(p.T, "approval"); a.decision == "" {
			a.decision, a.decided = rapid.SampledFrom([]string{"APPROVED", "REJECTED", "RECALLED"}).Draw(p.T,
				"decision"), a.at+90*60*1000
			p.Exec("UPDATE approval_instance SET status = $3, decided_at = $4 WHERE tenant_id = $1 AND id = $2", p.id,
				a.id, decisions[a.decision], a.decided)
			p.publish("Decision", a.id, events.ApprovalDecided{
				ApprovalInstanceID: a.id, Target: events.ApprovalTarget{ObjectName: a.object, RecordID: a.record},
				Decision:  a.decision,
				DecidedBy: crmtest.ID(users, 1), DecidedAt: a.decided,
			})
		}
		return
	}
	pending := func(id string) bool {
		return slices.ContainsFunc(p.approvals, func(a *submission) bool { return a.record == id && a.decision == "" })
	}
	if id := p.some("Opportunity"); id != "" && !pending(id) {
		a := &submission{
			id: uuid.NewString(), object: "Opportunity", record: id,
			by: crmtest.ID(users, rapid.IntRange(1, 5).Draw(p.T, "submitter")), at: 1_767_000_000_000,
		}
		// some in December, some in January
		a.at += canonical.Stamp(rapid.IntRange(0, 10).Draw(p.T, "days")) * 24 * 60 * 60 * 1000
		p.approvals = append(p.approvals, a)
		p.submit(a)
		p.publish("Submission", a.id, events.ApprovalSubmitted{
			ApprovalInstanceID: a.id, Target: events.ApprovalTarget{ObjectName: a.object, RecordID: id},
			SubmittedBy: a.by, SubmittedAt: a.at, LockedFields: []string{},
		})
	}
}

// submit notes an approval as the service of approvals does.
func (t *tenant) submit(a *submission) {
	t.Helper()
	t.Exec(`INSERT INTO approval_instance (tenant_id, id, object, record_id, process_id, process_name,
		status, stage, stages, locked, submitted_by, submitted_at, comment,
		record_version, meets, decided_by, decided_at, decision_comment, execution, correlation_id, version)
		VALUES ($1, $2, $3, $4, '', '', 0, 0, '[]', '[]', $5, $6, '', 0, 1, '', 0, '', $2, '', $6)`, t.id, a.id,
		a.object, a.record, a.by, a.at)
}

// finish hands out what is left, in any order.
func (p *play) finish() {
	for keys := p.keys(); len(keys) > 0; keys = p.keys() {
		p.take(rapid.SampledFrom(keys).Draw(p.T, "key"))
	}
}
