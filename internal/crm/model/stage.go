package model

import "slices"

// Stage is where an opportunity stands. Its order is its place in the list.
type Stage struct {
	Name             string `json:"name"`
	Probability      int    `json:"probability"` // 0..100
	ForecastCategory string `json:"forecastCategory"`
	IsClosed         bool   `json:"isClosed"`
	IsWon            bool   `json:"isWon"` // only what is closed can be won
}

// Stages are the stages of opportunities, in their order.
type Stages struct {
	Stages []Stage `json:"stages"`
}

// ForecastCategories are all of them.
var ForecastCategories = []string{"Omitted", "Pipeline", "Best Case", "Commit", "Closed"}

// standardStages are those of a tenant that has defined none.
var standardStages = &Stages{Stages: []Stage{
	{"Prospecting", 10, "Pipeline", false, false},
	{"Qualification", 10, "Pipeline", false, false},
	{"Needs Analysis", 20, "Pipeline", false, false},
	{"Value Proposition", 50, "Pipeline", false, false},
	{"Id. Decision Makers", 60, "Pipeline", false, false},
	{"Perception Analysis", 70, "Best Case", false, false},
	{"Proposal/Price Quote", 75, "Best Case", false, false},
	{"Negotiation", 90, "Commit", false, false},
	{"Closed Won", 100, "Closed", true, true},
	{"Closed Lost", 0, "Omitted", true, false},
}}

// The field whose values are the names of the stages.
const (
	stageObject = "Opportunity"
	stageField  = "StageName"
)

// Stages are the stages of opportunities, in their order.
func (m *Model) Stages() []Stage { return value[Stages](m, KindStages, stageObject).Stages }

// Stage is a stage by its name, nil when there is none.
func (m *Model) Stage(name string) *Stage {
	stages := m.Stages()
	if at := slices.IndexFunc(stages, func(s Stage) bool { return s.Name == name }); at >= 0 {
		return &stages[at]
	}
	return nil
}

// names are the names of the stages.
func (s *Stages) names() []string {
	names := make([]string, len(s.Stages))
	for i := range s.Stages {
		names[i] = s.Stages[i].Name
	}
	return names
}
