package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/client"
)

// approvalPlan is a quote that was submitted, and how that ended.
type approvalPlan struct {
	quote        int
	end          string // APPROVED, REJECTED, RECALLED; "": it is pending
	asks, answer string // comments
}

// recalled is the end of an approval that its submitter takes back.
const recalled = "RECALLED"

// approvalEnds are the ends of approvals in turn, and what is said to them.
var approvalEnds = []struct{ end, answer string }{
	{client.Approve, "OK"},
	{client.Reject, "値引きが大きすぎます"},
	{recalled, "The customer wants other terms"},
	{"", ""},
	{client.Approve, "承認します"},
	{client.Approve, "A good customer"},
	{client.Reject, "Not before the end of the quarter"},
	{client.Approve, ""},
}

// change plans a change of a record, in a round: a record has one in each at most, and its
// rounds follow each other.
func (d *company) change(round int, m move) {
	for len(d.moves) <= round {
		d.moves = append(d.moves, nil)
	}
	d.moves[round] = append(d.moves[round], m)
}

// advanceTo plans the way of an opportunity through the stages. Its dice are its own, so
// that how long it is changes nothing else.
func (d *company) advanceTo(rng *dice, at int, target string) {
	closed, day := strings.HasPrefix(target, "Closed"), 0
	to := slices.Index(openStages, target)
	if closed {
		to, day = len(openStages), -rng.IntN(120)
	}
	past, round := d.dice("opportunity "+strconv.Itoa(at)), 0
	r := &d.records["Opportunity"][at]
	next := func(fields map[string]any) {
		d.change(round, move{of: ref{"Opportunity", at}, fields: fields})
		round++
	}
	begin, _ := r.fields["StageName"].(string)
	amount := r.amount
	for stage := slices.Index(openStages, begin) + 1 + past.IntN(3); stage < to; stage += 1 + past.IntN(3) {
		fields := map[string]any{"StageName": openStages[stage]}
		if past.percent(30) {
			amount = amount / 20 * (16 + past.IntN(8))
			fields["Amount"] = amount
		}
		if past.percent(30) {
			fields["CloseDate"] = d.date(past.IntN(120))
		}
		next(fields)
	}
	if !closed {
		next(map[string]any{"StageName": target})
		return
	}
	if past.percent(8) { // lost, and taken up again
		next(map[string]any{"StageName": "Closed Lost", "CloseDate": d.date(day - 30)})
		next(map[string]any{"StageName": "Negotiation", "NextStep": oneOf(past, nextSteps)})
	}
	next(map[string]any{"StageName": target, "CloseDate": d.date(day)})
}

// remember plans what happened to the other records since they were created.
func (d *company) remember() {
	rng := d.dice("history")
	for i, r := range d.records["Campaign"] {
		if r.fields["Status"] == "Completed" {
			cost := r.fields["BudgetedCost"].(int)
			d.change(0, move{of: ref{"Campaign", i}, fields: map[string]any{"ActualCost": cost / 100 * (75 +
				rng.IntN(50))}})
		}
	}
	for i, r := range d.records["Account"] {
		of := ref{"Account", i}
		if rng.percent(12) {
			d.change(0, move{of: of, fields: map[string]any{
				"Rating":            oneOf(rng, []string{"Hot", "Warm", "Cold"}),
				"NumberOfEmployees": 5 + rng.IntN(2000),
			}})
		}
		if rng.percent(5) {
			d.change(1, move{of: of, owner: oneOf(rng, d.reps[regions[r.region].code]), fields: map[string]any{
				"Type": "Customer",
			}})
		}
		if rng.percent(3) {
			d.change(2, move{of: of, fields: map[string]any{"Tier__c": "Platinum"}})
		}
	}
	d.claimLeads(rng)
	d.review(rng)
}

// claimLeads plans how leads leave their queues: representatives take them, give some up, and
// win some over, for an opportunity of the account when there is one.
func (d *company) claimLeads(rng *dice) {
	contacts, deals := d.records["Contact"], map[int]int{}
	for i, r := range d.records["Opportunity"] {
		deals[r.refs["AccountId"].at] = i + 1
	}
	for i, r := range d.records["Lead"] {
		if r.fields["Status"] != "Open - Not Contacted" || !rng.percent(45) {
			continue
		}
		of := ref{"Lead", i}
		d.change(0, move{of: of, owner: oneOf(rng, d.reps[regions[r.region].code]), fields: map[string]any{
			"Status": "Working - Contacted",
		}})
		switch {
		case rng.percent(30):
			d.change(1, move{of: of, fields: map[string]any{"Status": "Closed - Not Converted", "Rating": "Cold"}})
		case rng.percent(40):
			contact := rng.IntN(len(contacts))
			account := contacts[contact].refs["AccountId"].at
			d.converted = append(d.converted, conversion{i, account, contact, deals[account] - 1})
		}
	}
}

// review plans what happens to quotes: those with a discount are approved before, others are
// shown to the customer, who takes them or not.
func (d *company) review(rng *dice) {
	for i, r := range d.records["Quote"] {
		of := ref{"Quote", i}
		percent, _ := r.fields["DiscountPercent"].(int)
		fields := map[string]any{"Status": "Needs Review"}
		if percent < 10 && i < len(approvalEnds) { // also little data shows all ends
			percent = 10 + 5*(i%4)
			fields["DiscountPercent"] = percent
		}
		if percent >= 10 {
			turn := approvalEnds[len(d.approvals)%len(approvalEnds)]
			d.change(0, move{of: of, fields: fields})
			d.approvals = append(d.approvals, approvalPlan{
				quote: i, end: turn.end, asks: fmt.Sprintf("%d %%", percent),
				answer: turn.answer,
			})
			continue
		}
		if r.fields["Status"] == "Draft" && rng.percent(60) {
			d.change(0, move{of: of, fields: map[string]any{
				"Status":         "Presented",
				"ExpirationDate": d.date(10 + rng.IntN(60)),
			}})
			if rng.percent(60) {
				d.change(1, move{of: of, fields: map[string]any{
					"Status": oneOf(rng, []string{"Accepted", "Denied"}),
				}})
			}
		}
	}
}

// advance lets records change, round by round.
func (l *Loader) advance(ctx context.Context) error {
	for round, moves := range l.moves {
		for _, o := range objects {
			var ops []client.RecordOperation
			for _, m := range moves {
				if m.of.object == o.name {
					ops = append(ops, client.RecordOperation{
						Op: "update", ID: l.ids[o.name][m.of.at], OwnerID: m.owner,
						Fields: m.fields,
					})
				}
			}
			for from := 0; from < len(ops); from += bulkSize {
				some := ops[from:min(from+bulkSize, len(ops))]
				key := l.key(fmt.Sprintf("changes-%d-%s", round+1, o.name), from)
				if _, err := l.server.Records.BulkWithKey(ctx, key, o.name, true, some); err != nil {
					return about("changes of "+o.name, err)
				}
				l.step(len(some))
			}
		}
	}
	return nil
}

// join puts somebody into a campaign. Who has responded was invited before, unless the
// campaign has it already from another time.
func (l *Loader) join(ctx context.Context, m *campaignMember) error {
	campaign := l.ids["Campaign"][m.campaign]
	is := client.CampaignMember{MemberType: m.of.object, MemberID: l.ids[m.of.object][m.of.at]}
	if m.responded && !l.invited[invitation{campaign, is.MemberType, is.MemberID}] {
		is.Status = "Sent"
		if _, err := l.server.Records.PutCampaignMember(ctx, campaign, is); err != nil {
			return err
		}
	}
	is.Status, is.HasResponded = m.status, m.responded
	_, err := l.server.Records.PutCampaignMember(ctx, campaign, is)
	return err
}

// invitation is somebody in a campaign.
type invitation struct{ campaign, object, id string }

// lookAround finds out who is in the campaigns.
func (l *Loader) lookAround(ctx context.Context) error {
	l.invited = map[invitation]bool{}
	for _, campaign := range l.ids["Campaign"] {
		for page := 1; ; page++ {
			got, err := l.server.Records.CampaignMembers(ctx, campaign, client.Paging{Page: page, Size: 100})
			if errors.Is(err, client.ErrNotFound) {
				break
			}
			if err != nil {
				return err
			}
			for _, m := range got.Items {
				l.invited[invitation{campaign, m.MemberType, m.MemberID}] = true
			}
			if page*100 >= got.Total {
				break
			}
		}
	}
	return nil
}

// approve submits a quote, and decides about it. What somebody has decided meanwhile stays
// as it is.
func (l *Loader) approve(ctx context.Context, i int) error {
	a := &l.approvals[i]
	made, err := l.server.Approvals.Submit(ctx, client.Submission{
		Object: "Quote", RecordID: l.ids["Quote"][a.quote], ProcessID: l.process(), Comment: a.asks,
		Key: l.key("approval", i),
	})
	if err != nil || a.end == "" {
		return err
	}
	if a.end == recalled {
		_, err = l.server.Approvals.RecallWithKey(ctx, l.key("recall", i), made.ID, a.answer)
	} else {
		for stage := 0; err == nil && made.Status == "PENDING"; stage++ {
			made, err = l.server.Approvals.Decide(ctx, made.ID, client.Ballot{
				Key: l.key(fmt.Sprintf("decision-%d", stage+1), i), Decision: a.end, Comment: a.answer,
			})
		}
	}
	if failure := (*client.Error)(nil); errors.As(err, &failure) && failure.Code == "APPROVAL_ENDED" {
		return nil
	}
	return err
}
