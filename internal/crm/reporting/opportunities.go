package reporting

import (
	"slices"

	"renga.dev/renga/internal/crm/model"
)

// The fields of opportunities that reports stand on.
const (
	fieldStage    = "StageName"
	fieldClosed   = "IsClosed"
	fieldWon      = "IsWon"
	fieldDate     = "CloseDate"
	fieldCategory = "ForecastCategoryName"
	fieldAmount   = "Amount"
	fieldChance   = "Probability"
)

// The measures of opportunities in one state.
var opportunityMeasures = []measure{
	counted("count", 0),
	summed("amount", 0, fieldAmount),
	summed("weightedAmount", 1, fieldAmount, fieldChance),
}

func addOpportunities(c *cell, r *row) {
	r.n[0] += c.n
	r.sums[0], r.sums[1] = r.sums[0].plus(c.amount), r.sums[1].plus(c.weighted)
}

var monthGroup = group{name: "month", fields: []string{fieldDate}, of: func(c *cell) string { return c.k1 }}

// pipeline is the open opportunities by stage and owner.
var pipeline = &spec{
	name: "pipeline", object: objOpportunity, needs: []string{fieldStage, fieldClosed},
	cube: stageCube, facts: facts{"reporting_opportunity", "f.id", [3]string{"f.stage", "f.status", "''"}, true},
	only: [3]only{1: {"=", open}},
	groups: []group{
		{name: "stage", of: func(c *cell) string { return c.k1 }, order: stagePlace}, ownerGroup,
	},
	defaults: []string{"stage"}, measures: opportunityMeasures, add: addOpportunities,
}

// stagePlace is where a stage is; what is no stage any more comes last.
func stagePlace(m *model.Model, name string) int {
	at := slices.IndexFunc(m.Stages(), func(s model.Stage) bool { return s.Name == name })
	if at < 0 {
		return len(m.Stages())
	}
	return at
}

var monthFacts = facts{"reporting_opportunity", "f.id", [3]string{"f.month", "f.category", "f.status"}, true}

// forecast is what is open or won, by the month in which it closes, category and owner.
var forecast = &spec{
	name: "forecast", object: objOpportunity, needs: []string{fieldCategory, fieldClosed, fieldWon},
	cube: monthCube, facts: monthFacts, only: [3]only{1: {"<>", "Omitted"}, 2: {"<>", lost}}, months: true,
	dated: []string{fieldDate},
	groups: []group{
		monthGroup, {name: "category", of: func(c *cell) string { return c.k2 }, order: categoryPlace}, ownerGroup,
	},
	defaults: []string{"month", "category"}, measures: opportunityMeasures, add: addOpportunities,
}

func categoryPlace(_ *model.Model, name string) int {
	return slices.Index(model.ForecastCategories, name)
}

// What the counts and sums of wonLost are.
const (
	nWon, nLost = 0, 1
)

// wonLost is what was won and lost, by the month in which it closed and owner.
var wonLost = &spec{
	name: "won-lost", object: objOpportunity, needs: []string{fieldClosed, fieldWon},
	cube: monthCube, facts: monthFacts, only: [3]only{2: {"<>", open}}, months: true, dated: []string{fieldDate},
	groups: []group{monthGroup, ownerGroup}, defaults: []string{"month"},
	measures: []measure{
		counted("wonCount", nWon),
		summed("wonAmount", nWon, fieldAmount),
		counted("lostCount", nLost),
		summed("lostAmount", nLost, fieldAmount),
		rated("winRate", nWon, nWon, nLost),
	},
	add: func(c *cell, r *row) {
		at := nLost
		if c.k3 == won {
			at = nWon
		}
		r.n[at] += c.n
		r.sums[at] = r.sums[at].plus(c.amount)
	},
}
