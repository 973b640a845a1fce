package reporting

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/sqldb"
)

// visible are the living records of an object that a user sees, by id.
func (p *play) visible(user, object string) map[string]model.Record {
	found := map[string]model.Record{}
	err := p.Reporting.DB.Read(p.rig.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		who, err := p.Models.Who(ctx, tx, p.id, user)
		if err != nil {
			return err
		}
		var b sqldb.Binds
		where, err := p.sharing.Where(ctx, tx, p.id, object, who.ID, model.Read, &b)
		if err != nil {
			return err
		}
		var ids []string
		for row, err := range tx.Query(ctx, "SELECT r.id FROM records_record r WHERE r.tenant_id = "+b.Add(p.id)+
			" AND r.object = "+b.Add(object)+
			" AND r.deleted_at = 0 AND ("+where+")", b.Args()...) {
			var id string
			if err == nil {
				err = row.Scan(&id)
			}
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		for _, id := range ids {
			if found[id], _, err = (records.Reads{}).Get(ctx, tx, p.id, object, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.rig.Fatal(err)
	}
	return found
}

// line is a row as the oracle has it: counts, and amounts in hundredths.
type line struct{ n, sums [6]int64 }

type lines map[string]*line

func (l lines) at(groups ...string) *line {
	name := strings.Join(groups, "|")
	if l[name] == nil {
		l[name] = &line{}
	}
	return l[name]
}

// money is an amount in hundredths as reports have it.
func money(hundredths int64) string {
	text := fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func share(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", float64(part)/float64(whole)), "0"), ".")
}

// worth is the amount of an opportunity and its weighted amount, in hundredths.
func worth(r *model.Record) (amount, weighted int64) {
	a, _ := r.Fields["Amount"].(float64)
	chance, _ := r.Fields["Probability"].(float64)
	amount = int64(a*100 + 0.5)
	return amount, (amount*int64(chance) + 50) / 100
}

func fieldOf(r *model.Record, name string) string { s, _ := r.Fields[name].(string); return s }
func flagOf(r *model.Record, name string) bool    { b, _ := r.Fields[name].(bool); return b }

// same holds a report against lines, which show writes as the report has them.
func (p *play) same(user, name string, q Query, want lines, show func(*line) []string) {
	got, err := p.Report(p.rig.Context(), kit.Caller{Tenant: p.id, Subject: user}, name, q)
	if err != nil {
		p.rig.Fatal(err)
	}
	var texts, wants []string
	for _, row := range got.Rows {
		var groups, values []string
		for i, c := range got.Columns {
			switch {
			case c.Type != Text:
				values = append(values, string(row[i]))
			case i > 0 && got.Columns[i-1].Name == c.Name+"Id": // a name
			default:
				groups = append(groups, string(row[i]))
			}
		}
		texts = append(texts, strings.Join(groups, "|")+": "+strings.Join(values, " "))
	}
	for groups, l := range want {
		wants = append(wants, groups+": "+strings.Join(show(l), " "))
	}
	slices.Sort(texts)
	slices.Sort(wants)
	if !slices.Equal(texts, wants) {
		p.Fatalf("%s %+v of %q is\n%s\nwant\n%s", name, q, user, strings.Join(texts, "\n"), strings.Join(wants, "\n"))
	}
}

// eitherWay makes reports from the counts of the owners whom a user reaches, and from those
// of everybody, each with the facts in the tables and with those in memory, in turn.
func (p *play) eitherWay(do func(way string)) {
	beside, misses := p.cfg.limits.cacheFrom, p.caches.misses.Load()
	defer func() { p.cfg.limits.cacheFrom = beside }()
	for _, way := range []struct {
		name        string
		few, beside int
	}{
		{"owner by owner", -1, -1},
		{"all but some", fewUnreached, -1},
		{"owner by owner, in memory", -1, 0},
		{"all but some, in memory", fewUnreached, 0},
	} {
		p.cfg.fewUnreached, p.cfg.limits.cacheFrom = way.few, way.beside
		if way.beside == 0 && !has(p.caches, p.id) {
			p.cached()
		}
		do(way.name)
	}
	if p.caches.misses.Load() > misses {
		p.Fatalf("%d reports were not made from memory", p.caches.misses.Load()-misses)
	}
}

// agree holds all ways of making reports against each other, whatever was handled yet.
func (p *play) agree(user string) {
	for _, name := range []string{"pipeline", "forecast", "won-lost", "lead-conversion"} {
		var first string
		p.eitherWay(func(way string) {
			got := p.table(user, name, Query{})
			if first == "" {
				first = got
			}
			if got != first {
				p.Fatalf("%s of %q, %s, is\n%s\nwant\n%s", name, user, way, got, first)
			}
		})
	}
}

// compare holds all reports of a user against a count of what it sees.
func (p *play) compare(user string) { p.eitherWay(func(string) { p.compareAll(user) }) }

func (p *play) compareAll(user string) {
	opportunities, leads := p.visible(user, "Opportunity"), p.visible(user, "Lead")
	p.compareOpportunities(user, opportunities)
	p.compareLeads(user, leads)
	p.compareCampaigns(user, opportunities, leads)
	p.compareApprovals(user, opportunities)
}

func (p *play) compareOpportunities(user string, all map[string]model.Record) {
	pipeline, byOwner, one, forecast, closed := lines{}, lines{}, lines{}, lines{}, lines{}
	for id := range all {
		r := all[id]
		amount, weighted := worth(&r)
		month := fieldOf(&r, "CloseDate")[:7]
		add := func(l *line) { l.n[0]++; l.sums[0] += amount; l.sums[1] += weighted }
		if !flagOf(&r, "IsClosed") {
			add(pipeline.at(fieldOf(&r, "StageName")))
			add(byOwner.at(r.OwnerID, fieldOf(&r, "StageName")))
			if r.OwnerID == crmtest.ID(users, 2) {
				add(one.at(fieldOf(&r, "StageName")))
			}
		}
		if category := fieldOf(&r, "ForecastCategoryName"); category != "Omitted" && month >= "2026-02" &&
			month <= "2026-12" {
			add(forecast.at(month, category))
		}
		if flagOf(&r, "IsClosed") {
			l, at := closed.at(month), 1
			if flagOf(&r, "IsWon") {
				at = 0
			}
			l.n[at]++
			l.sums[at] += amount
		}
	}
	three := func(l *line) []string { return []string{fmt.Sprint(l.n[0]), money(l.sums[0]), money(l.sums[1])} }
	p.same(user, "pipeline", Query{}, pipeline, three)
	p.same(user, "pipeline", Query{GroupBy: []string{"owner", "stage"}}, byOwner, three)
	p.same(user, "pipeline", Query{Owner: crmtest.ID(users, 2)}, one, three)
	p.same(user, "forecast", Query{From: "2026-02", To: "2026-12"}, forecast, three)
	p.same(user, "won-lost", Query{}, closed, func(l *line) []string {
		return []string{
			fmt.Sprint(l.n[0]), money(l.sums[0]), fmt.Sprint(l.n[1]), money(l.sums[1]),
			share(l.n[0], l.n[0]+l.n[1]),
		}
	})
}

func (p *play) compareLeads(user string, all map[string]model.Record) {
	want := lines{}
	for id := range all {
		r := all[id]
		l := want.at(fieldOf(&r, "LeadSource"), r.OwnerID)
		if l.n[0]++; flagOf(&r, "IsConverted") {
			l.n[1]++
		}
		if fieldOf(&r, "ConvertedOpportunityId") != "" {
			l.n[2]++
		}
	}
	p.same(user, "lead-conversion", Query{GroupBy: []string{"source", "owner"}}, want, func(l *line) []string {
		return []string{fmt.Sprint(l.n[0]), fmt.Sprint(l.n[1]), fmt.Sprint(l.n[2]), share(l.n[1], l.n[0])}
	})
}

func (p *play) compareCampaigns(user string, opportunities, leads map[string]model.Record) {
	want, names := lines{}, map[string]string{}
	for id, r := range p.visible(user, "Campaign") {
		names[id] = id
		cost, _ := r.Fields["ActualCost"].(float64)
		want.at(names[id]).sums[2] = int64(cost*100 + 0.5)
	}
	contacts := p.visible(user, "Contact")
	for _, m := range p.members() {
		_, contact := contacts[m.MemberID]
		_, lead := leads[m.MemberID]
		if names[m.CampaignID] == "" || !contact && !lead { // as in the list of its members
			continue
		}
		l := want.at(names[m.CampaignID])
		if l.n[0]++; m.HasResponded {
			l.n[1]++
		}
		if r, sees := leads[m.MemberID]; sees {
			if l.n[2]++; flagOf(&r, "IsConverted") {
				l.n[3]++
			}
		}
	}
	for id := range opportunities {
		r := opportunities[id]
		campaign := names[fieldOf(&r, "CampaignId")]
		if campaign == "" {
			continue
		}
		l := want.at(campaign)
		amount, _ := worth(&r)
		l.n[4]++
		if l.sums[0] += amount; flagOf(&r, "IsWon") {
			l.n[5]++
			l.sums[1] += amount
		}
	}
	p.same(user, "campaigns", Query{}, want, func(l *line) []string {
		return []string{
			money(l.sums[2]), fmt.Sprint(l.n[0]), fmt.Sprint(l.n[1]), share(l.n[1], l.n[0]), fmt.Sprint(l.n[2]),
			fmt.Sprint(l.n[3]),
			fmt.Sprint(l.n[4]), money(l.sums[0]), fmt.Sprint(l.n[5]), money(l.sums[1]),
		}
	})
}

// members are all members of campaigns.
func (p *play) members() (all []model.CampaignMember) {
	err := p.Reporting.DB.Read(p.rig.Context(), func(ctx context.Context, tx *sqldb.Tx) (err error) {
		all, err = (records.Reads{}).Members(ctx, tx, p.id, model.CampaignMember{}, 1000)
		return err
	})
	if err != nil {
		p.rig.Fatal(err)
	}
	return all
}

func (p *play) compareApprovals(user string, opportunities map[string]model.Record) {
	want := lines{}
	for _, a := range p.approvals {
		if _, sees := opportunities[a.record]; !sees {
			continue
		}
		l := want.at("Opportunity", monthOf(a.at), a.by)
		l.n[4]++
		l.n[map[string]int{"": 0, "APPROVED": 1, "REJECTED": 2, "RECALLED": 3}[a.decision]]++
	}
	p.same(user, "approvals", Query{GroupBy: []string{"object", "month", "submitter"}}, want, func(l *line) []string {
		hours := ""
		if l.n[1]+l.n[2] > 0 {
			hours = "1.5"
		}
		return []string{
			fmt.Sprint(l.n[4]), fmt.Sprint(l.n[0]), fmt.Sprint(l.n[1]), fmt.Sprint(l.n[2]),
			fmt.Sprint(l.n[3]), hours,
		}
	})
}
