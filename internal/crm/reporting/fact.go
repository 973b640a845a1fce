package reporting

import (
	"cmp"
	"context"
	"time"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// The objects that are counted.
const (
	objOpportunity = "Opportunity"
	objLead        = "Lead"
	objContact     = "Contact"
	objCampaign    = "Campaign"
)

// What an opportunity is.
const (
	open = "open"
	won  = "won"
	lost = "lost"
)

// Whether a lead was converted, and whether a member has responded. What has an
// opportunity was converted, too.
const (
	no              = "no"
	yes             = "yes"
	withOpportunity = "opportunity"
)

// opportunity is what is counted of one.
type opportunity struct {
	version                                         canonical.Stamp
	owner, stage, status, category, month, campaign string
	amount, weighted                                int64 // in hundredths
}

// opportunityOf is what is counted of a record.
func opportunityOf(r *model.Record) *opportunity {
	text := func(name string) string { s, _ := r.Fields[name].(string); return s }
	flag := func(name string) bool { b, _ := r.Fields[name].(bool); return b }
	number := func(name string) float64 { n, _ := r.Fields[name].(float64); return n }
	o := &opportunity{
		version: r.Version, owner: r.OwnerID, stage: text("StageName"), status: open,
		category: text("ForecastCategoryName"),
		month:    monthOfDate(text("CloseDate")), campaign: text("CampaignId"),
		amount: hundredths(number("Amount"), hundred), weighted: hundredths(number("Amount"),
			exact(number("Probability"))),
	}
	switch {
	case flag("IsWon"):
		o.status = won
	case flag("IsClosed"):
		o.status = lost
	}
	return o
}

// factTable is a table of facts, each of a record of one object.
type factTable[T comparable] struct {
	object  string
	query   string // of columns and ids, with the tenant
	scan    func(*sqldb.Row, ...any) (*T, error)
	of      func(*model.Record) *T
	version func(*T) *canonical.Stamp
	counted func(fact *T, to deltas, n int64)
}

var (
	opportunityFacts = factTable[opportunity]{
		object: objOpportunity,
		query:  "SELECT " + opportunityColumns + ", id FROM reporting_opportunity WHERE tenant_id = $1",
		scan:   scanOpportunity, of: opportunityOf, counted: (*opportunity).counted,
		version: func(o *opportunity) *canonical.Stamp { return &o.version },
	}
	leadFacts = factTable[lead]{
		object: objLead, query: "SELECT " + leadColumns + ", id FROM reporting_lead WHERE tenant_id = $1",
		scan: scanLead, of: leadOf, counted: (*lead).counted,
		version: func(l *lead) *canonical.Stamp { return &l.version },
	}
)

// read gives facts by the id of their record; and is more of the condition.
func (t *factTable[T]) read(ctx context.Context, tx *sqldb.Tx, and string, args ...any) (map[string]*T, error) {
	facts := map[string]*T{}
	return facts, t.each(ctx, tx, and, func(id string, fact *T) { facts[id] = fact }, args...)
}

// sum adds up the facts of a tenant.
func (t *factTable[T]) sum(ctx context.Context, tx *sqldb.Tx, tenant string, to deltas) error {
	return t.each(ctx, tx, "", func(_ string, fact *T) { t.counted(fact, to, 1) }, tenant)
}

func (t *factTable[T]) each(
	ctx context.Context, tx *sqldb.Tx, and string, do func(id string, fact *T), args ...any,
) error {
	for row, err := range tx.Query(ctx, t.query+and, args...) {
		if err != nil {
			return err
		}
		var id string
		fact, err := t.scan(row, &id)
		if err != nil {
			return err
		}
		do(id, fact)
	}
	return nil
}

// monthOfDate is the month of a date: "2026-02" of "2026-02-28".
func monthOfDate(date string) string {
	if len(date) < len(time.DateOnly) {
		return ""
	}
	return date[:len(date)-len("-02")]
}

// monthOf is the month of an instant, in UTC.
func monthOf(at canonical.Stamp) string {
	return monthOfDate(time.UnixMilli(int64(at)).UTC().Format(time.DateOnly))
}

// The cubes: what is counted by what, beside the owner.
const (
	stageCube    = "stage"    // opportunities by stage and status
	monthCube    = "month"    // opportunities by month, category and status
	campaignCube = "campaign" // opportunities by campaign and status
	leadCube     = "lead"     // leads by month, source and whether they were converted
	memberCube   = "member"   // members by campaign, type and whether they responded; not by owner
	prospectCube = "prospect" // leads that are members, by campaign and whether they were converted
)

// counted adds an opportunity to counts, n times.
func (o *opportunity) counted(to deltas, n int64) {
	t := tally{1, moneyOf(o.amount), moneyOf(o.weighted)}
	to.add(key{stageCube, o.owner, o.stage, o.status, ""}, t, n)
	to.add(key{monthCube, o.owner, o.month, o.category, o.status}, t, n)
	if o.campaign != "" {
		to.add(key{campaignCube, o.owner, o.campaign, o.status, ""}, t, n)
	}
}

// lead is what is counted of one.
type lead struct {
	version                         canonical.Stamp
	owner, source, month, converted string
}

// leadOf is what is counted of a record.
func leadOf(r *model.Record) *lead {
	l := &lead{version: r.Version, owner: r.OwnerID, month: monthOf(r.CreatedAt), converted: no}
	l.source, _ = r.Fields["LeadSource"].(string)
	if is, _ := r.Fields["IsConverted"].(bool); is {
		l.converted = yes
		if id, _ := r.Fields["ConvertedOpportunityId"].(string); id != "" {
			l.converted = withOpportunity
		}
	}
	return l
}

func (l *lead) counted(to deltas, n int64) {
	to.add(key{leadCube, l.owner, l.month, l.source, l.converted}, tally{n: 1}, n)
}

// member is what is counted of a member of a campaign. owner and converted are those of
// the lead that it is, "" of a contact.
type member struct {
	campaign, kind, id, responded string
	owner, converted              string
}

// at is what tells a member from others.
func (m *member) at() [3]string { return [3]string{m.campaign, m.kind, m.id} }

func (m member) compare(o member) int {
	return cmp.Or(cmp.Compare(m.campaign, o.campaign), cmp.Compare(m.kind, o.kind), cmp.Compare(m.id, o.id))
}

// memberOf is what is counted of a member; l is its lead, nil when it is none.
func memberOf(m *model.CampaignMember, l *lead) *member {
	c := &member{campaign: m.CampaignID, kind: m.MemberType, id: m.MemberID, responded: no}
	if m.HasResponded {
		c.responded = yes
	}
	if l != nil {
		c.owner, c.converted = l.owner, l.converted
	}
	return c
}

func (m *member) counted(to deltas, n int64) {
	to.add(key{memberCube, everybody, m.campaign, m.kind, m.responded}, tally{n: 1}, n)
	if m.owner != "" {
		to.add(key{prospectCube, m.owner, m.campaign, m.converted, ""}, tally{n: 1}, n)
	}
}
