package automation

import (
	"context"
	"errors"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// How graphs are started.
const (
	maxStarts  = 100 // of one look at the table
	maxTries   = 10
	firstRetry = time.Second // doubled with each try
)

// errGone says that somebody else did what was to be done.
var errGone = errors.New("automation: it was done meanwhile")

// changed is errGone of a statement that changed nothing.
func changed(n int64, err error) error {
	if err == nil && n == 0 {
		err = errGone
	}
	return err
}

// starter starts the graphs of actions.
type starter struct{ *Automation }

// order is a graph that is to be started.
type order struct {
	tenant, event, rule, key, record string
	graph, input                     string
	tries                            int
}

func (o *order) args(more ...any) []any {
	return append([]any{o.tenant, o.event, o.rule, o.key, o.record}, more...)
}

// thisOrder is the row of an order that is still pending.
const thisOrder = " WHERE tenant_id = $1 AND event_id = $2 AND rule_id = $3 AND action_key = $4 AND record_id = $5 " +
	"AND outcome = 2"

const selectStarts = `SELECT tenant_id, event_id, rule_id, action_key, record_id, graph_id, input, tries
	FROM automation_run WHERE outcome = 2 AND retry_at <= $1 ORDER BY retry_at LIMIT $2`

// startGraphs starts some graphs that are to be started, and reports whether there were any.
func (s starter) startGraphs(ctx context.Context) (worked bool, err error) {
	var orders []order
	err = s.Read(ctx, "starts", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		orders, err = sqldb.Collect(ctx, tx, func(row *sqldb.Row) (o order, err error) {
			err = row.Scan(&o.tenant, &o.event, &o.rule, &o.key, &o.record, &o.graph, &o.input, &o.tries)
			return o, err
		}, selectStarts, s.now(), maxStarts)
		return err
	})
	for i := range orders {
		if err != nil || ctx.Err() != nil {
			break
		}
		err = s.startGraph(ctx, &orders[i])
	}
	return len(orders) > 0, err
}

// startGraph starts a graph and notes that it was started, in one transaction.
func (s starter) startGraph(ctx context.Context, o *order) error {
	_, err := s.cfg.Engine.Do(context.WithoutCancel(ctx), engine.Unit{
		Before: func(ctx context.Context, tx *sqldb.Tx) error {
			return changed(tx.Exec(ctx, "UPDATE automation_run SET tries = tries + 1"+thisOrder, o.args()...))
		},
		Commands: []engine.Request{{
			Tenant: o.tenant, GraphID: o.graph, Start: true, Command: flow.Create{Input: flow.Data(o.input)},
			CorrelationID: o.event, Actor: flow.Actor{Kind: flow.KindSystem, ID: "automation"},
		}},
		After: func(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
			if refused := results[0].Answer.Refused; refused != nil {
				return refused
			}
			_, err := tx.Exec(ctx, "UPDATE automation_run SET outcome = 1, input = '', result = $6"+thisOrder,
				o.args(results[0].Answer.Execution.String())...)
			return err
		},
	})
	switch {
	case err == nil || errors.Is(err, errGone):
		return nil
	case fault.Passes(err):
		return fault.Wrap("automation.start", err)
	}
	s.cfg.Log.WarnContext(ctx, "a graph could not be started", "error", err, "tenant", o.tenant, "eventId", o.event)
	return s.startLater(ctx, o, err)
}

// startLater notes that a graph could not be started. It is tried again, unless that cannot
// help.
func (s starter) startLater(ctx context.Context, o *order, cause error) error {
	outcome, again := pending, s.now()+canonical.Stamp((firstRetry<<o.tries).Milliseconds())
	if o.tries+1 >= maxTries || fault.KindOf(cause) != fault.Internal {
		outcome = failed
	}
	return s.Write(ctx, "later", func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE automation_run SET tries = tries + 1, outcome = $6, error = $7, retry_at = $8"+
			thisOrder, o.args(outcome, messageOf(cause), again)...)
		return err
	})
}
