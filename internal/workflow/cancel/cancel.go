// Package cancel is the bulk that cancels executions: those of a tenant that match a
// filter and had not ended when it was asked for.
//
// Every cancel goes through the engine as if it had been sent alone, with a key that
// the bulk gives it. So cancel wins as always, the log of the execution names who
// started the bulk and why, and a repetition after a crash is answered from memory.
package cancel

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Name is the name of the kind.
const Name = "cancel"

// Engine is where executions are found and cancelled.
type Engine interface {
	List(ctx context.Context, q engine.ListQuery) ([]engine.Head, int, error)
	Walk(ctx context.Context, q engine.ListQuery, after engine.Head) ([]engine.Head, error)
	Submit(ctx context.Context, requests []engine.Request) []engine.Result
}

// Spec is what a bulk cancels, and why.
type Spec struct {
	Filter Filter `json:"filter"`
	Reason string `json:"reason,omitempty"`
}

// Filter selects executions. What has ended is left out whatever it says.
type Filter struct {
	Status        []string    `json:"status,omitempty"` // for the record: it has ACTIVE, or is empty
	GraphID       string      `json:"graphId,omitempty"`
	CorrelationID string      `json:"correlationId,omitempty"`
	BusinessKey   string      `json:"businessKey,omitempty"`
	Labels        flow.Labels `json:"labels,omitempty"`     // all of them
	Waiting       bool        `json:"waiting,omitzero"`     // a node waits
	NodeID        string      `json:"nodeId,omitempty"`     // this node waits
	CreatedFrom   flow.Time   `json:"createdFrom,omitzero"` // inclusive
	CreatedTo     flow.Time   `json:"createdTo,omitzero"`   // exclusive
}

// Kind cancels executions.
type Kind struct {
	engine Engine
	log    *slog.Logger
}

var _ bulk.Kind = (*Kind)(nil)

// New makes the kind.
func New(e Engine, log *slog.Logger) *Kind { return &Kind{engine: e, log: log} }

// Parse reads the parameters of a bulk.
func Parse(b *bulk.Bulk) (Spec, error) {
	var s Spec
	return s, fault.Wrap("cancel.spec", json.Unmarshal(b.Spec, &s))
}

// query selects the set of a bulk: what had not ended, of what existed then.
func query(b *bulk.Bulk) (engine.ListQuery, error) {
	s, err := Parse(b)
	q := engine.ListQuery{
		Tenant: b.Tenant, Status: []flow.Status{flow.Active}, GraphID: s.Filter.GraphID,
		CorrelationID: s.Filter.CorrelationID, BusinessKey: s.Filter.BusinessKey, Labels: s.Filter.Labels,
		Waiting: s.Filter.Waiting, NodeID: s.Filter.NodeID, CreatedFrom: s.Filter.CreatedFrom,
		CreatedTo: flow.At(b.CreatedAt) + 1,
	}
	if s.Filter.CreatedTo != 0 {
		q.CreatedTo = min(q.CreatedTo, s.Filter.CreatedTo)
	}
	return q, err
}

// Count is how many executions match now.
func (k *Kind) Count(ctx context.Context, b *bulk.Bulk) (int, error) {
	q, err := query(b)
	if err != nil {
		return 0, err
	}
	_, total, err := k.engine.List(ctx, q)
	return total, err
}

// Select walks through the executions in the order of their creation.
func (k *Kind) Select(ctx context.Context, b *bulk.Bulk, after string, limit int) (
	names []string, last string, err error,
) {
	q, err := query(b)
	if err != nil {
		return nil, "", err
	}
	q.Limit = limit
	at, err := parsePlace(after)
	if err != nil {
		return nil, "", err
	}
	heads, err := k.engine.Walk(ctx, q, at)
	if err != nil || len(heads) == 0 {
		return nil, after, err
	}
	for i := range heads {
		names = append(names, heads[i].ID.String())
	}
	return names, place(&heads[len(heads)-1]), nil
}

// place is where a walk goes on after an execution.
func place(h *engine.Head) string {
	return strconv.FormatInt(int64(h.CreatedAt), 10) + "/" + strconv.FormatInt(h.Num, 10)
}

func parsePlace(s string) (h engine.Head, err error) {
	if s == "" {
		return h, nil
	}
	created, num, _ := strings.Cut(s, "/")
	at, err := strconv.ParseInt(created, 10, 64)
	if err == nil {
		h.CreatedAt = flow.Time(at)
		h.Num, err = strconv.ParseInt(num, 10, 64)
	}
	return h, fault.Wrap("cancel.place", err)
}

// Do cancels executions.
func (k *Kind) Do(ctx context.Context, b *bulk.Bulk, names []string) ([]bulk.Result, error) {
	requests, err := requests(b, names)
	if err != nil {
		return nil, err
	}
	results := make([]bulk.Result, len(names))
	for i, r := range k.engine.Submit(ctx, requests) {
		if fault.Passes(r.Err) {
			return nil, r.Err // those that were decided are answered from memory next time
		}
		if results[i], err = k.result(ctx, &r); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// requests are the cancels of executions, each with the key and the body that its
// own endpoint would be sent.
func requests(b *bulk.Bulk, names []string) ([]engine.Request, error) {
	s, err := Parse(b)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]string{"reason": s.Reason})
	if err != nil {
		return nil, fault.Wrap("cancel.do", err)
	}
	key, err := canonical.ParseIdempotencyKey("bulk:"+b.ID, "", body)
	if err != nil {
		return nil, err
	}
	all := make([]engine.Request, len(names))
	for i, name := range names {
		id, err := flow.ParseID(name)
		if err != nil {
			return nil, fault.Wrap("cancel.do", fmt.Errorf("%q: %w", name, err))
		}
		key.Endpoint = "POST /executions/" + name + "/cancel"
		all[i] = engine.Request{
			Tenant: b.Tenant, Execution: id, Command: flow.Cancel{Reason: s.Reason}, Idempotency: key,
			Actor: flow.Actor{Kind: flow.KindUser, ID: b.StartedBy}, CorrelationID: b.CorrelationID,
		}
	}
	return all, nil
}

// Detail is what is known of the cancel of one execution beside its outcome.
type Detail struct {
	CancelSeq uint64     `json:"cancelSeq,omitzero"` // where cancel won
	Guard     flow.Guard `json:"guard,omitempty"`    // refused
	State     *State     `json:"state,omitempty"`    // that the guard saw
	Code      string     `json:"code,omitempty"`     // failed
	Message   string     `json:"message,omitempty"`
}

// State is what a guard saw.
type State struct {
	Execution string `json:"execution"`
}

// result is how the cancel of one execution ended.
func (k *Kind) result(ctx context.Context, r *engine.Result) (bulk.Result, error) {
	out := bulk.Result{Outcome: bulk.Applied}
	d := Detail{CancelSeq: r.Answer.CancelSeq}
	switch refusal := r.Answer.Refused; {
	case r.Err != nil:
		out.Outcome = bulk.Failed
		d.Code, d.Message = "INTERNAL_ERROR", "internal error"
		if failure, ok := fault.As(r.Err); ok && failure.Message != "" && fault.KindOf(r.Err) != fault.Internal {
			d.Code, d.Message = failure.Code, failure.Message
		} else {
			k.log.ErrorContext(ctx, "an execution could not be cancelled", "error", r.Err)
		}
	case refusal != nil:
		out.Outcome = bulk.Refused
		d = Detail{Guard: refusal.Guard, State: &State{Execution: refusal.Execution.String()}}
	case !r.Answer.Changed:
		out.Outcome = bulk.Already
	}
	var err error
	out.Detail, err = json.Marshal(&d)
	return out, fault.Wrap("cancel.result", err)
}
