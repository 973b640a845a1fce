package recheck

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/oklog/ulid/v2"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Answer is what a request led to. It is stored with the key, so a repetition gives an equal one.
type Answer struct {
	RequestID string `json:"request_id"`
	Status    Status `json:"status"`
	DryRun    bool   `json:"dry_run"`
	Total     int    `json:"total"`
}

// Accept stores a request and starts its first batch, in one transaction, or, of a dry run, stores
// what it would do. A known key gives the answer of its first time. Nothing is left of what was
// refused.
func (r *Rechecks) Accept(ctx context.Context, call Caller, o Order, key canonical.IdempotencyKey) (Answer, error) {
	a := accepting{r: r, call: call, key: key, order: o}
	ans, err := a.do(ctx)
	return ans, fault.Wrap("recheck.accept", err)
}

// accepting is an order on its way to be a request. Its parts may run more than once.
type accepting struct {
	r          *Rechecks
	call       Caller
	order      Order
	key        canonical.IdempotencyKey
	strategies []string // that are to be checked, in their order
	id         string
	answer     Answer
	now        canonical.Stamp
}

func (a *accepting) do(ctx context.Context) (Answer, error) {
	if known, err := a.recall(ctx); known || err != nil {
		return a.answer, err
	}
	if err := a.resolve(ctx); err != nil {
		return Answer{}, err
	}
	if len(a.strategies) == 0 || a.order.dryRun {
		err := a.r.write(ctx, "recheck.plan", func(ctx context.Context, tx *sqldb.Tx) error {
			if err := a.idempotent(ctx, tx); err != nil {
				return err
			}
			return a.save(ctx, tx, "")
		})
		return a.settled(err)
	}
	if a.r.cfg.Down() {
		return Answer{}, errDown
	}
	first := a.strategies[:min(a.order.batchSize, len(a.strategies))]
	create, err := a.r.creation(ctx, &a.call, &errand{RequestID: a.newID(), Batch: 1, brief: a.order.brief}, first)
	if err != nil {
		return Answer{}, err
	}
	// The answer is waited for: what began may have happened.
	_, err = a.r.cfg.Engine.Do(context.WithoutCancel(ctx), engine.Unit{
		Before: a.idempotent, Commands: []engine.Request{create}, After: started(a.save),
	})
	return a.settled(err)
}

// started stores with save which execution a command started.
func started(save func(ctx context.Context, tx *sqldb.Tx, execution string) error) func(
	context.Context, *sqldb.Tx, []engine.Result,
) error {
	return func(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
		ans := &results[0].Answer
		if ans.Refused != nil {
			return fault.Wrap("recheck.start", ans.Refused)
		}
		return save(ctx, tx, ans.Execution.String())
	}
}

// errDown is the answer while those who check cannot be reached.
var errDown = &fault.Error{
	Kind: fault.Unavailable, Code: "AIRFLOW_DOWN", RetryAfter: 10 * time.Second,
	Message: "Airflow does not answer; nothing was accepted, send it again with the same key",
}

// errKnown says that the key of a request has an answer.
var errKnown = errors.New("recheck: the key has an answer")

// settled is the answer of a transaction that ended with err.
func (a *accepting) settled(err error) (Answer, error) {
	if errors.Is(err, errKnown) {
		err = nil
	}
	return a.answer, err
}

// creation is the command that starts the execution of a batch.
func (r *Rechecks) creation(ctx context.Context, call *Caller, e *errand, strategies []string) (engine.Request, error) {
	version, err := r.version(ctx, call.Tenant, len(strategies))
	if err != nil {
		return engine.Request{}, err
	}
	input, err := e.input(strategies)
	return engine.Request{
		Tenant: call.Tenant, GraphID: graphID(len(strategies)), GraphVersion: version, Start: true,
		Command: flow.Create{Input: input}, Actor: call.actor(), CorrelationID: call.CorrelationID,
	}, err
}

// newID is the id of the request, always the same.
func (a *accepting) newID() string {
	if a.id == "" {
		at := time.Now()
		if a.r.cfg.Now != nil {
			at = a.r.cfg.Now()
		}
		a.id = newULID(at)
	}
	return a.id
}

func newULID(at time.Time) string {
	return ulid.MustNew(ulid.Timestamp(at), rand.Reader).String() // rand.Reader never fails
}

// recall looks the key up before anything is done for it.
func (a *accepting) recall(ctx context.Context) (known bool, err error) {
	err = a.r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := a.r.now(ctx, tx)
		if err != nil {
			return err
		}
		stored, err := a.r.keys.Recall(ctx, tx, idempotency.Request{Tenant: a.call.Tenant, Key: &a.key, At: now})
		if known = stored != nil; known && err == nil {
			err = json.Unmarshal(stored, &a.answer)
		}
		return explain(err)
	})
	return known, err
}

// explain puts what a conflict of keys is about into its message: the errors of this
// surface have no other place for it.
func explain(err error) error {
	failure, ok := fault.As(err)
	if !ok || failure.Code != "IDEMPOTENCY_CONFLICT" {
		return err
	}
	details, _ := failure.Details.(map[string]any)
	differs, _ := details["differs"].([]string)
	return fault.New(fault.Conflict, failure.Code,
		"the Idempotency-Key was used before with a body that differs in %s; it was first used at %v and is free "+
			"again at %v; repeat the first request unchanged or use a new key",
		strings.Join(differs, ", "), details["firstUsedAt"], details["expiresAt"])
}

// resolve finds the strategies that the order is about.
func (a *accepting) resolve(ctx context.Context) error {
	if a.order.named == nil {
		ids, total, err := a.r.strategies.match(ctx, a.call.Tenant, a.order.filter, MaxTotal)
		if err == nil && total > MaxTotal {
			err = unfit("filter matches %d strategies, and a request has at most %d; make it narrower", total, MaxTotal)
		}
		a.strategies = ids
		return err
	}
	a.strategies = a.order.named
	unknown, err := a.r.strategies.unknown(ctx, a.call.Tenant, a.strategies)
	if err != nil || len(unknown) == 0 {
		return err
	}
	const few = 5
	more := ""
	if n := len(unknown) - few; n > 0 {
		unknown, more = unknown[:few], " and "+strconv.Itoa(n)+" more"
	}
	return fault.New(fault.NotFound, "", "there is no strategy %s%s; register it with PUT /pdca/strategies/{id}",
		strings.Join(unknown, ", "), more)
}

// idempotent makes the answer and stores it with the key; errKnown when the key has one.
func (a *accepting) idempotent(ctx context.Context, tx *sqldb.Tx) (err error) {
	if a.now, err = a.r.now(ctx, tx); err != nil {
		return err
	}
	r := idempotency.Request{Tenant: a.call.Tenant, Key: &a.key, At: a.now}
	answer, known, err := idempotency.DoJSON(ctx, tx, a.r.keys, r, func() (Answer, error) {
		ans := Answer{RequestID: a.newID(), Status: Queued, DryRun: a.order.dryRun, Total: len(a.strategies)}
		if ans.DryRun || ans.Total == 0 {
			ans.Status = Succeeded
		}
		return ans, nil
	})
	if err != nil {
		return explain(err)
	}
	if a.answer = answer; known {
		return errKnown
	}
	return nil
}

// save stores the request and its items.
func (a *accepting) save(ctx context.Context, tx *sqldb.Tx, execution string) error {
	q := request{
		id: a.answer.RequestID, status: a.answer.Status, dryRun: a.order.dryRun, brief: a.order.brief,
		total: len(a.strategies), batchSize: a.order.batchSize, execution: execution,
		actor: a.call.Subject, correlationID: a.call.CorrelationID, createdAt: a.now, updatedAt: a.now,
	}
	status := ItemPlanned
	if execution != "" {
		q.batch, status = 1, ItemQueued
	}
	insert, err := q.insert(a.call.Tenant)
	if err != nil {
		return err
	}
	var items []any
	for i, strategy := range a.strategies {
		items = append(items, a.call.Tenant, q.id, i+1, strategy, int64(status))
	}
	return tx.Batch(ctx, append([]sqldb.Stmt{insert}, insertItems.Stmts(tx, items)...)...)
}
