package sharing

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// refresh writes the rows of a record as they are to be now, in the model that is active
// and in the one that is being built. It announces when others see the record now;
// changed says that they do in any case. The rows of a model are never written twice:
// they are keyed by what causes them.
func (s *Sharing) refresh(ctx context.Context, tx *sqldb.Tx, call Caller, object, id string, changed bool) (bool, error) {
	// Who makes the first model holds the tenant, so that comes before the record is held.
	if _, err := s.ensureModels(ctx, tx, call.Tenant, object); err != nil {
		return false, err
	}
	if err := holdRecord(ctx, tx, call.Tenant, object, id); err != nil {
		return false, err
	}
	now, err := currentModels(ctx, tx, call.Tenant, object)
	if err != nil || len(now) == 0 {
		return false, err
	}
	m, err := s.cfg.Models.Model(ctx, tx, call.Tenant)
	if err != nil {
		return false, err
	}
	f, err := s.facts(ctx, tx, call.Tenant, object, id)
	if err != nil {
		return false, err
	}
	for i := range now {
		have, err := sharesIn(ctx, tx, call.Tenant, now[i].num, id)
		if err != nil {
			return false, err
		}
		n, err := writeShares(ctx, tx, &now[i], id, have, sharesOf(m, &now[i].Setup, f))
		if err != nil {
			return false, err
		}
		changed = changed || n > 0 && now[i].Status == Active
	}
	if f.record == nil {
		_, err := tx.Exec(ctx, "DELETE FROM sharing_territory_account WHERE tenant_id = $1 AND account_id = $2", call.Tenant, id)
		return changed, err // nobody sees it; that it is gone was announced
	}
	if !changed {
		return false, nil
	}
	return true, s.announceShare(ctx, tx, call, object, id, now[0].Version)
}

// facts reads what decides about the rows of a record.
func (s *Sharing) facts(ctx context.Context, tx *sqldb.Tx, tenant, object, id string) (*facts, error) {
	r, ok, err := s.cfg.Records.Get(ctx, tx, tenant, object, id)
	if err != nil || !ok || r.Deleted {
		return &facts{}, err
	}
	f := &facts{record: &r}
	if slices.Contains(crm.TeamObjects, object) {
		if f.team, err = s.cfg.Records.Team(ctx, tx, tenant, object, id); err != nil {
			return nil, err
		}
	}
	if object == accountObject {
		f.territories, err = territoriesOf(ctx, tx, tenant, id)
	}
	return f, err
}

const selectShares = "SELECT grantee, cause, cause_id, level, owner_id FROM sharing_share WHERE tenant_id = $1 AND model = $2 AND record_id = $3 ORDER BY grantee, cause, cause_id"

// sharesIn are the rows that a record has in a model.
func sharesIn(ctx context.Context, tx *sqldb.Tx, tenant string, model int64, id string) (all []Share, err error) {
	for row, err := range tx.Query(ctx, selectShares, tenant, model, id) {
		if err != nil {
			return nil, err
		}
		var s Share
		var level int64
		if err := row.Scan(&s.Grantee, &s.Cause, &s.CauseID, &level, &s.Owner); err != nil {
			return nil, err
		}
		s.Level = Level(level)
		all = append(all, s)
	}
	return all, nil
}

// writeShares writes the difference between two sets of rows of a record and gives how
// many there are.
func writeShares(ctx context.Context, tx *sqldb.Tx, m *Model, id string, have, want []Share) (int, error) {
	stmts := shareStmts(m, id, have, want)
	return len(stmts), batch(ctx, tx, stmts)
}

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
