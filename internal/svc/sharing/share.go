package sharing

import (
	"cmp"
	"slices"

	"renga.dev/renga/internal/crm"
)

// Share is a row of sharing_share: access to one record that its owner does not tell.
type Share struct {
	Grantee        string // a principal
	Cause, CauseID string
	Level          Level
	Owner          string // of the record
}

// facts are what decides about the rows of a record.
type facts struct {
	record      *crm.Record // nil: there is none, or it was deleted
	team        []crm.TeamMember
	territories []Territory // of an account
}

// sharesOf are the rows that a record has under a setup, sorted. A rule whose criteria
// fail gives nothing.
func sharesOf(m *crm.Model, s *Setup, f *facts) []Share {
	r := f.record
	if r == nil {
		return nil
	}
	var all []Share
	for i := range s.Rules {
		rule := &s.Rules[i]
		if rule.Kind == crm.CriteriaRule && holds(m.Object(r.Object), rule.Criteria, r) {
			all = append(all, Share{principalOf(rule.Target), CauseRule, rule.ID, levelOf(rule.Access), r.OwnerID})
		}
	}
	for _, mate := range f.team {
		all = append(all, Share{principal(userKind, mate.UserID), CauseTeam, "", levelOf(mate.Access), r.OwnerID})
	}
	for _, t := range f.territories {
		all = append(all, Share{principal(territoryKind, t.ID), CauseTerritory, t.ID, levelOf(t.Access), r.OwnerID})
	}
	slices.SortFunc(all, Share.compare)
	return slices.Compact(all)
}

// holds reports whether criteria are true of a record.
func holds(object *crm.Object, criteria string, r *crm.Record) bool {
	if object == nil {
		return false
	}
	p, err := object.Condition(criteria, false)
	if err != nil {
		return false // what it names is gone
	}
	v, err := p.Eval(map[string]any{"record": object.Vars(r.ID, r.OwnerID, r.Fields)})
	return err == nil && v
}

func (s Share) compare(t Share) int {
	return cmp.Or(cmp.Compare(s.Grantee, t.Grantee), cmp.Compare(s.Cause, t.Cause), cmp.Compare(s.CauseID, t.CauseID),
		cmp.Compare(s.Level, t.Level), cmp.Compare(s.Owner, t.Owner))
}
