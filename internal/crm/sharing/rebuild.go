package sharing

import (
	"context"
	"slices"
	"strconv"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/flow"
)

// Rebuild starts a rebuild of an object, also when its setup is what it was, and gives the
// version of its model. One that is under way is the answer when it has the setup of now.
// A request with a key is done once; replay says that it was before.
func (s *Sharing) Rebuild(ctx context.Context, tenant, object string, key *wire.Once) (
	version int64, replay bool, err error,
) {
	number, replay, err := s.runs.Request(ctx, tenant, key, func(ctx context.Context, tx *sqldb.Tx) (string, error) {
		version, err := s.rebuild(ctx, tx, tenant, object)
		return strconv.FormatInt(version, 10), err
	})
	if err != nil {
		return 0, false, err
	}
	version, err = strconv.ParseInt(number, 10, 64)
	return version, replay, err
}

// rebuild starts a rebuild and gives its version.
func (s *Sharing) rebuild(ctx context.Context, tx *sqldb.Tx, tenant, object string) (int64, error) {
	of, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return 0, err
	}
	if of.Object(object) == nil {
		return 0, noObject(of, object)
	}
	if err := s.resetup(ctx, tx, tenant, object, true); err != nil {
		return 0, err
	}
	now, err := currentModels(ctx, tx, tenant, object)
	if err != nil {
		return 0, err
	}
	return now[len(now)-1].Version, nil
}

func noObject(m *model.Model, object string) error {
	return fault.New(fault.NotFound, "DEFINITION_NOT_FOUND", "there is no object %.80q; the objects are %s", object,
		m.ObjectNames())
}

// chunk does the next records of a rebuild, with what is true of them now, and notes how
// far it is. done says that there are no more. It gives rebuild.ErrGone when the model is not
// being built any more, or somebody else has done these records.
func (s *Sharing) chunk(ctx context.Context, b *Model) (done bool, err error) {
	var last string
	var n int
	var more bool
	err = s.write(ctx, "sharing.chunk", func(ctx context.Context, tx *sqldb.Tx) error {
		if err := holdObject(ctx, tx, b.tenant, b.Object); err != nil {
			return err
		}
		m, err := s.cfg.Models.Model(ctx, tx, b.tenant)
		if err != nil {
			return err
		}
		records, err := s.cfg.Records.Walk(ctx, tx, b.tenant, b.Object, b.place, s.cfg.limits.chunk)
		if err != nil {
			return err
		}
		granted, err := grantedTo(judgeOf(tx), m, &b.Setup, records)
		if err != nil {
			return err
		}
		more = len(records) == s.cfg.limits.chunk || len(granted) < len(records)
		records = records[:len(granted)]
		n, last = len(records), b.place
		if n > 0 {
			last = records[n-1].ID
		}
		changed, err := tx.Exec(ctx, "UPDATE sharing_model SET place = $4, processed = processed + $5 WHERE num = $1 "+
			"AND tenant_id = $2 AND status = 1 AND place = $3",
			b.num, b.tenant, b.place, last, n)
		if err == nil && changed == 0 {
			err = rebuild.ErrGone
		}
		if err != nil {
			return err
		}
		return s.build(ctx, tx, b, records, granted, last)
	})
	if err != nil {
		return false, err
	}
	b.place, b.Processed = last, b.Processed+n
	return !more, nil
}

// grantedTo are the rows that records have because of criteria, of as many of them as a
// transaction has steps for.
func grantedTo(j *model.Judge, m *model.Model, s *Setup, records []model.Record) (all [][]Share, err error) {
	for i := range records {
		shares, err := ruleShares(j, m, s, &records[i])
		if model.IsCostly(err) && i > 0 {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, shares)
	}
	return all, nil
}

// build writes the rows of some records that follow each other, the last one given, with
// those that they have because of criteria.
func (s *Sharing) build(
	ctx context.Context, tx *sqldb.Tx, b *Model, records []model.Record, granted [][]Share, last string,
) error {
	have, err := sharesBetween(ctx, tx, b, last)
	if err != nil {
		return err
	}
	all := make([]facts, len(records))
	for i := range records {
		all[i].record = &records[i]
	}
	if err := s.addTeams(ctx, tx, b, all, last); err != nil {
		return err
	}
	if err := addTerritories(ctx, tx, b, all, last); err != nil {
		return err
	}
	var stmts []sqldb.Stmt
	for i := range all {
		id := records[i].ID
		stmts = append(stmts, shareStmts(tx, b, id, have[id], all[i].add(granted[i]))...)
		delete(have, id)
	}
	for id, rows := range have { // of records that are gone
		stmts = append(stmts, shareStmts(tx, b, id, rows, nil)...)
	}
	return batch(ctx, tx, stmts)
}

// sharesBetween are the rows of a model that records up to one have, by record.
func sharesBetween(ctx context.Context, tx *sqldb.Tx, b *Model, last string) (map[string][]Share, error) {
	have := map[string][]Share{}
	for row, err := range tx.Query(ctx, `SELECT record_id, grantee, cause, cause_id, level, owner_id FROM sharing_share
		WHERE tenant_id = $1 AND model = $2 AND record_id > $3 AND record_id <= $4 ORDER BY record_id, grantee, cause, cause_id`, b.tenant, b.num, b.place, last) {
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
	return have, nil
}

// addTeams reads the teams of records that follow each other.
func (s *Sharing) addTeams(ctx context.Context, tx *sqldb.Tx, b *Model, all []facts, last string) error {
	if !slices.Contains(model.TeamObjects, b.Object) || len(all) == 0 {
		return nil
	}
	byID := index(all)
	const page = 1000
	after := model.TeamMember{Object: b.Object, RecordID: b.place, UserID: "~"} // behind every id
	for {
		members, err := s.cfg.Records.Teams(ctx, tx, b.tenant, b.Object, after, page)
		if err != nil {
			return err
		}
		for _, member := range members {
			if member.RecordID > last {
				return nil
			}
			if f := byID[member.RecordID]; f != nil {
				f.team = append(f.team, member)
			}
			after = member
		}
		if len(members) < page {
			return nil
		}
	}
}

// addTerritories reads the territories of accounts that follow each other.
func addTerritories(ctx context.Context, tx *sqldb.Tx, b *Model, all []facts, last string) error {
	if b.Object != accountObject || len(all) == 0 {
		return nil
	}
	byID := index(all)
	for row, err := range tx.Query(ctx, `SELECT a.account_id, t.id, t.access FROM sharing_territory_account a
		JOIN sharing_territory t ON t.tenant_id = a.tenant_id AND t.id = a.territory_id
		WHERE a.tenant_id = $1 AND a.account_id > $2 AND a.account_id <= $3 ORDER BY a.account_id, t.id`, b.tenant,
		b.place, last) {
		if err != nil {
			return err
		}
		var account string
		var t Territory
		if err := row.Scan(&account, &t.ID, &t.Access); err != nil {
			return err
		}
		if f := byID[account]; f != nil {
			f.territories = append(f.territories, t)
		}
	}
	return nil
}

func index(all []facts) map[string]*facts {
	byID := make(map[string]*facts, len(all))
	for i := range all {
		byID[all[i].record.ID] = &all[i]
	}
	return byID
}

// switchTo puts a model in force instead of the one that is, and announces it.
func (s *Sharing) switchTo(ctx context.Context, tx *sqldb.Tx, b *Model) error {
	if _, _, err := holdTenant(ctx, tx, b.tenant); err != nil {
		return err
	}
	if err := holdObject(ctx, tx, b.tenant, b.Object); err != nil {
		return err
	}
	old, err := activeModel(ctx, tx, b.tenant, b.Object)
	if err != nil {
		return err
	}
	if old == nil {
		return rebuild.ErrGone
	}
	at, err := s.now(ctx, tx)
	if err != nil {
		return err
	}
	if err := s.endModel(ctx, tx, old, Retired); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, "UPDATE sharing_model SET status = 2, active_at = $3 WHERE num = $1 AND tenant_id = $2 "+
		"AND status = 1", b.num, b.tenant, at)
	if err == nil && n == 0 {
		err = rebuild.ErrGone
	}
	if err != nil {
		return err
	}
	key := wire.RecordKey("SharingModel", b.tenant, b.Object)
	version, err := s.bus.NextVersion(ctx, tx, key)
	if err != nil {
		return err
	}
	return s.publish(ctx, tx, Caller{b.tenant, b.Execution}, key, version, wire.SharingRebuildCompleted{
		RebuildJobID: b.Execution, ObjectName: b.Object, Scope: "full", OldVersion: wire.Count(old.Version),
		NewVersion: wire.Count(b.Version), RecordsProcessed: wire.Count(b.Processed), CompletedAt: at,
	})
}

// sweep deletes some rows of a model that is not used any more, and first cancels its
// execution if it was given up. It reports whether there was one.
func (s *Sharing) sweep(ctx context.Context) (swept bool, err error) {
	var old []Model
	err = s.read(ctx, "sharing.sweep", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		old, err = models(ctx, tx, "SELECT "+modelColumns+
			" FROM sharing_model WHERE status > 2 AND swept = 0 ORDER BY num LIMIT 1")
		return err
	})
	if err != nil || len(old) == 0 {
		return false, err
	}
	m := &old[0]
	if m.Status == Canceled && m.Execution != "" {
		id, err := flow.ParseID(m.Execution)
		if err != nil {
			return false, err
		}
		reason := flow.Cancel{Reason: "the rebuild was given up: " + m.Object +
			" is to be shared in another way by now"}
		if err := s.runs.Submit(ctx, m.tenant, id, reason); err != nil {
			return false, err
		}
	}
	return true, s.write(ctx, "sharing.sweep", func(ctx context.Context, tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM sharing_share WHERE tenant_id = $1 AND model = $2 AND (record_id, grantee, cause, cause_id) IN
			(SELECT record_id, grantee, cause, cause_id FROM sharing_share WHERE tenant_id = $1 AND model = $2 ORDER BY record_id LIMIT $3)`,
			m.tenant, m.num, s.cfg.limits.sweep)
		if err != nil || n > 0 {
			return err
		}
		return tx.Batch(ctx,
			sqldb.Stmt{
				Query: "DELETE FROM sharing_reach WHERE tenant_id = $1 AND model = $2",
				Args:  []any{m.tenant, m.num},
			},
			sqldb.Stmt{
				Query: "UPDATE sharing_model SET swept = 1 WHERE num = $1 AND tenant_id = $2",
				Args:  []any{m.num, m.tenant},
			},
			sqldb.Stmt{
				Query: `DELETE FROM sharing_model WHERE tenant_id = $1 AND object = $2 AND status > 2 AND swept = 1
					AND version <= (SELECT max(version) FROM sharing_model WHERE tenant_id = $1 AND object = $2) - $3`,
				Args: []any{m.tenant, m.Object, MaxModels},
			})
	})
}
