package sharing

import (
	"cmp"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
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
	record      *model.Record // nil: there is none, or it was deleted
	team        []model.TeamMember
	territories []Territory // of an account
}

// What criteria cost beside their evaluation, which one text has once for a record: a rule,
// and a row that is written or deleted because of one.
const (
	ruleSteps = 1
	rowSteps  = 15
)

// ruleShares are the rows that a record has because of criteria. A rule whose criteria
// fail gives nothing. An error names a rule whose criteria were not evaluated.
func ruleShares(j *model.Judge, m *model.Model, s *Setup, r *model.Record) (all []Share, err error) {
	object := m.Object(r.Object)
	if object == nil {
		return nil, nil
	}
	var now *model.Case
	for i := range s.Rules {
		rule := &s.Rules[i]
		if rule.Kind != model.CriteriaRule {
			continue
		}
		if now == nil {
			now = j.OfRecord(object, r)
		}
		holds, err := now.Holds(rule.Criteria)
		steps := ruleSteps
		if holds {
			steps += rowSteps
		}
		if err == nil {
			err = j.Charge(steps)
		}
		if err != nil {
			return nil, model.Costly(err, "sharing rule", rule.ID, rule.ID)
		}
		if holds {
			all = append(all, Share{principalOf(rule.Target), CauseRule, rule.ID, levelOf(rule.Access), r.OwnerID})
		}
	}
	return all, nil
}

// sharesOf are the rows that a record has under a setup, sorted.
func sharesOf(j *model.Judge, m *model.Model, s *Setup, f *facts) ([]Share, error) {
	if f.record == nil {
		return nil, nil
	}
	all, err := ruleShares(j, m, s, f.record)
	return f.add(all), err
}

// add adds the rows that a record has because of its team and its territories, and sorts all.
func (f *facts) add(all []Share) []Share {
	r := f.record
	for _, mate := range f.team {
		all = append(all, Share{principal(userKind, mate.UserID), CauseTeam, "", levelOf(mate.Access), r.OwnerID})
	}
	for _, t := range f.territories {
		all = append(all, Share{principal(territoryKind, t.ID), CauseTerritory, t.ID, levelOf(t.Access), r.OwnerID})
	}
	slices.SortFunc(all, Share.compare)
	return slices.Compact(all)
}

// judgeOf is what evaluates the criteria of a transaction.
func judgeOf(tx *sqldb.Tx) *model.Judge {
	return sqldb.Own(tx, func() *model.Judge { return model.NewJudge(tx.Waits) })
}

func (s Share) compare(t Share) int {
	return cmp.Or(cmp.Compare(s.Grantee, t.Grantee), cmp.Compare(s.Cause, t.Cause), cmp.Compare(s.CauseID, t.CauseID),
		cmp.Compare(s.Level, t.Level), cmp.Compare(s.Owner, t.Owner))
}
