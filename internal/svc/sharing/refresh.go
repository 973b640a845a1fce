package sharing

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
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
		have, err := sharesIn(ctx, tx, tenant, now[i].num, ids)
		if err != nil {
			return err
		}
		var stmts []sqldb.Stmt
		for j := range all {
			t := &all[j]
			more := shareStmts(&now[i], t.id, have[t.id], sharesOf(m, &now[i].Setup, known[t.id]))
			t.changed = t.changed || len(more) > 0 && now[i].Status == Active
			stmts = append(stmts, more...)
		}
		if err := batch(ctx, tx, stmts); err != nil {
			return err
		}
	}
	for i := range all {
		t := &all[i]
		switch {
		case known[t.id].record == nil: // nobody sees it; that it is gone was announced
			_, err = tx.Exec(ctx, "DELETE FROM sharing_territory_account WHERE tenant_id = $1 AND account_id = $2", tenant, t.id)
		case t.changed:
			err = s.announceShare(ctx, tx, t.call, object, t.id, now[0].Version)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// facts reads what decides about the rows of some records.
func (s *Sharing) facts(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (map[string]*facts, error) {
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
	if slices.Contains(crm.TeamObjects, object) {
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
	query := "SELECT record_id, grantee, cause, cause_id, level, owner_id FROM sharing_share WHERE tenant_id = " + b.Add(tenant) +
		" AND model = " + b.Add(model) + " AND " + b.OneOf(tx.Dialect(), "record_id", ids)
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

// shareStmts write the difference between two sets of rows of a record.
func shareStmts(m *Model, id string, have, want []Share) (stmts []sqldb.Stmt) {
	gone, added := difference(have, want, Share.compare)
	for _, g := range gone {
		stmts = append(stmts, sqldb.Stmt{
			Query: "DELETE FROM sharing_share WHERE tenant_id = $1 AND model = $2 AND record_id = $3 AND grantee = $4 AND cause = $5 AND cause_id = $6",
			Args:  []any{m.tenant, m.num, id, g.Grantee, g.Cause, g.CauseID},
		})
	}
	for _, a := range added {
		stmts = append(stmts, sqldb.Stmt{
			Query: "INSERT INTO sharing_share (tenant_id, model, record_id, grantee, cause, cause_id, level, owner_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
			Args:  []any{m.tenant, m.num, id, a.Grantee, a.Cause, a.CauseID, int64(a.Level), a.Owner},
		})
	}
	return stmts
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
	all, err := territories(ctx, tx, "SELECT "+territoryColumns+" FROM sharing_territory WHERE tenant_id = $1 AND id = $2", tenant, territoryID)
	if err != nil || len(all) == 0 {
		return err // with the last assignment its rows went
	}
	for i := range now {
		_, err := tx.Exec(ctx, "UPDATE sharing_share SET level = $4 WHERE tenant_id = $1 AND model = $2 AND grantee = $3 AND level <> $4",
			tenant, now[i].num, principal(territoryKind, territoryID), int64(levelOf(all[0].Access)))
		if err != nil {
			return err
		}
	}
	return nil
}

// announceShare publishes that another set of users may see a record.
func (s *Sharing) announceShare(ctx context.Context, tx *sqldb.Tx, call Caller, object, id string, version int64) error {
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
