package inbound

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Proof is what a sender has shown. Secret is what it shows of the trigger's secret.
type Proof struct {
	Secret string
	// Trusted lets it post to any trigger, Local to those without a secret. Known is who has a token that does not.
	Trusted, Local, Known bool
}

// refusal is the answer to a sender who may not.
func (p *Proof) refusal() error {
	if p.Known {
		return fault.New(fault.Forbidden, "", "this needs the scope %s, or the secret of the trigger", scopeSend).With(
			map[string]string{"scope": scopeSend})
	}
	return fault.New(fault.Unauthorized, "", "%s", msgSecret).Because(fault.RefusedToken)
}

// may reports whether a sender may post to a trigger.
func (p *Proof) may(s *StoredTrigger) bool {
	return p.Trusted || shows(p.Secret, s.secret) || p.Local && s.secret == ""
}

// Fired is what an event led to: an execution that it started, or the one that its key started before, or none.
type Fired struct {
	Duplicate bool   `json:"duplicate"`
	Triggered bool   `json:"triggered"`
	Trigger   string `json:"triggerId"`
	Graph     string `json:"graphId"`
	Key       string `json:"key,omitzero"`
	Execution string `json:"executionId,omitzero"` // "": the condition of the trigger does not hold
}

const (
	msgSecret   = "The secret of the trigger is missing or wrong."
	msgUnwanted = "The condition of the trigger does not hold."
)

// unwanted is why an event was left undone that its trigger does not ask for.
var unwanted = fault.Reason{Code: "condition_not_met", Advice: fault.DoNotRetry}

// aim is what an event leads to, as far as it is known.
type aim struct {
	StoredTrigger
	order
	changes int64 // of templates and triggers that were seen
	now     canonical.Stamp
	started *start // by the key, before
	doubt   *audit.Entry
}

// start is what a key has started.
type start struct {
	run, graph string
	at         canonical.Stamp
}

// Fire starts the execution that an event asks for, once for a key. Like Deliver it has put what it answers into the
// audit log, or into the backlog.
func (t *Triggers) Fire(ctx context.Context, call Caller, p Proof, e Event) (Fired, error) {
	d := Delivery{Trigger: e.Trigger, Key: e.Key}
	for range maxLooks {
		a, err := t.look(ctx, call.Tenant, &p, &e)
		if err == nil {
			d.Key = a.key
			var run string
			if a.started == nil && a.input != nil {
				run, err = t.start(ctx, call, &d, &a)
			}
			if err == nil {
				return t.conclude(ctx, call, &d, &a, run)
			}
		}
		switch {
		case errors.Is(err, errAgain):
			continue
		case fault.KindOf(err) != fault.Internal && fault.KindOf(err) != fault.Unavailable:
			return Fired{}, t.refuse(ctx, call, &d, err)
		}
		return Fired{}, t.in.fail(ctx, call, &d, ending{}, a.doubt, err)
	}
	return Fired{}, t.in.fail(ctx, call, &d, ending{}, nil, errRestless)
}

// Refuse stores that an event was not let in, and gives the error to answer with.
func (t *Triggers) Refuse(ctx context.Context, call Caller, trigger string, err error) error {
	return t.in.fail(ctx, call, &Delivery{Trigger: trigger}, ending{}, nil, err)
}

// look decides about an event by what is committed.
func (t *Triggers) look(ctx context.Context, tenant string, p *Proof, e *Event) (a aim, err error) {
	found := false
	err = t.in.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		a, found = aim{}, false
		stmts := []sqldb.Stmt{
			{
				Query: "SELECT templates FROM trigger_tenant WHERE tenant_id = $1", Args: []any{tenant},
				Row: func(r *sqldb.Row) error { return r.Scan(&a.changes) },
			},
			{
				Query: selectTrigger, Args: []any{tenant, e.Trigger},
				Row: func(r *sqldb.Row) (err error) {
					found = true
					a.StoredTrigger, err = scanTrigger(r)
					return err
				},
			},
		}
		if clock := t.in.clock(&a.now); clock != nil {
			stmts = append(stmts, *clock)
		}
		return tx.Batch(ctx, stmts...)
	})
	switch {
	case err != nil:
		return a, fault.Wrap("inbound.look", err)
	case !p.may(&a.StoredTrigger) && (found || !p.Local): // who may post to none does not learn which there are
		return a, p.refusal()
	case !found:
		return a, noTrigger(e.Trigger)
	}
	if a.order, err = a.read(e, a.now); err != nil || a.input == nil || !a.keyed() {
		return a, err
	}
	err = t.in.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Batch(ctx, a.receipt(tenant))
	})
	a.drop(t.in.oldest(a.now))
	return a, fault.Wrap("inbound.look", err)
}

// receipt is the statement that reads what the key has started.
func (a *aim) receipt(tenant string) sqldb.Stmt {
	a.started = nil
	return sqldb.Stmt{
		Query: `SELECT run_id, graph_id, at FROM trigger_start
			WHERE tenant_id = $1 AND trigger_id = $2 AND period = $3 AND idempotency_key = $4`,
		Args: []any{tenant, a.ID, a.period, a.key},
		Row: func(r *sqldb.Row) error {
			a.started = &start{}
			return r.Scan(&a.started.run, &a.started.graph, &a.started.at)
		},
	}
}

// drop drops a receipt that does not count any more. One of a day or a month counts as long as that lasts.
func (a *aim) drop(oldest canonical.Stamp) {
	if a.started != nil && a.period == "" && a.started.at < oldest {
		a.started = nil
	}
}

// start starts the execution of an order. errAgain: what it goes by has changed.
func (t *Triggers) start(ctx context.Context, call Caller, d *Delivery, a *aim) (run string, err error) {
	if _, err := t.in.turns.take(ctx, call.Tenant); err != nil {
		return "", err
	}
	defer t.in.turns.give(call.Tenant)
	u := firing{t: t.in, call: call, d: d, aim: a, changes: a.changes}
	results, err := t.in.cfg.Engine.Do(context.WithoutCancel(ctx), engine.Unit{
		Before: u.before,
		Commands: []engine.Request{{
			Tenant: call.Tenant, GraphID: a.Graph, Start: true, Command: flow.Create{Input: a.input},
			CorrelationID: call.CorrelationID, Actor: flow.Actor{Kind: flow.KindExternal, ID: d.sender()},
		}},
		After: u.after,
	})
	switch {
	case err == nil:
		a.started = nil
		return results[0].Answer.Execution.String(), nil
	case errors.Is(err, errFound):
		return "", nil
	case errors.Is(err, errAgain):
		return "", errAgain
	case fault.KindOf(err) == fault.Unavailable:
		if failure, _ := fault.As(err); failure != nil && failure.Code == codeUnknown {
			a.doubt = u.noted
		}
		return "", err
	case fault.KindOf(err) == fault.RateLimited: // the sender need not know of commands that others send
		busy := fault.Overloaded("too much is waiting; the event was not taken, send it again")
		busy.Err = err
		return "", busy
	case fault.KindOf(err) == fault.Internal:
		return "", &fault.Error{Kind: fault.Internal, Op: "inbound.fire", Message: msgInternal, Err: err}
	}
	return "", err
}

// firing is an event's part in the transaction that starts its execution. It may run more than once.
type firing struct {
	*aim
	t       *Deliveries
	call    Caller
	d       *Delivery
	changes int64
	noted   *audit.Entry // of the execution, as far as it has come
}

// before holds the tenant and asks again what may have changed.
func (f *firing) before(ctx context.Context, tx *sqldb.Tx) error {
	var receipts, changes int64
	stmts := []sqldb.Stmt{lockStmt(f.call.Tenant, &receipts, &changes)}
	if clock := f.t.clock(&f.now); clock != nil {
		stmts = append(stmts, *clock)
	}
	if f.keyed() {
		stmts = append(stmts, f.receipt(f.call.Tenant))
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	f.drop(f.t.oldest(f.now))
	switch {
	case changes != f.changes:
		return errAgain
	case f.started != nil:
		return errFound
	}
	return nil
}

// after stores what was started.
func (f *firing) after(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
	ans := &results[0].Answer
	if ans.Refused != nil {
		return fault.Wrap("inbound.fire", ans.Refused)
	}
	end := ending{about: about{run: ans.Execution.String()}, outcome: audit.Accepted}
	entry, err := end.entry(f.call, f.d, f.now)
	if err != nil {
		return err
	}
	f.noted = &entry
	var stmts []sqldb.Stmt
	if f.keyed() {
		stmts = f.remember(end.run)
	}
	return end.put(ctx, tx, &entry, stmts...)
}

// longestPeriod is how long receipts are kept at least: a month counts to its end.
const longestPeriod = 32 * day

// remember writes the receipt of a key, in place of one that does not count any more, and deletes some of those.
func (f *firing) remember(run string) []sqldb.Stmt {
	gone := min(f.t.oldest(f.now), f.now-canonical.Stamp(longestPeriod.Milliseconds()))
	return []sqldb.Stmt{
		{
			Query: `INSERT INTO trigger_start (tenant_id, trigger_id, period, idempotency_key, run_id, graph_id, at)
				VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (tenant_id, trigger_id, period, idempotency_key) DO UPDATE SET run_id = excluded.run_id,
				graph_id = excluded.graph_id, at = excluded.at`,
			Args: []any{f.call.Tenant, f.ID, f.period, f.key, run, f.Graph, f.now},
		},
		{
			Query: `DELETE FROM trigger_start WHERE tenant_id = $1 AND (trigger_id, period, idempotency_key) IN
				(SELECT trigger_id, period, idempotency_key FROM trigger_start WHERE tenant_id = $1 AND at < $2
				ORDER BY at LIMIT $3)`,
			Args: []any{f.call.Tenant, gone, trimChunk},
		},
	}
}

// conclude gives the answer, and stores how the event ended unless its execution has done so.
func (t *Triggers) conclude(ctx context.Context, call Caller, d *Delivery, a *aim, run string) (Fired, error) {
	out := Fired{Trigger: a.ID, Graph: a.Graph, Key: a.key, Triggered: run != "", Execution: run}
	end := ending{outcome: audit.Skipped}
	switch {
	case run != "":
		return out, nil
	case a.started != nil:
		out.Duplicate, out.Execution, out.Graph = true, a.started.run, a.started.graph
		end.run, end.message, end.reason = out.Execution, msgDuplicate, fault.DuplicateKey
	default:
		end.message, end.reason = msgUnwanted, unwanted
	}
	if err := t.note(ctx, call, d, end); err != nil {
		return Fired{}, t.in.fail(ctx, call, d, end, nil, unlogged(err))
	}
	return out, nil
}

// refuse stores that an event was refused, and gives the refusal.
func (t *Triggers) refuse(ctx context.Context, call Caller, d *Delivery, refusal error) error {
	var end ending
	end.because(refusal)
	if err := t.note(ctx, call, d, end); err != nil {
		return t.in.fail(ctx, call, d, ending{}, nil, unlogged(err))
	}
	return refusal
}

// note writes how an event ended.
func (t *Triggers) note(ctx context.Context, call Caller, d *Delivery, end ending) error {
	return t.in.put(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := t.in.now(ctx, tx)
		if err != nil {
			return err
		}
		entry, err := end.entry(call, d, now)
		if err != nil {
			return err
		}
		return end.put(ctx, tx, &entry)
	})
}
