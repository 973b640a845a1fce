package demo

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"renga.dev/renga/client"
)

// company is what a demo tenant holds. It follows from a seed, a number of records and a day,
// and from nothing else, so that it can be loaded again under the same keys.
type company struct {
	seed int64
	size int
	day  time.Time // that its dates lie around

	definitions []definition // in the order in which they can be defined
	territories []territory  // parents first
	users       []employee
	above       map[string]string   // roles, by the role below
	reps        map[string][]string // users, by region

	records   map[string][]record // by object
	moves     [][]move            // one after the other
	approvals []approvalPlan
	teams     []teamMember
	members   []campaignMember
	converted []conversion
	placed    []placement
}

// objects are the objects in the order in which their records name each other, with how
// many of a hundred records there are of them; quotes are the rest.
var objects = []struct {
	name  string
	share int
}{{"Campaign", 1}, {"Account", 15}, {"Contact", 30}, {"Lead", 20}, {"Opportunity", 22}, {"Quote", 12}}

// record is a record to create.
type record struct {
	region int
	owner  string
	fields map[string]any
	refs   map[string]ref // fields that name other records
	amount int            // of an opportunity
}

// ref is another record by its place.
type ref struct {
	object string
	at     int
}

// move is a change of a record that was created before.
type move struct {
	of     ref
	owner  string // "": as it is
	fields map[string]any
}

// teamMember is a member of the team of a record.
type teamMember struct {
	of         ref
	user, role string
}

// campaignMember is a lead or a contact in a campaign.
type campaignMember struct {
	campaign  int
	of        ref
	status    string
	responded bool
}

// conversion is a lead that joined an account and a contact, and an opportunity unless
// that is negative.
type conversion struct{ lead, account, contact, opportunity int }

// placement is an account in a territory.
type placement struct {
	account   int
	territory string
}

// plan plans the data of a seed.
func plan(seed int64, size int, day time.Time) *company {
	d := &company{
		seed: seed, size: size, day: day, above: map[string]string{}, reps: map[string][]string{},
		records: map[string][]record{},
	}
	d.organize()
	left := size
	counts := map[string]int{}
	for _, o := range objects {
		counts[o.name] = max(1, size*o.share/100)
		left -= counts[o.name]
	}
	counts["Quote"] += left
	d.advertise(counts["Campaign"])
	d.acquire(counts["Account"])
	d.meet(counts["Contact"])
	d.find(counts["Lead"])
	d.sell(counts["Opportunity"])
	d.quote(counts["Quote"])
	d.remember()
	return d
}

// dice are the chances of one part of the plan.
type dice struct{ *rand.Rand }

// dice are the same for the same seed and part, whatever else is planned.
func (d *company) dice(part string) *dice {
	h := fnv.New64a()
	h.Write([]byte(part))
	return &dice{rand.New(rand.NewPCG(uint64(d.seed), h.Sum64()))}
}

// percent is true as many times in a hundred.
func (r *dice) percent(n int) bool { return r.IntN(100) < n }

func oneOf[T any](r *dice, all []T) T { return all[r.IntN(len(all))] }

// fullName is somebody's name.
type fullName struct{ family, given spelled }

func (r *dice) person(japanese bool) fullName {
	if japanese {
		return fullName{oneOf(r, japaneseFamily), oneOf(r, japaneseGiven)}
	}
	return fullName{oneOf(r, westernFamily), oneOf(r, westernGiven)}
}

// full is the name in its order.
func (p fullName) full(japanese bool) string {
	if japanese {
		return p.family.text + " " + p.given.text
	}
	return p.given.text + " " + p.family.text
}

// company is the name of a company, and its domain.
func (r *dice) company(at *region) (name, domain string) {
	if !at.japanese {
		stem, trade := oneOf(r, westernStems), oneOf(r, westernTrades)
		return stem.text + " " + trade.text + " " + oneOf(r, at.forms), stem.latin + "-" + trade.latin + ".example"
	}
	stem, trade := oneOf(r, japaneseStems), oneOf(r, japaneseTrades)
	name, domain = stem.text+trade.text, stem.latin+"-"+trade.latin+".example"
	if r.percent(50) {
		return "株式会社" + name, domain
	}
	return name + "株式会社", domain
}

// region draws a region by its weight.
func (r *dice) region() int {
	n := r.IntN(100)
	for i := range regions {
		if n -= regions[i].weight; n < 0 {
			return i
		}
	}
	return len(regions) - 1
}

// number is the last digits of a phone number.
func (r *dice) number(at *region) string { return fmt.Sprintf("%s%04d", at.phone, r.IntN(10_000)) }

// amount is some money: small mostly, large now and then.
func (r *dice) amount(least int) int {
	n := least * (1 + r.IntN(20))
	for r.percent(25) {
		n *= 3
	}
	return n
}

// date is the day moved by some days.
func (d *company) date(days int) string { return d.day.AddDate(0, 0, days).Format(dayLayout) }

func (d *company) add(object string, r record) { d.records[object] = append(d.records[object], r) }

// advertise plans the campaigns.
func (d *company) advertise(n int) {
	rng := d.dice("campaigns")
	owners := append(d.ofRole("マーケティング部長"), d.ofRole("Marketing Specialist")...)
	for i := range n {
		what, from := oneOf(rng, campaignEvents), rng.IntN(360)-300
		status := "Completed"
		switch {
		case from > 0:
			status = "Planned"
		case from > -30:
			status = "In Progress"
		}
		cost := rng.amount(100_000)
		d.add("Campaign", record{owner: oneOf(rng, owners), fields: map[string]any{
			"Name": fmt.Sprintf("%s %s #%d", d.date(from)[:7], what.text, i+1), "Type": what.latin, "Status": status,
			"IsActive":  status == "In Progress",
			"StartDate": d.date(from), "EndDate": d.date(from + 14), "BudgetedCost": cost, "ExpectedRevenue": cost * 8,
		}})
	}
}

// acquire plans the accounts, most of them in the territory of their region.
func (d *company) acquire(n int) {
	rng := d.dice("accounts")
	for i := range n {
		at := rng.region()
		where := &regions[at]
		name, domain := rng.company(where)
		town := oneOf(rng, where.cities)
		r := record{
			region: at, owner: oneOf(rng, d.reps[where.code]), refs: map[string]ref{},
			fields: map[string]any{
				"Name": name, "AccountNumber": fmt.Sprintf("D%d-%06d", d.seed, i+1),
				"Type":     oneOf(rng, []string{"Prospect", "Customer", "Customer", "Partner"}),
				"Industry": oneOf(rng, industries), "Rating": oneOf(rng, []string{"Hot", "Warm", "Cold"}),
				"AnnualRevenue":     rng.amount(10_000_000),
				"NumberOfEmployees": 5 + rng.IntN(2000), "Phone": rng.number(where), "Website": "https://www." + domain,
				"Tier__c":     oneOf(rng, tiers),
				"BillingCity": town.name, "BillingState": town.state, "BillingPostalCode": town.postal,
				"BillingCountry": where.country,
			},
		}
		if rng.percent(40) {
			r.fields["CreditLimit__c"] = rng.amount(500_000)
		}
		if i >= bulkSize && rng.percent(8) {
			r.refs["ParentId"] = ref{"Account", rng.IntN(bulkSize)} // it is there before the others are sent
		}
		d.add("Account", r)
		if rng.percent(70) {
			d.placed = append(d.placed, placement{i, d.id("territory", where.code)})
		}
		if rng.percent(20) {
			d.teams = append(d.teams, teamMember{
				ref{"Account", i},
				oneOf(rng, d.users).id,
				oneOf(rng, []string{"Account Manager", "Executive Sponsor", "Pre-Sales Consultant"}),
			})
		}
	}
}

// meet plans the contacts, of all accounts in turn.
func (d *company) meet(n int) {
	rng := d.dice("contacts")
	accounts := d.records["Account"]
	for i := range n {
		of := i % len(accounts)
		where := &regions[accounts[of].region]
		p := rng.person(where.japanese)
		titles := westernTitles
		if where.japanese {
			titles = japaneseTitles
		}
		r := record{region: accounts[of].region, owner: accounts[of].owner, refs: map[string]ref{
			"AccountId": {"Account", of},
		}, fields: map[string]any{
			"LastName": p.family.text, "FirstName": p.given.text, "Title": oneOf(rng, titles),
			"Email": fmt.Sprintf("%s.%s.%d@mail.example", p.given.latin, p.family.latin, i+1),
			"Phone": rng.number(where), "LeadSource": oneOf(rng, leadSources), "HasOptedOutOfEmail": rng.percent(10),
		}}
		d.add("Contact", r)
		if rng.percent(10) {
			d.invite(rng, ref{"Contact", i})
		}
	}
}

// invite puts somebody into a campaign.
func (d *company) invite(rng *dice, of ref) {
	status := oneOf(rng, []string{"Sent", "Sent", "Registered", "Attended"})
	d.members = append(d.members, campaignMember{rng.IntN(len(d.records["Campaign"])), of, status, status != "Sent"})
}

// find plans the leads: those of representatives, those that wait in a queue, and those that
// have joined an account.
func (d *company) find(n int) {
	rng := d.dice("leads")
	contacts := d.records["Contact"]
	for i := range n {
		at := rng.region()
		where := &regions[at]
		owner, status := oneOf(rng, d.reps[where.code]), "Working - Contacted"
		switch {
		case rng.percent(30):
			owner, status = d.id("queue", where.parent), "Open - Not Contacted"
		case rng.percent(20):
			status = "Closed - Not Converted"
		}
		p := rng.person(where.japanese)
		name, domain := rng.company(where)
		town := oneOf(rng, where.cities)
		d.add("Lead", record{region: at, owner: owner, fields: map[string]any{
			"LastName": p.family.text, "FirstName": p.given.text, "Company": name, "Status": status,
			"LeadSource": oneOf(rng, leadSources), "Industry": oneOf(rng, industries),
			"Rating": oneOf(rng, []string{"Hot", "Warm", "Cold"}), "Email": fmt.Sprintf("%s.%d@%s", p.family.latin, i+1,
				domain), "Phone": rng.number(where),
			"City": town.name, "State": town.state, "PostalCode": town.postal, "Country": where.country,
		}})
		if rng.percent(25) {
			d.invite(rng, ref{"Lead", i})
		}
		if status == "Working - Contacted" && rng.percent(4) {
			contact := rng.IntN(len(contacts))
			d.converted = append(d.converted, conversion{i, contacts[contact].refs["AccountId"].at, contact, -1})
		}
	}
}

// sell plans the opportunities. Most have moved on from the stage in which they began.
func (d *company) sell(n int) {
	rng := d.dice("opportunities")
	accounts := d.records["Account"]
	for i := range n {
		of := rng.IntN(len(accounts))
		where := &regions[accounts[of].region]
		product := oneOf(rng, westernProducts)
		if where.japanese {
			product = oneOf(rng, japaneseProducts)
		}
		r := record{
			region: accounts[of].region, owner: accounts[of].owner, amount: rng.amount(200_000),
			refs: map[string]ref{
				// the first contacts are of the accounts in turn
				"AccountId": {"Account", of}, "ContactId": {"Contact", of},
			}, fields: map[string]any{
				"Name": fmt.Sprintf("%s %s", accounts[of].fields["Name"], product), "StageName": oneOf(rng,
					firstStages), "CloseDate": d.date(rng.IntN(180) - 30),
				"Type": oneOf(rng, []string{"New Business", "Existing Business"}), "LeadSource": oneOf(rng,
					leadSources), "NextStep": oneOf(rng, nextSteps),
			},
		}
		r.fields["Amount"] = r.amount
		if rng.percent(20) {
			r.owner = oneOf(rng, d.reps[where.code])
		}
		if rng.percent(30) {
			r.refs["CampaignId"] = ref{"Campaign", rng.IntN(len(d.records["Campaign"]))}
		}
		d.add("Opportunity", r)
		if rng.percent(65) {
			d.advanceTo(rng, i, oneOf(rng, laterStages))
		}
		if rng.percent(10) {
			d.teams = append(d.teams, teamMember{
				ref{"Opportunity", i},
				oneOf(rng, d.users).id,
				oneOf(rng, []string{"Sales Rep", "Pre-Sales Consultant", "Lead Qualifier"}),
			})
		}
	}
}

// quote plans the quotes, of any opportunities.
func (d *company) quote(n int) {
	rng := d.dice("quotes")
	opportunities := d.records["Opportunity"]
	for i := range n {
		of := rng.IntN(len(opportunities))
		net := opportunities[of].amount
		r := record{region: opportunities[of].region, owner: opportunities[of].owner, refs: map[string]ref{
			"OpportunityId": {"Opportunity", of}, "ContactId": opportunities[of].refs["ContactId"],
		}, fields: map[string]any{
			"Name": fmt.Sprintf("見積 %d-%05d", d.seed, i+1), "QuoteNumber": fmt.Sprintf("Q%d-%05d", d.seed, i+1),
			"Status":         oneOf(rng, []string{"Draft", "Presented", "Needs Review", "Accepted", "Denied"}),
			"ExpirationDate": d.date(rng.IntN(90)), "Subtotal": net, "Tax": net / 10,
		}}
		if rng.percent(45) {
			r.fields["DiscountPercent"] = oneOf(rng, []int{5, 5, 10, 10, 15, 20, 25, 30})
		}
		d.add("Quote", r)
	}
}

// Steps is how many things are sent.
func (d *company) Steps() int {
	n := 2 + len(d.definitions) + d.size + len(d.teams) + len(d.members) + len(d.converted) + len(d.placed) +
		len(d.approvals)
	for _, moves := range d.moves {
		n += len(moves)
	}
	for _, t := range d.territories {
		n += 1 + len(t.users)
	}
	return n
}

// operations are the records of an object as a bulk creates them, some at a time.
func (d *company) operations(object string, from, to int, ids map[string][]string) []client.RecordOperation {
	ops := make([]client.RecordOperation, 0, to-from)
	for _, r := range d.records[object][from:to] {
		op := client.RecordOperation{Op: "create", OwnerID: r.owner, Fields: r.fields}
		for field, ref := range r.refs {
			op.Fields[field] = ids[ref.object][ref.at]
		}
		ops = append(ops, op)
	}
	return ops
}
