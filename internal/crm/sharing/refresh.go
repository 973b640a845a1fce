package sharing

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// touched is a record whose rows may have to be others now.
type touched struct {
	id      string
	call    Caller // on whose behalf
	changed bool   // others see it now in any case
}

// refresh writes the rows of some records of an object, in the order of their ids, as they
// are to be now, in the model that is active and in the one that is being built. It
// announces of which others see them now. The rows of a model are never written twice:
// they are keyed by what causes them.
func (s *Sharing) refresh(ctx context.Context, tx *sqldb.Tx, tenant, object string, all ...touched) error {
	// Who makes the first model holds the tenant, so that comes before records are held.
	if _, err := s.ensureModels(ctx, tx, tenant, object); err != nil {
		return err
	}
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].id
	}
	if err := holdRecords(ctx, tx, tenant, object, ids); err != nil {
		return err
	}
	now, err := currentModels(ctx, tx, tenant, object)
	if err != nil || len(now) == 0 {
		return err
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return err
	}
	known, err := s.facts(ctx, tx, tenant, object, ids)
	if err != nil {
		return err
	}
	for i := range now {
		err := refreshIn(ctx, tx, m, &now[i], known, all)
		if model.IsCostly(err) {
			err = bus.Permanent(err) // an event that was taken alone will not fare better
		}
		if err != nil {
			return err
		}
	}
	var gone []touched
	for i := range all {
		t := &all[i]
		switch {
		case known[t.id].record == nil: // nobody sees it; that it is gone was announced
			gone = append(gone, *t)
		case t.changed:
			err = s.announceShare(ctx, tx, t.call, object, t.id, now[0].Version)
		}
		if err != nil {
			return err
		}
	}
	if object != accountObject || len(gone) == 0 {
		return nil
	}
	return s.unassignGone(ctx, tx, tenant, gone)
}

// refreshIn writes the rows that some records have in one model. What they are to have comes
// first: when that is too much, as many rows need not be read.
func refreshIn(ctx context.Context, tx *sqldb.Tx, of *model.Model, m *Model, known map[string]*facts,
	all []touched,
) error {
	judge := judgeOf(tx)
	want := make([][]Share, len(all))
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].id
		var err error
		if want[i], err = sharesOf(judge, of, &m.Setup, known[all[i].id]); err != nil {
			return err
		}
	}
	have, err := sharesIn(ctx, tx, m.tenant, m.num, ids)
	if err != nil {
		return err
	}
	var stmts []sqldb.Stmt
	for i := range all {
		t := &all[i]
		if err := chargeGone(judge, have[t.id], want[i]); err != nil {
			return err
		}
		more := shareStmts(tx, m, t.id, have[t.id], want[i])
		t.changed = t.changed || len(more) > 0 && m.Status == Active
		stmts = append(stmts, more...)
	}
	return batch(ctx, tx, stmts)
}

// chargeGone counts the rows of rules that a record no longer has.
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

// facts reads what decides about the rows of some records.
func (s *Sharing) facts(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (
	map[string]*facts, error,
) {
	records, err := s.cfg.Records.Some(ctx, tx, tenant, object, ids)
	if err != nil {
		return nil, err
	}
	known := make(map[string]*facts, len(ids))
	for _, id := range ids {
		known[id] = &facts{}
		if r, ok := records[id]; ok && !r.Deleted {
			known[id].record = &r
		}
	}
	if slices.Contains(model.TeamObjects, object) {
		teams, err := s.cfg.Records.TeamsAmong(ctx, tx, tenant, object, ids)
		if err != nil {
			return nil, err
		}
		for id, team := range teams {
			known[id].team = team
		}
	}
	if object != accountObject {
		return known, nil
	}
	for _, id := range ids {
		if known[id].territories, err = territoriesOf(ctx, tx, tenant, id); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// sharesIn are the rows that some records have in a model, each in order.
func sharesIn(ctx context.Context, tx *sqldb.Tx, tenant string, model int64, ids []string) (map[string][]Share, error) {
	var b sqldb.Binds
	query := "SELECT record_id, grantee, cause, cause_id, level, owner_id FROM sharing_share WHERE tenant_id = " +
		b.Add(tenant) +
		" AND model = " + b.Add(model) + " AND " + b.OneOf(tx, "record_id", ids)
	have := map[string][]Share{}
	for row, err := range tx.Query(ctx, query, b.Args()...) {
		if err != nil {
			return nil, err
		}
		var id string
		var s Share
		var level int64
		if err := row.Scan(&id, &s.Grantee, &s.Cause, &s.CauseID, &level, &s.Owner); err != nil {
			return nil, err
		}
		s.Level = Level(level)
		have[id] = append(have[id], s)
	}
	for _, rows := range have {
		slices.SortFunc(rows, Share.compare)
	}
	return have, nil
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
			" AND record_id = " + b.Add(id) + " AND cause = " + b.Add(CauseRule) + " AND " + b.OneOf(tx, "cause_id",
			rules)
		stmts = append(stmts, sqldb.Stmt{Query: query, Args: b.Args()})
	}
	values := make([]any, 0, 8*len(added))
	for _, a := range added {
		values = append(values, m.tenant, m.num, id, a.Grantee, a.Cause, a.CauseID, int64(a.Level), a.Owner)
	}
	return append(stmts, insertShares.Stmts(tx, values)...)
}

// regrant gives the rows of a territory the access that it has now.
func (s *Sharing) regrant(ctx context.Context, tx *sqldb.Tx, tenant, territoryID string) error {
	if err := holdObject(ctx, tx, tenant, accountObject); err != nil {
		return err
	}
	now, err := currentModels(ctx, tx, tenant, accountObject)
	if err != nil || len(now) == 0 {
		return err
	}
	all, err := territories(ctx, tx, "SELECT "+territoryColumns+
		" FROM sharing_territory WHERE tenant_id = $1 AND id = $2", tenant, territoryID)
	if err != nil || len(all) == 0 {
		return err // with the last assignment its rows went
	}
	for i := range now {
		_, err := tx.Exec(ctx, "UPDATE sharing_share SET level = $4 WHERE tenant_id = $1 AND model = $2 AND grantee "+
			"= $3 AND level <> $4",
			tenant, now[i].num, principal(territoryKind, territoryID), int64(levelOf(all[0].Access)))
		if err != nil {
			return err
		}
	}
	return nil
}

// announceShare publishes that another set of users may see a record.
func (s *Sharing) announceShare(ctx context.Context, tx *sqldb.Tx, call Caller, object, id string,
	version int64,
) error {
	key := wire.RecordKey("Share", call.Tenant, id)
	at, err := s.bus.NextVersion(ctx, tx, key)
	if err != nil {
		return err
	}
	e := wire.SharingUpdated{ObjectName: object, RecordID: id, ShareModelVersion: wire.Count(version)}
	if e.UpdatedAt, err = s.now(ctx, tx); err != nil {
		return err
	}
	return s.publish(ctx, tx, call, key, at, e)
}
