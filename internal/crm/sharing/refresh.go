package sharing

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// touched is a record whose rows may have to be others now.
type touched struct {
	id      string
	call    kit.Caller // on whose behalf
	changed bool       // other users see it now in any case
}

// refresh writes the rows of some records of an object, in the order of their ids, in the
// active model and in the one that is being built. It publishes which of the records other
// users see now.
func (s *Sharing) refresh(ctx context.Context, tx *sqldb.Tx, tenant, object string, all ...touched) error {
	// The first model of an object locks the tenant, so that comes before records are locked.
	if _, err := s.ensureModels(ctx, tx, tenant, object); err != nil {
		return err
	}
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].id
	}
	if err := kit.SharingLocks.HoldEach(ctx, tx, lockOf(tenant, object), ids); err != nil {
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
			err = bus.Permanent(err) // the event will not fare better alone
		}
		if err != nil {
			return err
		}
	}
	var gone []touched
	for _, t := range all {
		if known[t.id].record == nil { // nobody sees it; its deletion was published
			gone = append(gone, t)
		} else if t.changed {
			_, err := s.publish(ctx, tx, t.call, "Share", t.id, func(at canonical.Stamp) events.Payload {
				return events.SharingUpdated{
					ObjectName: object, RecordID: t.id, ShareModelVersion: events.Count(now[0].Version), UpdatedAt: at,
				}
			})
			if err != nil {
				return err
			}
		}
	}
	if object != accountObject || len(gone) == 0 {
		return nil
	}
	return s.Territories.unassignGone(ctx, tx, tenant, gone)
}

// refreshIn writes the rows of some records in one model. It computes the new rows first:
// when they are too many, the old ones need not be read.
func refreshIn(
	ctx context.Context, tx *sqldb.Tx, of *model.Model, m *Model, known map[string]*facts, all []touched,
) error {
	judge := kit.JudgeOf(tx)
	want := make([][]Share, len(all))
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].id
		var err error
		if want[i], err = sharesOf(judge, of, &m.Setup, known[all[i].id]); err != nil {
			return err
		}
	}
	have, err := sharesIn(ctx, tx, m, ids)
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
	return known, s.addGrants(ctx, tx, tenant, object, ids, known)
}

// factsOf are what some records say themselves, and their ids in order.
func factsOf(records []model.Record) (ids []string, known map[string]*facts) {
	known = make(map[string]*facts, len(records))
	for i := range records {
		ids = append(ids, records[i].ID)
		known[records[i].ID] = &facts{record: &records[i]}
	}
	return ids, known
}

// addGrants reads the teams and the territories of some records.
func (s *service) addGrants(
	ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string, known map[string]*facts,
) error {
	if len(ids) > 0 && slices.Contains(model.TeamObjects, object) {
		teams, err := s.cfg.Records.TeamsAmong(ctx, tx, tenant, object, ids)
		if err != nil {
			return err
		}
		for id, team := range teams {
			known[id].team = team
		}
	}
	if len(ids) == 0 || object != accountObject {
		return nil
	}
	var b sqldb.Binds
	for row, err := range tx.Query(ctx, `SELECT a.account_id, t.id, t.access FROM sharing_territory_account a
		JOIN sharing_territory t ON t.tenant_id = a.tenant_id AND t.id = a.territory_id
		WHERE a.tenant_id = `+b.Add(tenant)+` AND `+b.OneOf(tx, "a.account_id", ids), b.Args()...) {
		var account string
		var t Territory
		if err == nil {
			err = row.Scan(&account, &t.ID, &t.Access)
		}
		if err != nil {
			return err
		}
		known[account].territories = append(known[account].territories, t)
	}
	return nil
}

// regrant gives the rows of a territory the access that it has now.
func (s *Sharing) regrant(ctx context.Context, tx *sqldb.Tx, tenant, territoryID string) error {
	if err := kit.SharingLocks.Hold(ctx, tx, lockOf(tenant, accountObject)); err != nil {
		return err
	}
	now, err := currentModels(ctx, tx, tenant, accountObject)
	if err != nil {
		return err
	}
	all, err := territories(ctx, tx, tenant, "AND id = $2", territoryID)
	if err != nil || len(all) == 0 {
		return err // with the last assignment its rows went
	}
	for i := range now {
		_, err := tx.Exec(ctx, "UPDATE sharing_share SET level = $4 WHERE tenant_id = $1 AND model = $2 AND grantee "+
			"= $3 AND level <> $4", tenant, now[i].num, principal(territoryKind, territoryID), levelOf(all[0].Access))
		if err != nil {
			return err
		}
	}
	return nil
}
