package recheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// maxSettles is how often a batch is looked at anew because its request was cancelled
// meanwhile. That happens once.
const maxSettles = 4

// errMoved says that a request is not where it was when it was looked at.
var errMoved = errors.New("recheck: the request has moved on")

// settle stores the outcomes of a batch whose execution has ended and starts the next one, in one
// transaction: it happens once, whoever tries it and however often.
func (r *Rechecks) settle(ctx context.Context, tenant, execution string) (err error) {
	for range maxSettles {
		var s *settling
		if s, err = r.prepare(ctx, tenant, execution); err == nil {
			err = s.do(ctx)
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	return fault.Wrap("recheck.settle", err)
}

// settling is a batch on its way to be settled. What the execution says is final; its
// parts may run more than once.
type settling struct {
	r          *Rechecks
	tenant     string
	execution  string
	was        *request // nil: nobody waits for the execution
	strategies []string // of the batch
	outcomes   []outcome
	ids        [][]string // of the artifacts of each
	stopped    bool       // somebody has cancelled the execution itself
	next       []string   // strategies of the batch that follows
}

// prepare reads what is to be stored.
func (r *Rechecks) prepare(ctx context.Context, tenant, execution string) (*settling, error) {
	s := &settling{r: r, tenant: tenant, execution: execution}
	err := r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		q, err := scanRequest(tx.Row(ctx, selectByExecution, tenant, execution))
		if errors.Is(err, sqldb.ErrNoRow) {
			return nil
		}
		if err != nil {
			return err
		}
		s.was = &q
		low, high := q.span()
		if s.strategies, err = strategiesOf(ctx, tx, tenant, q.id, low, high); err != nil || q.status.Ended() {
			return err
		}
		s.next, err = strategiesOf(ctx, tx, tenant, q.id, high, min(high+q.batchSize, q.total))
		return err
	})
	if err != nil || s.was == nil {
		return s, err
	}
	state, outcomes, err := r.batch(ctx, tenant, execution, len(s.strategies), r.outcome)
	if err != nil {
		return nil, err
	}
	if !state.Status.Terminal() {
		return nil, fmt.Errorf("recheck: execution %s has not ended", execution)
	}
	s.outcomes = outcomes
	if s.stopped = state.Status == flow.Canceled; s.stopped {
		s.next = nil
	}
	s.ids = make([][]string, len(outcomes))
	for i := range outcomes {
		for range outcomes[i].artifacts {
			s.ids[i] = append(s.ids[i], newULID(time.UnixMilli(int64(outcomes[i].at))))
		}
	}
	return s, nil
}

// reader reads the outcome of a node.
type reader func(ctx context.Context, tenant string, id flow.ID, node *flow.Node) (outcome, error)

// batch reads the execution of a batch of n strategies: its state, and what it says of each.
func (r *Rechecks) batch(
	ctx context.Context, tenant, execution string, n int, read reader,
) (*flow.State, []outcome, error) {
	id, err := flow.ParseID(execution)
	if err != nil {
		return nil, nil, err
	}
	view, err := r.cfg.Engine.Execution(ctx, tenant, id, 0)
	if err != nil {
		return nil, nil, err
	}
	outcomes := make([]outcome, n)
	for i := range outcomes {
		node, _ := view.State.Find(nodeOf(i))
		if node == nil {
			return nil, nil, fmt.Errorf("recheck: execution %s has no node %s", execution, nodeOf(i))
		}
		if outcomes[i], err = read(ctx, tenant, id, node); err != nil {
			return nil, nil, err
		}
		if view.State.Status.Terminal() && outcomes[i].status < ItemSucceeded {
			outcomes[i] = outcome{status: ItemCanceled, at: canonical.Stamp(view.State.EndedAt)}
		}
	}
	return &view.State, outcomes, nil
}

// output is what a node put out.
func (r *Rechecks) output(ctx context.Context, tenant string, id flow.ID, node *flow.Node) (flow.Data, error) {
	if node.Output.Seq == 0 {
		return node.Output.Inline, nil
	}
	events, _, err := r.cfg.Engine.Events(ctx, tenant, id, node.Output.Seq, 1)
	if err != nil || len(events) == 0 {
		return nil, errors.Join(err,
			fmt.Errorf("recheck: execution %v: event %d cannot be read", id, node.Output.Seq))
	}
	return flow.DataOf(events[0].Payload), nil
}

// do settles the batch: with a command if another one follows, without one if not.
func (s *settling) do(ctx context.Context) error {
	if len(s.next) == 0 {
		return s.r.write(ctx, "recheck.settle", func(ctx context.Context, tx *sqldb.Tx) error {
			if s.was == nil {
				return tx.Batch(ctx, s.r.Settled(s.tenant, s.execution))
			}
			return s.save(ctx, tx, "")
		})
	}
	call := Caller{Tenant: s.tenant, Subject: s.was.actor, CorrelationID: s.was.correlationID}
	create, err := s.r.creation(ctx, &call, &errand{RequestID: s.was.id, Batch: s.was.batch + 1, brief: s.was.brief},
		s.next)
	if err != nil {
		return err
	}
	_, err = s.r.cfg.Engine.Do(ctx, engine.Unit{Commands: []engine.Request{create}, After: started(s.save)})
	return err
}

// save stores the outcomes, and that the next execution runs, "" when none does. The request is
// locked from here on; if it is not as it was, nothing may be written.
func (s *settling) save(ctx context.Context, tx *sqldb.Tx, next string) error {
	q, err := find(ctx, tx, s.tenant, s.was.id, forUpdate(tx))
	if err != nil {
		return err
	}
	if q.execution != s.execution || q.status.Ended() != s.was.status.Ended() {
		return errMoved
	}
	now, err := s.r.now(ctx, tx)
	if err != nil {
		return err
	}
	stmts := []sqldb.Stmt{s.r.Settled(s.tenant, s.execution)}
	low, high := q.span()
	for i := range s.outcomes {
		part, err := s.item(q.id, low+i+1, i, now)
		if err != nil {
			return err
		}
		stmts = append(stmts, part...)
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	if err := s.apply(ctx, tx); err != nil {
		return err
	}
	q.execution, q.updatedAt = next, now
	switch {
	case next != "":
		q.batch, q.status = q.batch+1, Running
	case q.status.Ended(): // it was cancelled
	case s.stopped:
		q.status = Canceled
		if err := cancelRest(ctx, tx, s.tenant, q.id, high); err != nil {
			return err
		}
	default:
		if q.status, err = s.ending(ctx, tx, q.id); err != nil {
			return err
		}
	}
	return tx.Batch(ctx, q.update(s.tenant))
}

// ending asks how all items have ended.
func (s *settling) ending(ctx context.Context, tx *sqldb.Tx, id string) (Status, error) {
	parts, err := countItems(ctx, tx, s.tenant, id, 0, 0)
	all := &parts[1] // they are above 0
	return ending(all[ItemSucceeded], all[ItemFailed], all[ItemCanceled]), err
}

// cancelRest cancels the items behind a batch.
func cancelRest(ctx context.Context, tx *sqldb.Tx, tenant, id string, high int) error {
	_, err := tx.Exec(ctx, "UPDATE pdca_item SET status = $4 WHERE tenant_id = $1 AND request_id = $2 AND n > $3",
		tenant, id, high, int64(ItemCanceled))
	return err
}

// item is the statements that store one outcome.
func (s *settling) item(request string, n, i int, now canonical.Stamp) (stmts []sqldb.Stmt, err error) {
	o := &s.outcomes[i]
	refs := make([]ArtifactRef, len(o.artifacts))
	for k, a := range o.artifacts {
		refs[k] = ArtifactRef{s.ids[i][k], a.Name, a.MediaType, len(a.Content)}
		stmts = append(stmts, sqldb.Stmt{
			Query: `INSERT INTO pdca_artifact (tenant_id, id, request_id, strategy, name, media_type, content,
				created_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			Args: []any{s.tenant, refs[k].ID, request, s.strategies[i], a.Name, a.MediaType, a.Content, int64(now)},
		})
	}
	stmts = append(stmts, sqldb.Stmt{
		Query: "UPDATE pdca_item SET status = $4 WHERE tenant_id = $1 AND request_id = $2 AND n = $3",
		Args:  []any{s.tenant, request, n, int64(o.status)},
	})
	if o.result == nil && o.failure == nil {
		return stmts, nil
	}
	result, err := withArtifacts(o.result, refs)
	if err != nil {
		return nil, err
	}
	failure, err := o.failure.text()
	return append(stmts, sqldb.Stmt{
		Query: "INSERT INTO pdca_result (tenant_id, request_id, n, result, error) VALUES ($1, $2, $3, $4, $5)",
		Args:  []any{s.tenant, request, n, string(result), failure},
	}), err
}

// apply stores what was found out about the strategies.
func (s *settling) apply(ctx context.Context, tx *sqldb.Tx) error {
	revision, _, err := lock(ctx, tx, s.tenant)
	if err != nil {
		return err
	}
	rows, err := byIDs(ctx, tx, s.tenant, s.strategies)
	if err != nil {
		return err
	}
	var stmts []sqldb.Stmt
	for _, was := range rows {
		after, changed := s.outcomes[slices.Index(s.strategies, was.ID)].check(was)
		if !changed {
			continue
		}
		revision++
		save, err := saveStmt(s.tenant, &after, revision)
		if err != nil {
			return err
		}
		stmts = append(stmts, save)
	}
	if len(stmts) == 0 {
		return nil
	}
	return tx.Batch(ctx, append(stmts, sqldb.Stmt{
		Query: "UPDATE pdca_tenant SET revision = $2 WHERE tenant_id = $1", Args: []any{s.tenant, revision},
	})...)
}
