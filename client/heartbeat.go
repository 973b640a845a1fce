package client

import (
	"context"
	"errors"
	"time"
)

// heartbeats is how often a lease is renewed in its time.
const heartbeats = 3

// heartbeat renews the leases of what is held, many in one request, and interrupts what
// could not be renewed in time, until ctx ends.
func (r *run) heartbeat(ctx context.Context) {
	tick := time.NewTicker(r.Lease / (4 * heartbeats))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		due, over := r.due(time.Now())
		for _, h := range over {
			r.interrupt(h, "the lease ran out")
		}
		if len(due) > 0 {
			r.renew(ctx, due)
		}
	}
}

// due lists the holds whose lease should be renewed now, and those whose lease is over.
func (r *run) due(now time.Time) (due, over []*hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for h := range r.held {
		switch age := now.Sub(h.renewed); {
		case h.waiting || h.lost:
		case age >= r.Lease:
			over = append(over, h)
		case age >= r.Lease/heartbeats:
			due = append(due, h)
		}
	}
	return due, over
}

// renew sends a heartbeat for each hold. What fails is tried again with the next tick.
func (r *run) renew(ctx context.Context, due []*hold) {
	ctx, cancel := context.WithTimeout(ctx, max(r.Lease/heartbeats, minLease))
	defer cancel()
	var cmds []encoded
	var which []int
	for i, h := range due {
		cmd, err := encode(ReportNodeProgress{
			ExecutionID: h.task.ExecutionID, NodeID: h.task.NodeID,
			Attempt: h.task.Attempt, WorkerID: r.ID,
		})
		if err != nil {
			r.Log.Error("lease cannot be renewed", "error", err) // the server gave a Task without a name
			continue
		}
		cmds, which = append(cmds, cmd), append(which, i)
	}
	for begin := 0; begin < len(cmds); {
		sent := time.Now()
		results, err := r.Client.deliver(ctx, cmds[begin:], which[:len(cmds)-begin], Forever)
		if err != nil {
			if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
				r.Log.Warn("leases are not renewed", "error", err)
			}
			return
		}
		for i, result := range results {
			r.renewed(due[begin+i], sent, result.Err)
		}
		begin += len(results)
	}
}

// renewed notes what the server answered to a heartbeat.
func (r *run) renewed(h *hold, sent time.Time, err error) {
	refusal, answered := errors.AsType[*Error](err)
	switch {
	case err == nil:
		r.mu.Lock()
		if sent.After(h.renewed) {
			h.renewed = sent
		}
		r.mu.Unlock()
	case answered && errors.Is(refusal, ErrRefused):
		if refusal.State.NodeStatus != NodeWaiting { // a Task that waits has no lease to renew
			r.interrupt(h, refusal.Message)
		}
	case answered && errors.Is(refusal, ErrNotFound):
		r.interrupt(h, refusal.Message)
	case answered && !refusal.repeatable():
		r.Log.Warn("progress refused", "executionId", h.task.ExecutionID, "nodeId", h.task.NodeID, "error", err)
	}
}
