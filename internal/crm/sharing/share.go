package sharing

import (
	"cmp"
	"context"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// Share is a row of sharing_share: access to one record that does not follow from its owner.
type Share struct {
	Grantee        string // a principal
	Cause, CauseID string
	Level          Level
	Owner          string // of the record
}

func (s Share) compare(t Share) int {
	return cmp.Or(cmp.Compare(s.Grantee, t.Grantee), cmp.Compare(s.Cause, t.Cause), cmp.Compare(s.CauseID, t.CauseID),
		cmp.Compare(s.Level, t.Level), cmp.Compare(s.Owner, t.Owner))
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
	owner := f.record.OwnerID
	for _, mate := range f.team {
		all = append(all, Share{principal(userKind, mate.UserID), CauseTeam, "", levelOf(mate.Access), owner})
	}
	for _, t := range f.territories {
		all = append(all, Share{principal(territoryKind, t.ID), CauseTerritory, t.ID, levelOf(t.Access), owner})
	}
	slices.SortFunc(all, Share.compare)
	return slices.Compact(all)
}

// chargeGone charges for the rows of rules that a record no longer has.
func chargeGone(j *model.Judge, have, want []Share) error {
	gone, _ := difference(have, want, Share.compare)
	for _, g := range gone {
		if g.Cause != CauseRule {
			continue
		}
		if err := j.Charge(rowSteps); err != nil {
			return model.Costly(err, "sharing rule", g.CauseID, g.CauseID)
		}
	}
	return nil
}

// shares are the rows of a tenant in a model, by record and in order, as far as a condition on the
// record holds. The arguments begin with tenant and model.
func shares(ctx context.Context, tx *sqldb.Tx, of string, args ...any) (map[string][]Share, error) {
	have := map[string][]Share{}
	for row, err := range tx.Query(ctx, `SELECT record_id, grantee, cause, cause_id, level, owner_id FROM sharing_share
		WHERE tenant_id = $1 AND model = $2 AND `+of, args...) {
		var id string
		var s Share
		if err == nil {
			err = row.Scan(&id, &s.Grantee, &s.Cause, &s.CauseID, &s.Level, &s.Owner)
		}
		if err != nil {
			return nil, err
		}
		have[id] = append(have[id], s)
	}
	for _, rows := range have {
		slices.SortFunc(rows, Share.compare)
	}
	return have, nil
}

// sharesIn are the rows of some records in a model.
func sharesIn(ctx context.Context, tx *sqldb.Tx, m *Model, ids []string) (map[string][]Share, error) {
	var b sqldb.Binds
	b.Add(m.tenant)
	b.Add(m.num)
	of := b.OneOf(tx, "record_id", ids)
	return shares(ctx, tx, of, b.Args()...)
}

var insertShares = sqldb.NewInsert(
	"sharing_share (tenant_id, model, record_id, grantee, cause, cause_id, level, owner_id)", "",
	"text", "bigint", "text", "text", "text", "text", "bigint", "text")

// shareStmts write the difference between two sets of rows of a record. The rows of rules go in
// one statement, which does not name their grantee: a rule has one in a model, and thousands of
// rules may have the same, whose rows PostgreSQL would otherwise look through for each of them.
func shareStmts(tx *sqldb.Tx, m *Model, id string, have, want []Share) (stmts []sqldb.Stmt) {
	gone, added := difference(have, want, Share.compare)
	var rules []string
	for _, g := range gone {
		if g.Cause == CauseRule {
			rules = append(rules, g.CauseID)
			continue
		}
		stmts = append(stmts, sqldb.Stmt{
			Query: "DELETE FROM sharing_share WHERE tenant_id = $1 AND model = $2 AND record_id = $3 AND grantee = " +
				"$4 AND cause = $5 AND cause_id = $6",
			Args: []any{m.tenant, m.num, id, g.Grantee, g.Cause, g.CauseID},
		})
	}
	if len(rules) > 0 {
		var b sqldb.Binds
		query := "DELETE FROM sharing_share WHERE tenant_id = " + b.Add(m.tenant) + " AND model = " + b.Add(m.num) +
			" AND record_id = " + b.Add(id) + " AND cause = 'rule' AND " + b.OneOf(tx, "cause_id", rules)
		stmts = append(stmts, sqldb.Stmt{Query: query, Args: b.Args()})
	}
	values := make([]any, 0, 8*len(added))
	for _, a := range added {
		values = append(values, m.tenant, m.num, id, a.Grantee, a.Cause, a.CauseID, int64(a.Level), a.Owner)
	}
	return append(stmts, insertShares.Stmts(tx, values)...)
}
