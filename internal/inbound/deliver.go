package inbound

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const (
	// maxLooks is how often a delivery looks for its template again because templates
	// were changed, or its receipt ran out, while it was decided about.
	maxLooks = 8
	// maxAudit is how long a database may take to put down how a delivery ended, before
	// that is left to the backlog.
	maxAudit = 2 * time.Second
)

// Outcome is what a delivery led to: a run that it started, or the one that its key
// started before.
type Outcome struct {
	Duplicate    bool   `json:"-"`
	TemplateID   string `json:"template_id"`
	TemplateName string `json:"template_name"`
	Action       string `json:"action_key"`
	Key          string `json:"idempotency_key,omitzero"` // "": none
	RunID        string `json:"run_id"`
}

// Deliver starts the run that a delivery asks for, once for a key. Whatever it
// answers is in the audit log by then, or in the backlog when the database is away. Refusals are
// fault.Errors with a reason and the message of the document; what could not be done is Unavailable
// or Internal.
//
// A caller that goes away does not stop a delivery that has begun.
func (t *Deliveries) Deliver(ctx context.Context, call Caller, d Delivery) (Outcome, error) {
	var v view
	for range maxLooks {
		var err error
		v, err = t.look(ctx, call.Tenant, &d)
		if err == nil && v.receipt == nil && v.refusal == nil {
			v, err = t.start(ctx, call, &d, v)
		}
		if err != nil {
			return Outcome{}, t.fail(ctx, call, &d, v.plan.ending(), v.doubt, err)
		}
		out, err := t.conclude(ctx, call, &d, v)
		if !errors.Is(err, errAgain) {
			return out, err
		}
	}
	return Outcome{}, t.fail(ctx, call, &d, v.plan.ending(), nil, errRestless)
}

// errAgain says that what a decision went by has changed meanwhile.
var errAgain = errors.New("inbound: look again")

var errRestless = &fault.Error{
	Kind: fault.Unavailable, Code: "STORAGE_BUSY", RetryAfter: time.Second,
	Message: "the templates changed all the time; nothing was done, send it again",
}

// view is what a delivery leads to, as far as it is known: a receipt, a refusal, or
// a plan that is to be started. With run it has been.
type view struct {
	receipt   *receipt
	refusal   error
	plan      plan
	templates int64 // changes of templates that were seen
	run       string
	unread    bool         // the refusal is about the delivery alone, and stands also when its key cannot be looked up
	doubt     *audit.Entry // of a run that may have been started: the answer to its COMMIT was lost
}

// look decides about a delivery by what is committed: is its key known, which template
// is it for, can that be started?
func (t *Deliveries) look(ctx context.Context, tenant string, d *Delivery) (v view, err error) {
	err = t.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var found desk
		if err := t.open(ctx, tx, tenant, d.Key, &found); err != nil {
			return err
		}
		v.templates = found.templates
		if v.receipt = found.receipt; v.receipt != nil {
			return nil
		}
		v.plan.Stored, err = resolve(ctx, tx, tenant, d)
		if err == nil {
			v.plan, err = t.settle(d, v.plan.Stored)
		}
		if isRefusal(err) {
			v.refusal, err = err, nil
		}
		return err
	})
	return v, fault.Wrap("inbound.look", err)
}

// isRefusal reports whether an error is an answer to the delivery.
func isRefusal(err error) bool {
	failure, ok := fault.As(err)
	return ok && failure.Reason != (fault.Reason{})
}

// start starts a plan. What it finds instead, it gives back.
func (t *Deliveries) start(ctx context.Context, call Caller, d *Delivery, v view) (view, error) {
	waited, err := t.turns.take(ctx, call.Tenant)
	if err != nil {
		return v, err
	}
	defer t.turns.give(call.Tenant)
	if waited { // whoever was before may have been the same delivery
		if v, err = t.look(ctx, call.Tenant, d); err != nil || v.receipt != nil || v.refusal != nil {
			return v, err
		}
	}
	u := unit{t: t, call: call, d: d, plan: &v.plan, templates: v.templates}
	input, err := u.input()
	if err != nil {
		return v, fault.Wrap("inbound.start", err)
	}
	// The answer is waited for: what began may have happened.
	results, err := t.cfg.Engine.Do(context.WithoutCancel(ctx), engine.Unit{
		Before: u.before,
		Commands: []engine.Request{{
			Tenant: call.Tenant, GraphID: graphID(v.plan.ID), GraphVersion: v.plan.GraphVersion, Start: true,
			Command: flow.Create{Input: input}, CorrelationID: call.CorrelationID,
			Actor: flow.Actor{Kind: flow.KindExternal, ID: d.Source},
		}},
		After: u.after,
	})
	switch {
	case err == nil:
		v.run = results[0].Answer.Execution.String()
	case errors.Is(err, errFound):
		v.receipt, err = u.desk.receipt, nil
	case isRefusal(err):
		v.refusal, err = err, nil
	case errors.Is(err, errAgain):
		v.refusal, err = errAgain, nil
	case fault.KindOf(err) == fault.Unavailable:
		if failure, _ := fault.As(err); failure != nil && failure.Code == codeUnknown {
			v.doubt = u.noted
		}
	case fault.KindOf(err) == fault.RateLimited: // the sender need not know of commands that others send
		busy := fault.Overloaded("too much is waiting; the event was not taken, send it again")
		busy.Err = err
		err = busy
	default:
		// whatever it is, it is ours
		err = &fault.Error{Kind: fault.Internal, Op: "inbound.start", Message: msgInternal, Err: err}
	}
	return v, err
}

// errFound says that the key of a delivery has a receipt by now.
var errFound = errors.New("inbound: the key has a receipt")

// unit is a delivery's part in the transaction that starts its run. It may run more
// than once.
type unit struct {
	t         *Deliveries
	call      Caller
	d         *Delivery
	plan      *plan
	templates int64
	desk      desk
	noted     *audit.Entry // of the run, as far as it has come
}

// before holds the tenant and asks again what may have changed.
func (u *unit) before(ctx context.Context, tx *sqldb.Tx) error {
	if err := u.t.hold(ctx, tx, u.call.Tenant, u.d.Key, &u.desk); err != nil {
		return err
	}
	if u.desk.receipt != nil {
		return errFound
	}
	if u.desk.templates != u.templates {
		return errAgain
	}
	active, err := u.t.active(ctx, tx, u.call.Tenant, u.plan)
	if err == nil && active {
		err = fault.New(fault.Conflict, "RUN_ACTIVE", "%s", msgActive).Because(fault.RunActive)
	}
	return err
}

// after stores what was started.
func (u *unit) after(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
	ans := &results[0].Answer
	if ans.Refused != nil {
		return fault.Wrap("inbound.start", ans.Refused)
	}
	end := u.plan.ending()
	end.outcome, end.run = audit.Accepted, ans.Execution.String()
	stmts := []sqldb.Stmt{newest(u.call.Tenant, &end.about)}
	if u.d.Key != "" {
		stmts = append(stmts, u.t.save(u.call.Tenant, u.d.Key, &receipt{
			about: end.about, n: u.desk.receipts + 1, at: u.desk.now,
		})...)
		tx.OnCommit(u.t.signal)
	}
	entry, err := end.entry(u.call, u.d, u.desk.now)
	if err != nil {
		return err
	}
	u.noted = &entry
	return end.put(ctx, tx, &entry, stmts...)
}

// input is what the run's nodes know of the delivery.
func (u *unit) input() (flow.Data, error) {
	return json.Marshal(struct {
		TemplateID   string `json:"template_id"`
		TemplateName string `json:"template_name"`
		Year         int64  `json:"year"`
		Month        int64  `json:"month"`
		EventName    string `json:"event_name,omitempty"`
		Source       string `json:"source,omitempty"`
		MFCloudURL   string `json:"mfcloud_url,omitempty"`
		Notes        string `json:"notes,omitempty"`
	}{u.plan.ID, u.plan.Name, u.plan.year, u.plan.month, u.d.EventName, u.d.Source, u.plan.url, u.plan.notes})
}

// ending is how a delivery with this plan ended, as far as the plan knows.
func (p *plan) ending() ending {
	e := ending{about: about{templateID: p.ID, templateName: p.Name, year: p.year, month: p.month}}
	if len(p.Steps) > 0 {
		e.action = p.action()
	}
	return e
}

// conclude stores how a delivery ended, unless its run has done so, and gives the answer. errAgain:
// it has not ended after all.
func (t *Deliveries) conclude(ctx context.Context, call Caller, d *Delivery, v view) (Outcome, error) {
	switch {
	case v.run != "":
		return Outcome{
			TemplateID: v.plan.ID, TemplateName: v.plan.Name, Action: v.plan.action(), Key: d.Key,
			RunID: v.run,
		}, nil
	case errors.Is(v.refusal, errAgain):
		return Outcome{}, errAgain
	}
	var out Outcome
	var answer error
	var noted *audit.Entry // as far as it has come
	err := t.put(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var now desk
		out, answer, noted = Outcome{}, nil, nil
		if err := t.open(ctx, tx, call.Tenant, d.Key, &now); err != nil {
			return err
		}
		end := v.plan.ending()
		switch {
		case now.receipt != nil:
			end, out = now.receipt.repeated(d.Key)
		case v.receipt != nil: // it has just run out
			return errAgain
		default:
			end.because(v.refusal)
			answer = v.refusal
		}
		entry, err := end.entry(call, d, now.now)
		if err != nil {
			return err
		}
		noted = &entry
		return end.put(ctx, tx, &entry)
	})
	switch {
	case errors.Is(err, errAgain):
		return Outcome{}, errAgain
	case err != nil && v.unread && !out.Duplicate:
		return Outcome{}, t.fail(ctx, call, d, v.plan.ending(), noted, v.refusal)
	case err != nil:
		return Outcome{}, t.fail(ctx, call, d, v.plan.ending(), noted, unlogged(err))
	}
	return out, answer
}

// repeated is how a delivery ends whose key has a receipt.
func (r *receipt) repeated(key string) (ending, Outcome) {
	return ending{
		about: r.about, outcome: audit.Skipped, message: msgDuplicate, reason: fault.DuplicateKey,
	}, Outcome{
		Duplicate: true, TemplateID: r.templateID, TemplateName: r.templateName, Action: r.action, Key: key,
		RunID: r.run,
	}
}

const msgDuplicate = "The idempotency key has started a run before."

// Refuse stores that a delivery ended before it could be decided about: by its token, its size, its
// form. d is what is known of it. It gives the error to answer with, also while the database is away.
// A key that could be read is looked up first: when it has started a run, that is the outcome,
// whatever is wrong with other fields. While entries wait for the database it is not looked up: the
// sender would wait for nothing.
func (t *Deliveries) Refuse(ctx context.Context, call Caller, d Delivery, err error) (Outcome, error) {
	if n, _ := t.Backlog(); n > 0 || d.Key == "" {
		return Outcome{}, t.fail(ctx, call, &d, ending{}, nil, err)
	}
	return t.conclude(ctx, call, &d, view{refusal: err, unread: true})
}

// fail stores that a delivery could not be done, and gives the error to answer with. A database that is
// away is not waited for: the entry goes into the backlog. doubt is an entry that may be in the log
// already.
func (t *Deliveries) fail(
	ctx context.Context, call Caller, d *Delivery, end ending, doubt *audit.Entry, err error,
) error {
	end.because(err)
	w := waiting{Duplicate: end.duplicate()}
	if doubt != nil {
		w.Unless, w.UnlessAt = doubt.ID, doubt.At
	}
	var failed error
	if w.Entry, failed = end.entry(call, d, t.here()); failed != nil {
		return errors.Join(unlogged(failed), err)
	}
	if n, _ := t.Backlog(); n > 0 || doubt != nil {
		t.add(ctx, w)
		return err
	}
	noted := make(chan struct{})
	go func() { // what hangs longer than it may, such as a lost COMMIT, does not hold up the answer
		defer close(noted)
		err := t.put(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			at, err := t.now(ctx, tx)
			if err != nil {
				return err
			}
			entry := w.Entry
			entry.At = at
			w.Unless, w.UnlessAt = entry.ID, entry.At
			return end.put(ctx, tx, &entry)
		})
		if err != nil {
			t.add(ctx, w)
		}
	}()
	timer := time.NewTimer(2 * maxAudit)
	defer timer.Stop()
	select {
	case <-noted:
	case <-timer.C:
	}
	return err
}

// codeUnknown is the code of a commit whose outcome nobody knows.
const codeUnknown = "TIMEOUT"

// put runs a small transaction that its caller does not end by going away.
func (t *Deliveries) put(ctx context.Context, fn func(context.Context, *sqldb.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxAudit)
	defer cancel()
	return t.db.Write(ctx, sqldb.Other, fn)
}

// unlogged is the answer to a delivery whose decision could not be stored: no decision is answered that
// the log does not have. Damage stays what it is: sending the event again does not help.
func unlogged(err error) error {
	if fault.KindOf(err) == fault.Unavailable || sqldb.IsDamage(err) {
		return err
	}
	return &fault.Error{
		Kind: fault.Unavailable, Op: "inbound.audit", Code: "STORAGE_BUSY", RetryAfter: time.Second,
		Message: "the event could not be put into the log; send it again", Err: err,
	}
}

// signal says that receipts may have changed.
func (t *Deliveries) signal() {
	select {
	case t.changes <- struct{}{}:
	default:
	}
}
