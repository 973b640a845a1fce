package flow

import (
	"math"
	"time"
)

// expire is a deadline that came due. It acts only when the node still waits for
// that very instant, in that very attempt.
func (d *draft) expire(c Expire) {
	i, ok := d.plan.Node(c.Node)
	if !ok || !d.moves() {
		return
	}
	n := d.Nodes[i]
	if n.Deadline() != c.At || c.At == 0 || c.At > d.facts.Now || n.Attempt != c.Attempt {
		return
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
		if !d.retry(i, e) {
			d.fail(i, e)
		}
	case NodeIsWaiting:
		d.fail(i, &Error{Code: CodeTimeout, Message: "Nobody resumed the node in time."})
	}
}

// retry reports a failed attempt of a Task that has another one, and says when.
func (d *draft) retry(i int, e *Error) bool {
	n, policy := d.Nodes[i], d.plan.nodes[i].spec.Retry
	if policy == nil || n.Attempt >= policy.MaxAttempts {
		return false
	}
	at := d.facts.Now.Add(policy.delay(n.Attempt))
	d.emit(&NodeFailReported{NodeID: n.ID, Error: e, Attempt: n.Attempt, RetryAt: at})
	return true
}

// delay is how long to wait after an attempt before the next.
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
	p := &NodeStarted{NodeID: spec.NodeID, Attempt: d.Nodes[i].Attempt + 1, WorkerID: worker, Lease: lease}
	p.TimeoutAt = d.after(spec.Timeout)
	p.LeaseUntil = d.leaseUntil(lease, p.TimeoutAt)
	return p
}

// leaseUntil is the end of a lease that begins now: never past the timeout, and
// none for a node that was not claimed.
func (d *draft) leaseUntil(seconds int, timeoutAt Time) Time {
	if seconds <= 0 {
		return 0
	}
	return earlier(d.facts.Now.Add(time.Duration(seconds)*time.Second), timeoutAt)
}

// after is the instant a time-out from now; 0 where there is none.
func (d *draft) after(timeout Duration) Time {
	if timeout <= 0 {
		return 0
	}
	return d.facts.Now.Add(time.Duration(timeout))
}
