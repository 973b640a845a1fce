package sharing

import (
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
)

// Setup is how an object is shared. A model has one from its start to its end.
type Setup struct {
	OWD   model.OWD `json:"owd"`
	Rules []Rule    `json:"rules"` // the active ones, by id
}

// Rule is a sharing rule, with what it depends on.
type Rule struct {
	ID       string        `json:"id"`
	Kind     string        `json:"kind"`
	Source   *model.Member `json:"source,omitzero"`
	Criteria string        `json:"criteria,omitzero"`
	Fields   []string      `json:"fields,omitzero"` // "Amount currency": what the criteria name, with the types
	Target   model.Member  `json:"target"`
	Access   model.Access  `json:"access"`
}

// setupOf is how an object is to be shared now.
func setupOf(m *model.Model, object string) Setup {
	s := Setup{OWD: m.OWD(object), Rules: []Rule{}}
	for _, r := range m.SharingRules(object) {
		if r.IsActive {
			s.Rules = append(s.Rules, Rule{
				r.ID, r.Kind, r.Source, r.Criteria, fieldsOf(m.Object(object), r.Criteria), r.Target, r.Access,
			})
		}
	}
	return s
}

// fieldsOf is what criteria name of an object, with the types: when one is changed, the
// criteria may say something else.
func fieldsOf(object *model.Object, criteria string) (named []string) {
	for i := range object.Fields {
		if f := &object.Fields[i]; model.Uses(criteria, f.Name) {
			named = append(named, f.Name+" "+string(f.Type))
		}
	}
	slices.Sort(named)
	return named
}

// text is the setup as it is stored. Equal setups have equal texts.
func (s *Setup) text() (string, error) {
	b, err := json.Marshal(s, json.Deterministic(true))
	return string(b), err
}

// hasCriteria reports whether a rule looks at records.
func (s *Setup) hasCriteria() bool {
	return slices.ContainsFunc(s.Rules, func(r Rule) bool { return r.Kind == model.CriteriaRule })
}
