package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Wait lets the Task wait for somebody: the node is WAITING, with a key that whoever
// resumes it must know ("" for none) and a prompt for people, until ResumeNode. It
// gives the output of the resume. Lease and timeout stand still meanwhile, but the
// Task keeps its place among the worker's: for what takes hours, a Wait node in the
// graph is better.
//
// ctx is that of the handler: it ends when the Task is cancelled, and with it Wait.
func (t *Task) Wait(ctx context.Context, key string, prompt any) (json.RawMessage, error) {
	h := t.hold
	if h == nil {
		return nil, errors.New("client: no Worker holds this Task")
	}
	r := h.run
	before, err := r.Client.Executions.Get(ctx, t.ExecutionID)
	if err != nil {
		return nil, cause(ctx, err)
	}
	if _, err := r.Client.Send(ctx, PutNodeWaiting{
		ExecutionID: t.ExecutionID, NodeID: t.NodeID, Attempt: t.Attempt, WorkerID: r.ID, WaitKey: key, Prompt: prompt,
	}); err != nil {
		return nil, cause(ctx, err)
	}
	r.waits(h, true)
	defer r.waits(h, false)
	for ev, err := range r.Client.Executions.Stream(ctx, t.ExecutionID, before.Seq) {
		if err != nil {
			return nil, cause(ctx, err)
		}
		if ev.Type != "NODE_RESUMED" || ev.NodeID() != t.NodeID {
			continue
		}
		var resumed struct {
			Output json.RawMessage `json:"output"`
		}
		err := ev.Decode(&resumed)
		return resumed.Output, err
	}
	return nil, fmt.Errorf("%w: the execution has ended", ErrInterrupted)
}

// cause is why a context ended, else the error.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// waits notes whether a hold waits. When it goes on, so does its lease.
func (r *run) waits(h *hold, waiting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.waiting, h.renewed = waiting, time.Now()
}
