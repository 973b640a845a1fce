package reporting

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const campaignsReport = "campaigns"

// What the counts and sums of a campaign are.
const (
	nMembers, nResponded, nProspects, nProspectsConverted, nInfluenced, nInfluencedWon = 0, 1, 2, 3, 4, 5
	sumInfluenced, sumWon, sumCost                                                     = 0, 1, 2
)

// The parts of the report that are counted by owner: the leads in campaigns, and the
// opportunities that name one.
var (
	campaignLeads = &spec{
		name: campaignsReport, object: objLead, needs: []string{fieldConverted},
		cube: prospectCube, facts: facts{
			"reporting_member", "f.member_type = 'Lead' AND f.member_id",
			[3]string{"f.campaign_id", "f.converted", "''"},
			false,
		},
		measures: []measure{
			counted("leads", nProspects),
			counted("convertedLeads", nProspectsConverted),
		},
		add: func(c *cell, r *row) {
			r.n[nProspects] += c.n
			if c.k2 != no {
				r.n[nProspectsConverted] += c.n
			}
		},
	}
	campaignOpportunities = &spec{
		name: campaignsReport, object: objOpportunity, needs: []string{"CampaignId", fieldClosed, fieldWon},
		cube: campaignCube, facts: facts{
			"reporting_opportunity", "f.id",
			[3]string{"f.campaign_id", "f.status", "''"},
			true,
		}, only: [3]only{{"<>", ""}},
		measures: []measure{
			counted("opportunities", nInfluenced),
			summed("amount", sumInfluenced, fieldAmount),
			counted("wonCount", nInfluencedWon),
			summed("wonAmount", sumWon, fieldAmount),
		},
		add: func(c *cell, r *row) {
			r.n[nInfluenced] += c.n
			r.sums[sumInfluenced] = r.sums[sumInfluenced].plus(c.amount)
			if c.k2 == won {
				r.n[nInfluencedWon] += c.n
				r.sums[sumWon] = r.sums[sumWon].plus(c.amount)
			}
		},
	}
)

// campaignMeasures are of the campaigns, and of the members that the caller sees.
var campaignMeasures = []measure{
	summed("actualCost", sumCost, "ActualCost"),
	counted("members", nMembers),
	counted("responded", nResponded),
	rated("responseRate", nResponded, nMembers),
}

// campaigns is the outcome of the campaigns that the caller sees: their members, and the
// leads and opportunities that it sees, too.
func (w *session) campaigns(ctx context.Context, q *Query) (t Table, err error) {
	if q.GroupBy != nil {
		return t, refuse("groupBy", "the report %s is by campaign; leave out groupBy", campaignsReport)
	}
	if err := q.period(campaignsReport, false); err != nil {
		return t, err
	}
	if err := w.needs(objCampaign); err != nil {
		return t, err
	}
	t = Table{Report: campaignsReport, GroupBy: []string{"campaign"}, Omitted: []Omitted{}}
	named := w.sees(objCampaign, "Name")
	groups := []group{{name: "campaignId", of: func(c *cell) string { return c.k1 }}}
	if !named {
		t.omit(model.FieldKey(objCampaign, "Name"), "campaign")
	}
	a := newAssembly(w.Model, groups)
	names, err := w.visibleCampaigns(ctx, q, a)
	if err != nil {
		return t, err
	}
	if named {
		a.groups[0].order = placesOf(names)
	}
	measures := w.readable(&t, objCampaign, campaignMeasures)
	if err := w.campaignMembers(ctx, a, names); err != nil {
		return t, err
	}
	for _, s := range []*spec{campaignLeads, campaignOpportunities} {
		part, err := w.campaignPart(ctx, &t, s, a, names)
		if err != nil {
			return t, err
		}
		measures = append(measures, part...)
	}
	if err := a.fill(&t, measures); err != nil || !named {
		return t, err
	}
	t.name(names)
	return t, nil
}

// placesOf orders ids by their names.
func placesOf(names map[string]string) func(*model.Model, string) int {
	ids := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(strings.Compare(names[a], names[b]), strings.Compare(a, b))
	})
	places := make(map[string]int, len(ids))
	for i, id := range ids {
		places[id] = i
	}
	return func(_ *model.Model, id string) int { return places[id] }
}

// name puts the names of campaigns behind their ids.
func (t *Table) name(names map[string]string) {
	put := func(row []Value, name string) []Value {
		return append([]Value{row[0], Value(name)}, row[1:]...)
	}
	t.Columns = append([]Column{t.Columns[0], {"campaign", Text}}, t.Columns[1:]...)
	for i, row := range t.Rows {
		t.Rows[i] = put(row, names[string(row[0])])
	}
	t.Total = put(t.Total, "")
}

// visibleCampaigns makes a row for each campaign that the caller sees, with what it cost,
// and gives their names by id.
func (w *session) visibleCampaigns(ctx context.Context, q *Query, a *assembly) (map[string]string, error) {
	var b sqldb.Binds
	from := w.cfg.Records.Living("r", b.Add(w.Caller.Tenant), b.Add(objCampaign))
	visible, err := w.cfg.Visible.Where(ctx, w.Tx, w.Caller.Tenant, objCampaign, w.User, model.Read, &b)
	if err != nil {
		return nil, err
	}
	if from += " AND (" + visible + ")"; q.Owner != "" {
		from += " AND r.owner_id = " + b.Add(q.Owner)
	}
	names := map[string]string{}
	for found, err := range w.Tx.Query(ctx, "SELECT r.id, r.name, r.fields FROM "+from+" LIMIT "+b.Add(MaxRows+1),
		b.Args()...) {
		var id, name, text string
		var fields map[string]any
		if err == nil {
			err = found.Scan(&id, &name, &text)
		}
		if err == nil {
			err = json.Unmarshal([]byte(text), &fields)
		}
		if err != nil {
			return nil, err
		}
		names[id] = name
		cost, _ := fields["ActualCost"].(float64)
		a.add(&cell{k1: id}, func(r *row) {
			r.sums[sumCost] = r.sums[sumCost].plus(
				moneyOf(hundredths(cost, hundred)))
		})
	}
	if len(names) > MaxRows {
		return nil, fault.New(fault.Invalid, CodeTooLarge, "you see more than %d campaigns; name an ownerId", MaxRows)
	}
	return names, nil
}

// campaignMembers adds the members of campaigns that the caller sees, as their list does: the
// leads and the contacts to which it has access. Who sees all of them reads the counts.
func (w *session) campaignMembers(ctx context.Context, a *assembly, names map[string]string) error {
	for _, object := range []string{objLead, objContact} {
		if !w.Model.Can(w.User, object, model.ReadOp) {
			continue
		}
		var b sqldb.Binds
		query, err := w.seenMembers(ctx, object, &b)
		if err != nil {
			return err
		}
		for found, err := range w.Tx.Query(ctx, query, b.Args()...) {
			var c cell
			if err == nil {
				err = found.Scan(&c.k1, &c.k3, &c.n)
			}
			if err != nil {
				return err
			}
			if _, visible := names[c.k1]; !visible {
				continue
			}
			a.add(&c, func(r *row) {
				r.n[nMembers] += c.n
				if c.k3 == yes {
					r.n[nResponded] += c.n
				}
			})
		}
	}
	return nil
}

// seenMembers selects how many members of an object campaigns have, by whether they have
// responded.
func (w *session) seenMembers(ctx context.Context, object string, b *sqldb.Binds) (string, error) {
	var none sqldb.Binds
	seen, _, err := w.cfg.Visible.SeenOwners(ctx, w.Tx, w.Caller.Tenant, object, w.User, &none)
	if err != nil {
		return "", err
	}
	if seen.All {
		return "SELECT k1, k3, n FROM reporting_count WHERE tenant_id = " + b.Add(w.Caller.Tenant) + " AND cube = " +
			b.Add(memberCube) +
			" AND owner_id = " + b.Add(everybody) + " AND k2 = " + b.Add(object), nil
	}
	visible, err := w.cfg.Visible.Where(ctx, w.Tx, w.Caller.Tenant, object, w.User, model.Read, b)
	if err != nil {
		return "", err
	}
	tenant, of := b.Add(w.Caller.Tenant), b.Add(object)
	return "SELECT f.campaign_id, f.responded, count(*) FROM reporting_member f CROSS JOIN " +
		w.cfg.Records.Living("r", tenant, of) + " AND r.id = f.member_id AND f.tenant_id = " + tenant +
		" AND f.member_type = " + of +
		" AND (" + visible + ") GROUP BY f.campaign_id, f.responded", nil
}

// campaignPart adds what is counted by owner, and gives its measures. It is left out when
// the caller may not read what it stands on.
func (w *session) campaignPart(ctx context.Context, t *Table, s *spec, a *assembly, names map[string]string) (
	[]measure, error,
) {
	for _, field := range s.needs {
		if w.sees(s.object, field) {
			continue
		}
		for i := range s.measures {
			t.omit(model.FieldKey(s.object, field), s.measures[i].Name)
		}
		return nil, nil
	}
	err := w.cells(ctx, s, &Query{}, false, func(c *cell) {
		if _, visible := names[c.k1]; visible {
			a.add(c, func(r *row) { s.add(c, r) })
		}
	})
	return w.readable(t, s.object, s.measures), err
}
