package flow

import (
	"math"
	"slices"
	"time"
)

// decide acts only when the node still waits for that very instant, in that very attempt.
func (c Expire) decide(d *draft) error {
	i, ok := d.plan.Node(c.Node)
	if !ok || !d.moves() {
		return nil
	}
	n := d.Nodes[i]
	if n.Deadline() != c.At || c.At == 0 || c.At > d.facts.Now || n.Attempt != c.Attempt {
		return nil
	}
	d.actor, d.cause = Actor{Kind: KindScheduler}, n.Cause.ID
	d.open()
	switch n.Status {
	case NodeIsCreated:
		d.emit(&NodeReady{NodeID: n.ID, Attempt: n.Attempt + 1})
	case NodeIsRunning:
		e := &Error{Code: CodeTimeout, Message: "The lease of the worker ran out."}
		if n.TimeoutAt == c.At {
			e.Message = "The timeout of " + time.Duration(d.plan.nodes[i].spec.Timeout).String() + " passed."
		}
		d.fail(i, e)
	case NodeIsWaiting:
		if n.RemindAt == c.At { // it is earlier than the end of the wait
			d.remind(i)
			return nil
		}
		if d.plan.nodes[i].spec.For != 0 {
			d.emit(&NodeResumed{NodeID: n.ID})
			d.ended = ending{how: branchCompleted, node: i}
			return nil
		}
		e := &Error{Code: CodeTimeout, Message: "Nobody resumed the node in time."}
		d.ended = ending{how: branchFailed, node: i, err: e}
	}
	return nil
}

// fail ends an attempt badly. A Task that has another one gets it later; any other node has failed.
func (d *draft) fail(i int, e *Error) {
	n, policy := d.Nodes[i], d.plan.nodes[i].spec.Retry
	if policy == nil || n.Attempt >= policy.MaxAttempts || policy.ends(e) {
		d.ended = ending{how: branchFailed, node: i, err: e}
		return
	}
	at := d.facts.Now.Add(policy.delay(n.Attempt))
	d.emit(&NodeFailReported{NodeID: n.ID, Error: e, Attempt: n.Attempt, RetryAt: at})
}

// ends reports whether an error is final: the worker or the author of the graph says so.
func (r *Retry) ends(e *Error) bool {
	return e != nil && (e.Final || slices.Contains(r.Except, e.Code))
}

func (r *Retry) delay(attempt int) time.Duration {
	wait := float64(r.InitialInterval) * math.Pow(r.Backoff, float64(attempt-1))
	if !(wait < float64(r.MaxInterval)) { // also when it is no number any more
		return time.Duration(r.MaxInterval)
	}
	return time.Duration(wait)
}

// started is an attempt that begins now, with its deadlines.
func (d *draft) started(i int, worker string, lease int) *NodeStarted {
	spec := &d.plan.nodes[i].spec
	timeoutAt := after(d.facts.Now, spec.Timeout)
	return &NodeStarted{
		NodeID: spec.NodeID, Attempt: d.Nodes[i].Attempt + 1, WorkerID: worker, Lease: lease,
		LeaseUntil: leaseUntil(d.facts.Now, lease, timeoutAt), TimeoutAt: timeoutAt,
	}
}

// leaseUntil never is past the timeout; a node that was not claimed has none.
func leaseUntil(now Time, seconds int, timeoutAt Time) Time {
	if seconds <= 0 {
		return 0
	}
	return earlier(now.Add(time.Duration(seconds)*time.Second), timeoutAt)
}

// after is the instant of a timeout that begins now; 0 where there is none.
func after(now Time, timeout Duration) Time {
	if timeout <= 0 {
		return 0
	}
	return now.Add(time.Duration(timeout))
}
