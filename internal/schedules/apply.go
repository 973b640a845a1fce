package schedules

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// verdict is the decision about one schedule, on its way into the database.
type verdict struct {
	row
	*decision
	input flow.Data // of the execution that is started
	now   canonical.Stamp
}

// errChanged says that somebody else changed a schedule after it was read.
var errChanged = errors.New("schedules: the schedule was changed meanwhile")

// decideAll decides about claimed schedules of a tenant.
func (s *Schedules) decideAll(ctx context.Context, tenant string, held []row) error {
	slices.SortFunc(held, func(a, b row) int { return strings.Compare(a.ID, b.ID) }) // rows are locked in this order
	var all []facts
	err := s.read(ctx, "facts", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		all, err = s.factsOf(ctx, tx, tenant, held)
		return err
	})
	if err != nil {
		return err
	}
	verdicts := make([]*verdict, len(held))
	for i := range held {
		v := &verdict{row: held[i], decision: decide(&all[i]), now: all[i].now}
		if v.start >= 0 {
			r := &v.runs[v.start]
			if v.input, err = v.inputFor(v.ID, r.DueAt, r.Origin); err != nil {
				return fault.Wrap("schedules.input", err)
			}
		}
		verdicts[i] = v
	}
	return s.apply(ctx, tenant, verdicts)
}

// factsOf is what the decisions about some schedules go by.
func (s *Schedules) factsOf(ctx context.Context, tx *sqldb.Tx, tenant string, held []row) ([]facts, error) {
	now, err := s.now(ctx, tx)
	if err != nil {
		return nil, err
	}
	all := make([]facts, len(held))
	for i := range held {
		if all[i], err = s.facts(ctx, tx, tenant, &held[i], now); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *Schedules) facts(
	ctx context.Context, tx *sqldb.Tx, tenant string, r *row, now canonical.Stamp,
) (f facts, err error) {
	f = facts{
		overlap: r.Overlap, catchUp: time.Duration(r.CatchUp), paused: r.Paused, next: r.NextAt, since: r.StartedAt,
		now: now,
	}
	if f.timing, err = r.timing(); err != nil {
		return f, err
	}
	if r.ExecutionID != "" {
		active, err := s.cfg.Active(ctx, tx, tenant, r.ExecutionID)
		if err != nil {
			return f, err
		}
		if active {
			f.active = r.ExecutionID
		}
	}
	if r.Queued > 0 {
		err = f.waiting(ctx, tx, tenant, r.ID)
	}
	return f, err
}

// waiting reads the instants that wait, those of the schedule itself and those of backfills.
func (f *facts) waiting(ctx context.Context, tx *sqldb.Tx, tenant, id string) error {
	type group struct {
		origin Origin
		n      int
		first  canonical.Stamp
	}
	groups, err := sqldb.Collect(ctx, tx, func(row *sqldb.Row) (g group, err error) {
		err = row.Scan(&g.origin, &g.n, &g.first)
		return g, err
	}, `SELECT origin, count(*), min(due_at) FROM schedules_run
		WHERE tenant_id = $1 AND schedule_id = $2 AND outcome = 4 GROUP BY origin`, tenant, id)
	for _, g := range groups {
		if g.origin == ByBackfill {
			f.filling, f.fill = g.n, g.first
		} else {
			f.queued, f.oldest = g.n, g.first
		}
	}
	return err
}

// apply stores verdicts and starts what they start, in one transaction. When that fails for a reason of one of them,
// each is tried alone.
func (s *Schedules) apply(ctx context.Context, tenant string, all []*verdict) error {
	err := s.commit(ctx, tenant, all)
	switch {
	case err == nil:
		s.counts.add(all)
		return nil
	case fault.Passes(err) || ctx.Err() != nil:
		return err // the claim runs out, and somebody decides again
	case len(all) > 1:
		err = nil
		for i := range all {
			if err = errors.Join(err, s.apply(ctx, tenant, all[i:i+1])); fault.Passes(err) {
				break
			}
		}
		return err
	case errors.Is(err, errChanged):
		return nil
	case all[0].input != nil && fault.KindOf(err) != fault.Internal:
		all[0].refuse(err)
		return s.apply(ctx, tenant, all)
	}
	return fault.Wrap("schedules.apply", err)
}

// refuse makes the start of a verdict a refusal.
func (v *verdict) refuse(err error) {
	r := &v.runs[v.start]
	r.Outcome, r.Reason, r.Overlapped, v.cancels, v.input = Skipped, Refused, "", "", nil
	if failure, ok := fault.As(err); ok {
		r.Message = failure.Message[:min(len(failure.Message), maxMessage)]
	}
	r.Message = strings.ToValidUTF8(r.Message, "")
	if !v.waited {
		v.start = -1
	}
}

// maxMessage is how many bytes of the reason of a refusal are stored.
const maxMessage = 1024

// commit is one transaction.
func (s *Schedules) commit(ctx context.Context, tenant string, all []*verdict) error {
	u := &unit{s: s, tenant: tenant, all: all}
	for _, v := range all {
		if err := u.plan(v); err != nil {
			return err
		}
	}
	if len(u.commands) == 0 {
		return s.write(ctx, "decide", func(ctx context.Context, tx *sqldb.Tx) error {
			if err := u.before(ctx, tx); err != nil {
				return err
			}
			return u.after(ctx, tx, nil)
		})
	}
	_, err := s.cfg.Engine.Do(context.WithoutCancel(ctx), engine.Unit{
		Before: u.before, Commands: u.commands, After: u.after,
	})
	return err
}

// unit is verdicts in a transaction that starts executions. It may run more than once.
type unit struct {
	s        *Schedules
	tenant   string
	all      []*verdict
	commands []engine.Request
	places   []int // of the creation of each verdict among the commands; -1: none
}

// plan adds the commands of a verdict.
func (u *unit) plan(v *verdict) error {
	u.places = append(u.places, -1)
	if v.input == nil {
		return nil
	}
	due := v.runs[v.start].DueAt
	actor, correlation := flow.Actor{Kind: flow.KindScheduler, ID: v.ID}, correlationOf(v.ID, due)
	if v.cancels != "" {
		id, err := flow.ParseID(v.cancels)
		if err != nil {
			return fault.Wrap("schedules.cancel", err)
		}
		u.commands = append(u.commands, engine.Request{
			Tenant: u.tenant, Execution: id, Actor: actor, CorrelationID: correlation,
			Command: flow.Cancel{Reason: "schedule " + v.ID + " was due again at " + due.String()},
		})
	}
	u.places[len(u.places)-1] = len(u.commands)
	u.commands = append(u.commands, engine.Request{
		Tenant: u.tenant, GraphID: v.Graph, Start: true, Command: flow.Create{Input: v.input}, Actor: actor,
		CorrelationID: correlation,
	})
	return nil
}

// correlationOf is the correlation id of the execution for an instant.
func correlationOf(id string, due canonical.Stamp) string {
	return "schedule:" + id + ":" + due.String()
}

// before moves the schedules on, unless somebody else has.
func (u *unit) before(ctx context.Context, tx *sqldb.Tx) error {
	changed := make([]int64, len(u.all))
	stmts := make([]sqldb.Stmt, len(u.all))
	for i, v := range u.all {
		stmts[i] = sqldb.Stmt{
			Query: `UPDATE schedules_schedule SET revision = $4, next_at = $5, look_at = $6, held_until = 0, queued = $7
				WHERE tenant_id = $1 AND id = $2 AND revision = $3`,
			Args:    []any{u.tenant, v.ID, v.revision, v.revision + 1, v.next, v.decision.look, v.queued + v.filling},
			Changed: &changed[i],
		}
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	if slices.Contains(changed, 0) {
		return errChanged
	}
	return nil
}

// after writes the ledger.
func (u *unit) after(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
	var values []any
	var stmts []sqldb.Stmt
	for i, v := range u.all {
		execution := ""
		if at := u.places[i]; at >= 0 {
			if refused := results[at].Answer.Refused; refused != nil {
				return refused
			}
			execution = results[at].Answer.Execution.String()
			stmts = append(stmts, v.startedBy(u.tenant, execution))
		}
		for j := range v.runs {
			r := v.runs[j]
			r.DecidedAt = v.now
			if j == v.start {
				r.ExecutionID = execution
			}
			if j == v.start && v.waited {
				stmts = append(stmts, r.unqueued(u.tenant, v.ID))
				continue
			}
			values = append(values, r.values(u.tenant, v.ID)...)
		}
	}
	return tx.Batch(ctx, append(stmts, insertRuns.Stmts(tx, values)...)...)
}

// startedBy notes the execution that was started last.
func (v *verdict) startedBy(tenant, execution string) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "UPDATE schedules_schedule SET execution_id = $3, started_at = $4 WHERE tenant_id = $1 AND id = $2",
		Args:  []any{tenant, v.ID, execution, v.now},
	}
}

// unqueued notes what became of an instant that waited.
func (r *Run) unqueued(tenant, id string) sqldb.Stmt {
	return sqldb.Stmt{
		Query: `UPDATE schedules_run SET outcome = $5, reason = $6, message = $7, execution_id = $8, decided_at = $9
			WHERE tenant_id = $1 AND schedule_id = $2 AND due_at = $3 AND origin = $4 AND outcome = 4`,
		Args: []any{tenant, id, r.DueAt, r.Origin, r.Outcome, r.Reason, r.Message, r.ExecutionID, r.DecidedAt},
	}
}

// counts are the instants that this process has decided about, by outcome.
type counts [len(outcomes)]atomic.Int64

func (c *counts) add(all []*verdict) {
	for _, v := range all {
		for i := range v.runs {
			c[v.runs[i].Outcome].Add(v.runs[i].Instants)
		}
	}
}

// Count is how many due instants this process has given an outcome.
func (s *Schedules) Count(o Outcome) int64 { return s.counts[o].Load() }
