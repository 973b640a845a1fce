// Package execbulk has the bulks about executions: one cancels, one archives those of a tenant that match a filter,
// or those that are named.
//
// Every command goes through the engine as if it had been sent alone, with a key that
// the bulk gives it. So cancel wins as always, the log of the execution names who
// started the bulk and why, and a repetition after a crash is answered from memory.
package execbulk

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// The kinds.
const (
	Cancel  = "cancel"
	Archive = "archive"
)

// MaxIDs is how many executions a bulk may name.
const MaxIDs = 500

// Names are the kinds.
func Names() []string { return []string{Cancel, Archive} }

// Engine is where executions are found, and where commands go.
type Engine interface {
	List(ctx context.Context, q engine.ListQuery) ([]engine.Head, int, error)
	Walk(ctx context.Context, q engine.ListQuery, after engine.Head) ([]engine.Head, error)
	Submit(ctx context.Context, requests []engine.Request) []engine.Result
}

// Spec is what a bulk is about: executions that match a filter, or those that are named.
type Spec struct {
	Filter Filter    `json:"filter"`
	IDs    []flow.ID `json:"ids,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Filter selects executions: to cancel, of those that have not ended; to archive, of those that have ended and were
// not archived.
type Filter struct {
	Status        []string    `json:"status,omitempty"`
	GraphID       string      `json:"graphId,omitempty"`
	CorrelationID string      `json:"correlationId,omitempty"`
	BusinessKey   string      `json:"businessKey,omitempty"`
	Labels        flow.Labels `json:"labels,omitempty"`     // all of them
	Waiting       bool        `json:"waiting,omitzero"`     // a node waits
	NodeID        string      `json:"nodeId,omitempty"`     // this node waits
	CreatedFrom   flow.Time   `json:"createdFrom,omitzero"` // inclusive
	CreatedTo     flow.Time   `json:"createdTo,omitzero"`   // exclusive
	Outcome       string      `json:"outcome,omitempty"`    // the following are of what has ended
	ErrorCode     string      `json:"errorCode,omitempty"`
	EndedFrom     flow.Time   `json:"endedFrom,omitzero"` // inclusive
	EndedTo       flow.Time   `json:"endedTo,omitzero"`   // exclusive
}

// Kind sends one command to executions.
type Kind struct {
	engine  Engine
	log     *slog.Logger
	path    string // the last part of the command's endpoint
	command func(reason string) flow.Command
	set     func(q *engine.ListQuery, f *Filter) // narrows a query to what the command may change
	before  flow.Guard                           // its refusal says that it was done before
}

var _ bulk.Kind = (*Kind)(nil)

// Kinds makes the kinds, by their names.
func Kinds(e Engine, log *slog.Logger) map[string]bulk.Kind {
	return map[string]bulk.Kind{
		Cancel: &Kind{
			engine: e, log: log, path: Cancel,
			command: func(reason string) flow.Command { return flow.Cancel{Reason: reason} },
			set:     func(q *engine.ListQuery, _ *Filter) { q.Status = []flow.Status{flow.Active} },
		},
		Archive: &Kind{
			engine: e, log: log, path: Archive,
			command: func(reason string) flow.Command { return flow.Archive{Reason: reason} },
			set:     ended, before: flow.GuardNotArchived,
		},
	}
}

// ended narrows a query to what has ended in one of the statuses of a filter and was not archived.
func ended(q *engine.ListQuery, f *Filter) {
	q.Unarchived = true
	for _, s := range []flow.Status{flow.Completed, flow.Failed, flow.Canceled} {
		if len(f.Status) == 0 || slices.Contains(f.Status, s.String()) {
			q.Status = append(q.Status, s)
		}
	}
}

// Parse reads the parameters of a bulk.
func Parse(b *bulk.Bulk) (Spec, error) {
	var s Spec
	return s, fault.Wrap("execbulk.spec", json.Unmarshal(b.Spec, &s))
}

// query selects the set of a bulk with a filter, of what existed when it was asked for.
func (k *Kind) query(b *bulk.Bulk, s *Spec) engine.ListQuery {
	f := &s.Filter
	q := engine.ListQuery{
		Tenant: b.Tenant, GraphID: f.GraphID, CorrelationID: f.CorrelationID, BusinessKey: f.BusinessKey,
		Labels: f.Labels, Waiting: f.Waiting, NodeID: f.NodeID, Outcome: f.Outcome, ErrorCode: f.ErrorCode,
		CreatedFrom: f.CreatedFrom, CreatedTo: flow.At(b.CreatedAt) + 1, EndedFrom: f.EndedFrom, EndedTo: f.EndedTo,
	}
	k.set(&q, f)
	if f.CreatedTo != 0 {
		q.CreatedTo = min(q.CreatedTo, f.CreatedTo)
	}
	return q
}

// Count is how many executions match now.
func (k *Kind) Count(ctx context.Context, b *bulk.Bulk) (int, error) {
	s, err := Parse(b)
	if err != nil || s.IDs != nil {
		return len(s.IDs), err
	}
	_, total, err := k.engine.List(ctx, k.query(b, &s))
	return total, err
}

// Select walks through the executions in the order of their creation, or in that of their names in the spec.
func (k *Kind) Select(ctx context.Context, b *bulk.Bulk, after string, limit int) (
	names []string, last string, err error,
) {
	s, err := Parse(b)
	if err != nil {
		return nil, "", err
	}
	if s.IDs != nil {
		return named(s.IDs, after, limit)
	}
	q := k.query(b, &s)
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

// named are some of the executions that a spec names; the place of the last is how many come up to it.
func named(ids []flow.ID, after string, limit int) (names []string, last string, err error) {
	done := 0
	if after != "" {
		if done, err = strconv.Atoi(after); err != nil || done < 0 || done > len(ids) {
			return nil, "", fault.New(fault.Internal, "", "execbulk: %q is no place among %d", after, len(ids))
		}
	}
	end := min(done+limit, len(ids))
	for _, id := range ids[done:end] {
		names = append(names, id.String())
	}
	return names, strconv.Itoa(end), nil
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
	return h, fault.Wrap("execbulk.place", err)
}

// Do sends the command to executions.
func (k *Kind) Do(ctx context.Context, b *bulk.Bulk, names []string) ([]bulk.Result, error) {
	requests, err := k.requests(b, names)
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

// requests are the commands to executions, each with the key and the body that its
// own endpoint would be sent.
func (k *Kind) requests(b *bulk.Bulk, names []string) ([]engine.Request, error) {
	s, err := Parse(b)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]string{"reason": s.Reason})
	if err != nil {
		return nil, fault.Wrap("execbulk.do", err)
	}
	key, err := canonical.ParseIdempotencyKey("bulk:"+b.ID, "", body)
	if err != nil {
		return nil, err
	}
	all := make([]engine.Request, len(names))
	for i, name := range names {
		id, err := flow.ParseID(name)
		if err != nil {
			return nil, fault.Wrap("execbulk.do", fmt.Errorf("%q: %w", name, err))
		}
		key.Endpoint = "POST /executions/" + name + "/" + k.path
		all[i] = engine.Request{
			Tenant: b.Tenant, Execution: id, Command: k.command(s.Reason), Idempotency: key,
			Actor: flow.Actor{Kind: flow.KindUser, ID: b.StartedBy}, CorrelationID: b.CorrelationID,
		}
	}
	return all, nil
}

// Detail is what is known of the command to one execution beside its outcome.
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

// result is how the command to one execution ended.
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
			k.log.ErrorContext(ctx, "a command of a bulk could not be decided", "command", k.path, "error", r.Err)
		}
	case refusal != nil && refusal.Guard == k.before:
		out.Outcome = bulk.Already
	case refusal != nil:
		out.Outcome = bulk.Refused
		d = Detail{Guard: refusal.Guard, State: &State{Execution: refusal.Execution.String()}}
	case !r.Answer.Changed:
		out.Outcome = bulk.Already
	}
	var err error
	out.Detail, err = json.Marshal(&d)
	return out, fault.Wrap("execbulk.result", err)
}
