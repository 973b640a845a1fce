package sharing

import (
	"context"
	"strconv"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// GraphPrefix begins the ids of graphs of sharing.
const GraphPrefix = "sharing:"

// Rebuild starts a rebuild of an object and gives the version of its model, that of a running
// rebuild if its setup is still current. A request with a key is executed once; replay says
// that it was before.
func (s *Sharing) Rebuild(ctx context.Context, tenant, object string, key *canonical.IdempotencyKey) (
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

// Run rebuilds, and deletes the rows of models that have ended, until ctx ends; running
// rebuilds continue at the next start.
func (s *Sharing) Run(ctx context.Context) { s.runs.Run(ctx) }

// State is how far the rebuild of a model is.
func (m *Model) State() rebuild.State {
	return rebuild.State{
		Num: m.num, Tenant: m.tenant, Execution: m.Execution, Running: m.Status == Building,
		Processed: m.Processed, Total: m.Total,
	}
}

// Summary is what the execution of a rebuild is started with, and what it ends with.
func (m *Model) Summary() (flow.Data, error) {
	return json.Marshal(struct {
		Object    string `json:"object"`
		Version   int64  `json:"version"`
		Processed int    `json:"recordsProcessed"`
	}{m.Object, m.Version, m.Processed})
}

// rebuilder builds models: a rebuild.Service.
type rebuilder struct{ *Sharing }

func (rebuilder) Jobs(ctx context.Context, tx *sqldb.Tx, where string, args ...any) ([]*Model, error) {
	all, err := models(ctx, tx, where, args...)
	jobs := make([]*Model, len(all))
	for i := range all {
		jobs[i] = &all[i]
	}
	return jobs, err
}

// Chunk does the next records of a rebuild, as they are now.
func (s rebuilder) Chunk(ctx context.Context, b *Model) (done bool, err error) {
	var last string
	var n int
	err = s.Write(ctx, "chunk", func(ctx context.Context, tx *sqldb.Tx) error {
		if err := kit.SharingLocks.Hold(ctx, tx, lockOf(b.tenant, b.Object)); err != nil {
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
		granted, err := grantedTo(kit.JudgeOf(tx), m, &b.Setup, records)
		if err != nil {
			return err
		}
		n, last = len(granted), b.place
		done = n == len(records) && n < s.cfg.limits.chunk
		if n > 0 {
			last = records[n-1].ID
		}
		if err := changeModel(ctx, tx, b, "place = $4, processed = processed + $5", "status = 1 AND place = $3",
			b.place, last, n); err != nil {
			return err
		}
		return s.build(ctx, tx, b, records[:n], granted, last)
	})
	if err != nil {
		return false, err
	}
	b.place, b.Processed = last, b.Processed+n
	return done, nil
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
func (s rebuilder) build(
	ctx context.Context, tx *sqldb.Tx, b *Model, records []model.Record, granted [][]Share, last string,
) error {
	have, err := shares(ctx, tx, "record_id > $3 AND record_id <= $4", b.tenant, b.num, b.place, last)
	if err != nil {
		return err
	}
	ids, known := factsOf(records)
	if err := s.addGrants(ctx, tx, b.tenant, b.Object, ids, known); err != nil {
		return err
	}
	var stmts []sqldb.Stmt
	for i, id := range ids {
		stmts = append(stmts, shareStmts(tx, b, id, have[id], known[id].add(granted[i]))...)
		delete(have, id)
	}
	for id, rows := range have { // of records that are gone
		stmts = append(stmts, shareStmts(tx, b, id, rows, nil)...)
	}
	return batch(ctx, tx, stmts)
}

// Finish puts a model in force instead of the active one, and publishes that.
func (s rebuilder) Finish(ctx context.Context, tx *sqldb.Tx, b *Model) error {
	if _, _, err := holdTenant(ctx, tx, b.tenant); err != nil {
		return err
	}
	if err := kit.SharingLocks.Hold(ctx, tx, lockOf(b.tenant, b.Object)); err != nil {
		return err
	}
	old, err := activeModel(ctx, tx, b.tenant, b.Object)
	if err != nil {
		return err
	}
	if old == nil {
		return rebuild.ErrGone
	}
	if err := s.endModel(ctx, tx, old, Retired); err != nil {
		return err
	}
	at, err := s.Now(ctx, tx)
	if err != nil {
		return err
	}
	if err := changeModel(ctx, tx, b, "status = 2, active_at = $3", "status = 1", at); err != nil {
		return err
	}
	call := kit.Caller{Tenant: b.tenant, CorrelationID: b.Execution}
	_, err = s.publish(ctx, tx, call, "SharingModel", b.Object, func(canonical.Stamp) events.Payload {
		return events.SharingRebuildCompleted{
			RebuildJobID: b.Execution, ObjectName: b.Object, Scope: "full", OldVersion: events.Count(old.Version),
			NewVersion: events.Count(b.Version), RecordsProcessed: events.Count(b.Processed), CompletedAt: at,
		}
	})
	return err
}

// GiveUp leaves the active model in force.
func (s rebuilder) GiveUp(ctx context.Context, tx *sqldb.Tx, m *Model) error {
	if _, _, err := holdTenant(ctx, tx, m.tenant); err != nil {
		return err
	}
	return s.endModel(ctx, tx, m, Canceled)
}

// Sweep deletes some rows of a model that has ended, and first cancels its execution if it was
// given up. It reports whether there was one.
func (s rebuilder) Sweep(ctx context.Context) (swept bool, err error) {
	var old []Model
	err = s.Read(ctx, "sweep", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		old, err = models(ctx, tx, "status > 2 AND swept = 0 ORDER BY num LIMIT 1")
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
		reason := "the rebuild was given up: " + m.Object + " is to be shared in another way by now"
		if err := s.runs.Submit(ctx, m.tenant, id, flow.Cancel{Reason: reason}); err != nil {
			return false, err
		}
	}
	return true, s.Write(ctx, "sweep", func(ctx context.Context, tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM sharing_share WHERE tenant_id = $1 AND model = $2
			AND (record_id, grantee, cause, cause_id) IN (SELECT record_id, grantee, cause, cause_id FROM sharing_share
				WHERE tenant_id = $1 AND model = $2 ORDER BY record_id LIMIT $3)`, m.tenant, m.num, s.cfg.limits.sweep)
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
