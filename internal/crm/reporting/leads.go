package reporting

// The fields of leads that reports stand on.
const (
	fieldSource      = "LeadSource"
	fieldConverted   = "IsConverted"
	fieldOpportunity = "ConvertedOpportunityId"
)

// What the counts of leadConversion are.
const (
	nLeads, nConverted, nOpportunities = 0, 1, 2
)

// leadConversion is what became of leads, by the month of their creation, source and owner.
var leadConversion = &spec{
	name: "lead-conversion", object: objLead, needs: []string{fieldConverted},
	cube: leadCube, facts: facts{"reporting_lead", "f.id", [3]string{"f.month", "f.source", "f.converted"}, false},
	months: true,
	groups: []group{
		{name: "source", fields: []string{fieldSource}, of: func(c *cell) string { return c.k2 }},
		{name: "month", of: func(c *cell) string { return c.k1 }},
		ownerGroup,
	},
	defaults: []string{"source"},
	measures: []measure{
		counted("count", nLeads),
		counted("convertedCount", nConverted),
		counted("opportunityCount", nOpportunities, fieldOpportunity),
		rated("conversionRate", nConverted, nLeads),
	},
	add: func(c *cell, r *row) {
		r.n[nLeads] += c.n
		if c.k3 != no {
			r.n[nConverted] += c.n
		}
		if c.k3 == withOpportunity {
			r.n[nOpportunities] += c.n
		}
	},
}
