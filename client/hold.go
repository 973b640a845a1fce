package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"
	"unicode/utf8"
)

// run is a Worker at work.
type run struct {
	Worker
	values   context.Context // of Run, without its end
	ended    <-chan struct{} // Run drains
	handlers sync.WaitGroup
	out      outbox
	freed    chan struct{} // a slot became free
	began    chan struct{} // a task is held

	mu      sync.Mutex
	free    int
	held    map[*hold]bool
	stopped bool // the time for draining is over
}

// hold is a Task in the hands of a handler.
type hold struct {
	run    *run
	task   *Task
	ctx    context.Context
	cancel context.CancelCauseFunc
	since  time.Time

	// Guarded by run.mu.
	renewed  time.Time // when the lease was last known to begin
	waiting  bool      // for somebody; its clocks stand still
	watched  bool      // by the watch that is under way
	lost     bool      // the attempt does not hold the Task any more
	progress *ReportNodeProgress
}

// reserve waits for free slots and takes them, as many as one claim may ask for;
// none when ctx has ended.
func (r *run) reserve(ctx context.Context) int {
	for ctx.Err() == nil {
		r.mu.Lock()
		n := min(r.free, maxClaim)
		r.free -= n
		r.mu.Unlock()
		if n > 0 {
			return n
		}
		select {
		case <-r.freed:
		case <-ctx.Done():
		}
	}
	return 0
}

func (r *run) release(n int) {
	r.mu.Lock()
	r.free += n
	r.mu.Unlock()
	signal(r.freed)
}

// signal wakes the reader of a channel with room for one signal.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// hold takes a Task into the worker's hands that was asked for at an instant. Its
// lease may have begun then; when that was long ago it is renewed at once.
func (r *run) hold(t *Task, asked time.Time) *hold {
	h := &hold{run: r, task: t, since: time.Now()}
	h.renewed = asked
	if latest := h.since.Add(-r.Lease / 2); asked.Before(latest) {
		h.renewed = latest
	}
	h.ctx, h.cancel = context.WithCancelCause(r.values)
	t.hold = h
	r.mu.Lock()
	r.held[h] = true
	if r.stopped {
		h.cancel(errStops)
	}
	r.mu.Unlock()
	signal(r.began)
	return h
}

// drop is the end of a hold: its handler is done.
func (r *run) drop(h *hold) (lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, h)
	h.cancel(nil)
	return h.lost
}

func (r *run) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.held)
}

// interrupt cancels the handler of a Task that is not the worker's any more.
func (r *run) interrupt(h *hold, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[h] {
		h.lost = true
		h.cancel(fmt.Errorf("%w: %s", ErrInterrupted, why))
	}
}

// errStops is the cause of an interruption by the worker itself.
var errStops = fmt.Errorf("%w: the worker stops", ErrInterrupted)

// interruptAll cancels all handlers, though their tasks are still the worker's.
func (r *run) interruptAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for h := range r.held {
		h.cancel(errStops)
	}
}

// draining reports whether the worker claims no more tasks.
func (r *run) draining() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// work has a Task handled and its result sent, and goes on with the Task that the
// server gives in return, in the same slot.
func (r *run) work(h *hold) {
	defer r.release(1)
	for h != nil {
		output, err := r.handle(h)
		lost := r.drop(h)
		asked := time.Now()
		next := r.complete(r.completion(h, output, err, lost))
		if h = nil; next != nil {
			h = r.hold(next, asked)
		}
	}
}

// handle calls the handler; a panic is an error.
func (r *run) handle(h *hold) (output any, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("handler panicked", "executionId", h.task.ExecutionID, "nodeId", h.task.NodeID, "error", p,
				"stack", string(debug.Stack()))
			output, err = nil, &NodeError{Code: CodePanic, Message: fmt.Sprint(p)}
		}
	}()
	return r.Handle(h.ctx, h.task)
}

// completion is the command that a handler's result leads to; nil when there is
// nothing to say: it stopped because the Task is not the worker's any more.
func (r *run) completion(h *hold, output any, err error, lost bool) Command {
	stopped := errors.Is(err, context.Canceled) || errors.Is(err, ErrInterrupted)
	switch {
	case stopped && lost:
		return nil
	case stopped && errors.Is(context.Cause(h.ctx), ErrInterrupted):
		err = &NodeError{Code: CodeInterrupted, Message: "the worker had to stop before this was done"}
	case err == nil:
		raw, broken := asOutput(output)
		if broken == nil {
			t := h.task
			return SucceedNode{
				Key: newKey(), ExecutionID: t.ExecutionID, NodeID: t.NodeID, Attempt: t.Attempt, WorkerID: r.ID,
				Output: raw, Next: !r.draining(),
			}
		}
		err = broken
	}
	return r.failure(h.task, err)
}

// asOutput is a handler's result as JSON, none of nil.
func asOutput(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := json.Marshal(v)
	switch {
	case err != nil:
		return nil, &NodeError{Code: CodeResult, Message: "the result cannot be written as JSON: " + err.Error()}
	case string(raw) == "null":
		return nil, nil
	case !bytes.HasPrefix(raw, []byte("{")):
		return nil, &NodeError{Code: CodeResult, Message: fmt.Sprintf("the result must be a JSON object, not a %T", v)}
	}
	return raw, nil
}

// Named maxima of what is said about a Task, in code points.
const (
	maxCode    = 128
	maxMessage = 4096
)

// failure is the command that reports an error.
func (r *run) failure(t *Task, err error) FailNode {
	failed, ok := errors.AsType[*NodeError](err)
	if !ok {
		failed = &NodeError{Code: CodeHandler, Message: err.Error()}
	}
	failed = &NodeError{
		Code: cut(failed.Code, maxCode), Message: cut(failed.Message, maxMessage),
		Detail: failed.Detail, Final: failed.Final,
	}
	if raw, broken := asOutput(failed.Detail); broken != nil {
		failed.Detail = map[string]string{"detail": fmt.Sprint(failed.Detail)}
	} else {
		failed.Detail = raw
	}
	return FailNode{
		Key: newKey(), ExecutionID: t.ExecutionID, NodeID: t.NodeID, Attempt: t.Attempt, WorkerID: r.ID,
		Error: failed, Next: !r.draining(),
	}
}

// cut shortens a text and leaves out what is no UTF-8.
func cut(s string, most int) string {
	if !utf8.ValidString(s) {
		s = string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")))
	}
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// complete sends a completion, waits until it is durable, and gives the Task that
// comes next, if one does.
func (r *run) complete(cmd Command) *Task {
	if cmd == nil {
		return nil
	}
	result := r.out.send(cmd)
	refusal, answered := errors.AsType[*Error](result.Err)
	p := cmd.parts()
	switch _, succeeded := cmd.(SucceedNode); {
	case result.Err == nil:
		return result.Task
	case answered && succeeded && errors.Is(refusal, ErrInvalid):
		// An output that the server refuses: too large, nested too deep …
		return r.complete(r.failure(&Task{ExecutionID: p.execution, NodeID: p.node, Attempt: cmd.(SucceedNode).Attempt},
			&NodeError{Code: CodeResult, Message: refusal.Message}))
	case answered:
		r.Log.Warn("result refused", "executionId", p.execution, "nodeId", p.node,
			"code", refusal.Code, "error", refusal)
	default: // it was not sent, and its lease will end it
		r.Log.Warn("result lost", "executionId", p.execution, "nodeId", p.node, "error", result.Err)
	}
	return nil
}

// Progress says how far the Task is, in percent, and in words. It does not wait;
// of several that could not be sent yet only the last is. On a Task that no Worker
// holds it does nothing.
func (t *Task) Progress(percent float64, message string) {
	h := t.hold
	if h == nil {
		return
	}
	if math.IsNaN(percent) {
		percent = 0
	}
	percent = min(max(percent, 0), 100)
	r := h.run
	r.mu.Lock()
	pending := h.progress != nil
	h.progress = &ReportNodeProgress{
		ExecutionID: t.ExecutionID, NodeID: t.NodeID, Attempt: t.Attempt, WorkerID: r.ID,
		Progress: &percent, Message: cut(message, maxMessage),
	}
	r.mu.Unlock()
	if !pending {
		r.out.sendProgress(h)
	}
}
