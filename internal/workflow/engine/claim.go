package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// claim is a worker that asks for tasks. The loop reserves it, the caller may withdraw it; whoever changes its phase
// first decides.
type claim struct {
	req   ClaimRequest
	since time.Time // waits in its queues after those that came before
	until time.Time // answered empty from then on
	phase atomic.Int32
	asked atomic.Bool   // its key is not known: until then it may have been answered before
	began time.Duration // what its commit had spent before it
	out   Claimed
	ready flow.Time // when the oldest of its tasks became ready
	cold  bool      // a task stayed ready, since its graph is being compiled
	err   error     // why it gets nothing, once the commit is durable
	done  func(Claimed, error)
}

const (
	claimOpen      = iota // queued or waiting
	claimReserved         // a commit gives it tasks
	claimWithdrawn        // the caller left
	claimDone
)

func (c *claim) reserve() bool { return c.phase.CompareAndSwap(claimOpen, claimReserved) }
func (c *claim) isOpen() bool  { return c.phase.Load() == claimOpen }

// release lets a claim wait again that a commit could not serve.
func (c *claim) release() {
	c.out, c.err, c.ready = Claimed{}, nil, 0
	c.phase.CompareAndSwap(claimReserved, claimOpen)
}

// finish answers a claim once; one that was withdrawn has its answer.
func (c *claim) finish(err error) {
	if c.phase.Swap(claimDone) >= claimWithdrawn {
		return
	}
	if err != nil {
		c.out = Claimed{}
	}
	c.done(c.out, err)
}

// pendingClaims are those with an idempotency key: a second one with the same key gets the outcome of the first.
type pendingClaims struct {
	mu  sync.Mutex
	all map[KeyRef]*pendingClaim
}

type pendingClaim struct {
	key  canonical.IdempotencyKey
	at   flow.Time
	done chan struct{}
	out  Claimed
	err  error
}

// Claim gives ready tasks to a worker, waiting for some as long as the request says. They are
// started, durably, when it returns.
func (e *Engine) Claim(ctx context.Context, req ClaimRequest) (Claimed, error) {
	if !req.Own {
		if err := e.checkQueues(req.Queues); err != nil {
			return Claimed{}, err
		}
	}
	if req.Idempotency.Key == "" {
		return e.claim(ctx, req)
	}
	ref := KeyRef{Tenant: req.Tenant, Endpoint: req.Idempotency.Endpoint, Key: req.Idempotency.Key}
	e.pendingClaims.mu.Lock()
	if first := e.pendingClaims.all[ref]; first != nil {
		e.pendingClaims.mu.Unlock()
		return e.joinClaim(ctx, &req, first)
	}
	mine := &pendingClaim{key: req.Idempotency, at: flow.At(e.clock.Now()), done: make(chan struct{})}
	if e.pendingClaims.all == nil {
		e.pendingClaims.all = map[KeyRef]*pendingClaim{}
	}
	e.pendingClaims.all[ref] = mine
	e.pendingClaims.mu.Unlock()
	mine.out, mine.err = e.claim(ctx, req)
	e.pendingClaims.mu.Lock()
	delete(e.pendingClaims.all, ref)
	e.pendingClaims.mu.Unlock()
	close(mine.done)
	return mine.out, mine.err
}

func (e *Engine) joinClaim(ctx context.Context, req *ClaimRequest, first *pendingClaim) (Claimed, error) {
	if first.key.Hash != req.Idempotency.Hash {
		return Claimed{}, e.conflict(&req.Idempotency, first.key.Members, first.at)
	}
	select {
	case <-first.done:
		if first.err == errGone { // its caller left; this one is still there
			return e.Claim(ctx, *req)
		}
		if first.err == nil && len(first.out.Tasks) == 0 && !e.cfg.Exclusive {
			// Nothing was remembered of that, and another process may have served the key since.
			again := *req
			again.Wait = 0
			return e.Claim(ctx, again)
		}
		out := first.out
		out.Replay = len(out.Tasks) > 0
		return out, first.err
	case <-ctx.Done():
		return Claimed{}, errGone
	}
}

func (e *Engine) claim(ctx context.Context, req ClaimRequest) (Claimed, error) {
	if sqldb.InJob(ctx) {
		return Claimed{}, errInJob
	}
	type outcome struct {
		out Claimed
		err error
	}
	done := make(chan outcome, 1)
	c, withdraw := e.offerClaim(req, func(out Claimed, err error) { done <- outcome{out, err} })
	e.help(ctx)
	timer := time.NewTimer(req.Wait)
	defer timer.Stop()
	for {
		select {
		case o := <-done:
			return o.out, o.err
		case <-timer.C:
			if req.Wait > 0 && c.asked.Load() && withdraw() {
				return Claimed{}, nil
			}
			// the loop answers it, now that it waits no longer; should that commit fail, it waits again
			timer.Reset(maxIdle)
		case <-ctx.Done():
			if withdraw() {
				return Claimed{}, errGone
			}
			// It is being served: that commit answers it, or lets it wait again.
			select {
			case o := <-done:
				return o.out, o.err
			case <-time.After(withdrawEvery):
			}
		}
	}
}

// withdrawEvery is how soon a caller whose claim is being served tries to withdraw again.
const withdrawEvery = 5 * time.Millisecond

// OfferClaim hands a claim to the loop; done gets its answer. withdraw takes it
// back and reports whether that was in time; then done is never called.
func (e *Engine) OfferClaim(req ClaimRequest, done func(Claimed, error)) (withdraw func() bool) {
	_, withdraw = e.offerClaim(req, done)
	e.q.wake()
	return withdraw
}

func (e *Engine) offerClaim(req ClaimRequest, done func(Claimed, error)) (c *claim, withdraw func() bool) {
	now := e.clock.Now()
	c = &claim{req: req, since: now, until: now.Add(req.Wait)}
	c.done = func(out Claimed, err error) {
		e.claimers.Add(-1)
		done(out, err)
	}
	if e.claimers.Add(1) > MaxClaimers {
		c.finish(errBusy)
	} else if err := e.q.put(item{claim: c}); err != nil {
		c.finish(err)
	}
	return c, func() bool {
		left := c.phase.CompareAndSwap(claimOpen, claimWithdrawn)
		if left {
			e.claimers.Add(-1)
		}
		return left
	}
}
