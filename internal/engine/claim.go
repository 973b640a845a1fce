package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/flow"
	"renga.dev/renga/internal/wire"
)

// claim is a worker that asks for tasks. The loop takes it, the caller may
// withdraw it; whoever changes its phase first decides.
type claim struct {
	req   ClaimRequest
	until time.Time // answered empty from then on
	phase atomic.Int32
	out   Claimed
	err   error // why it gets nothing, once the commit is durable
	done  func(Claimed, error)
}

const (
	claimOpen      = iota // queued or waiting
	claimTaken            // a commit gives it tasks
	claimWithdrawn        // the caller left
	claimDone
)

func (c *claim) take() bool   { return c.phase.CompareAndSwap(claimOpen, claimTaken) }
func (c *claim) isOpen() bool { return c.phase.Load() == claimOpen }

// untake lets a claim wait again that a commit could not serve.
func (c *claim) untake() {
	c.out, c.err = Claimed{}, nil
	c.phase.CompareAndSwap(claimTaken, claimOpen)
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

// lineKey names a queue of a tenant.
type lineKey struct{ tenant, queue string }

// line is what the loop knows of a queue: the oldest ready tasks, and who waits.
// With more set there may be tasks in the store that are not in rows.
type line struct {
	rows    []ReadyRow
	more    bool
	waiters []*claim
}

// maxLines is how many idle queues are remembered.
const maxLines = 10_000

func (e *Engine) line(key lineKey) *line {
	l := e.lines[key]
	if l == nil {
		if len(e.lines) >= maxLines {
			e.forgetLines()
		}
		l = &line{more: true}
		e.lines[key] = l
	}
	return l
}

// forgetLines drops what is known of ready tasks; waiters stay.
func (e *Engine) forgetLines() {
	for key, l := range e.lines {
		l.rows, l.more = nil, true
		l.prune()
		if len(l.waiters) == 0 {
			delete(e.lines, key)
		}
	}
}

func (l *line) prune() {
	kept := l.waiters[:0]
	for _, c := range l.waiters {
		if c.isOpen() {
			kept = append(kept, c)
		}
	}
	clear(l.waiters[len(kept):])
	l.waiters = kept
}

// noteReady remembers ready tasks that were written.
func (e *Engine) noteReady(tasks []readyTask) {
	for _, t := range tasks {
		if t.ent == nil {
			continue
		}
		l := e.lines[lineKey{t.row.Tenant, t.row.Queue}]
		switch {
		case l == nil || l.more:
		case len(l.rows) < MaxWindow:
			l.rows = append(l.rows, t.row)
		default:
			l.more = true
		}
	}
}

// wait makes a claim that found nothing wait in its queues.
func (e *Engine) wait(c *claim) {
	for _, q := range c.req.Queues {
		l := e.line(lineKey{c.req.Tenant, q})
		if len(l.waiters) >= 64 {
			l.prune()
		}
		if !slices.Contains(l.waiters, c) { // it may have been roused in another queue
			l.waiters = append(l.waiters, c)
		}
	}
}

// rouse lets those who wait claim anew what was written, where a commit did not
// serve them: it was full, or it came after one that failed. Then nobody knows
// whether one of them is to blame, so they are not served in the commits of others
// until they have been tried themselves.
func (e *Engine) rouse(tasks []readyTask) {
	for _, t := range tasks {
		l := e.lines[lineKey{t.row.Tenant, t.row.Queue}]
		if t.ent == nil || l == nil || len(l.waiters) == 0 {
			continue
		}
		l.prune()
		e.q.putBack(l.waiters)
		l.waiters = nil
	}
}

// releaseClaims answers everyone who still waits, with nothing.
func (e *Engine) releaseClaims() {
	for _, l := range e.lines {
		for _, c := range l.waiters {
			if c.take() {
				c.finish(nil)
			}
		}
		l.waiters = nil
	}
}

// serve gives ready tasks to those who want them, until the commit is full: what
// became ready just now to those who wait, in their order, then what is left to the
// new claims.
func (b *batch) serve(w *work) error {
	if !w.alone {
		if err := b.offer(); err != nil {
			return err
		}
	}
	for i, c := range w.claims {
		if b.full() {
			b.left = w.claims[i:]
			break
		}
		if !c.take() {
			continue // withdrawn
		}
		b.served = append(b.served, c)
		if c.err = b.claim(c); undoes(c.err) {
			return c.err
		}
	}
	return nil
}

// full reports whether the claims of this commit have started enough. The last one
// may have its tasks all the same, unless they are heavy.
func (b *batch) full() bool { return b.started >= MaxBatch || b.heavy() }

func (b *batch) heavy() bool { return b.weight >= MaxClaimData }

// offer starts tasks that became ready in this commit for claims that wait.
func (b *batch) offer() error {
	var got []*claim
	for i := 0; i < len(b.ready) && !b.full(); i++ {
		t := b.ready[i]
		if t.ent == nil {
			continue
		}
		c, first := b.waiter(lineKey{t.row.Tenant, t.row.Queue}, got)
		if c == nil {
			continue
		}
		if first {
			got = append(got, c)
			b.served = append(b.served, c)
		}
		if err := b.startReady(c, t); err != nil {
			return err
		}
	}
	for _, c := range got {
		if err := b.rememberClaim(c); err != nil {
			return err
		}
	}
	return nil
}

// waiter finds the first claim that waits in a queue and has room; first says
// that this commit has not given it anything yet. A claim stays in line until it
// is answered, in case the commit fails.
func (b *batch) waiter(key lineKey, got []*claim) (c *claim, first bool) {
	for _, c := range got {
		if c.req.Tenant == key.tenant && len(c.out.Tasks) < c.req.Max && c.wants(key.queue) {
			return c, false
		}
	}
	l := b.e.lines[key]
	if l == nil {
		return nil, false
	}
	for len(l.waiters) > 0 && l.waiters[0].phase.Load() >= claimWithdrawn {
		l.waiters = l.waiters[1:]
	}
	for _, c := range l.waiters {
		if c.take() {
			return c, true
		}
	}
	return nil, false
}

func (c *claim) wants(queue string) bool { return slices.Contains(c.req.Queues, queue) }

// claim answers a new claim from what is remembered, from ready tasks, or lets
// it wait.
func (b *batch) claim(c *claim) error {
	known, err := b.recallKey(c.req.Tenant, &c.req.Once)
	if err != nil {
		return err
	}
	if known != nil {
		return b.replayClaim(c, known)
	}
	for _, q := range c.req.Queues {
		if err := b.takeReady(c, q); err != nil {
			return err
		}
	}
	switch {
	case len(c.out.Tasks) > 0:
		return b.rememberClaim(c)
	case c.req.Wait > 0 && b.e.clock.Now().Before(c.until) && !b.e.draining.Load():
		b.served = b.served[:len(b.served)-1]
		b.waiting = append(b.waiting, c)
		c.untake()
	}
	return nil
}

func (b *batch) replayClaim(c *claim, known *storedKey) error {
	c.out.Replay = true
	for _, ref := range known.Tasks {
		ent, err := b.entry(c.req.Tenant, ref.Execution)
		if err != nil {
			return err
		}
		task, err := b.task(ent, ref)
		if err != nil {
			return err
		}
		c.out.Tasks = append(c.out.Tasks, task)
	}
	return nil
}

// takeReady starts tasks of a queue for a claim, oldest first.
func (b *batch) takeReady(c *claim, queue string) error {
	key := lineKey{c.req.Tenant, queue}
	l := b.e.line(key)
	var last ReadyRow
	for len(c.out.Tasks) < c.req.Max && !b.heavy() {
		for len(l.rows) == 0 && l.more {
			rows, err := b.tx.Ready(b.ctx, key.tenant, key.queue, last, MaxWindow)
			if err != nil {
				return fault.Wrap("engine.ready", err)
			}
			if l.more = len(rows) == MaxWindow; l.more {
				last = rows[len(rows)-1]
			}
			l.rows = b.notTaken(rows)
		}
		n := min(len(l.rows), c.req.Max-len(c.out.Tasks))
		if n == 0 {
			break
		}
		n, err := b.startRows(c, l.rows[:n])
		if err != nil {
			return err
		}
		l.rows = rest(l.rows, n)
	}
	for i := 0; i < len(b.ready) && len(c.out.Tasks) < c.req.Max && !b.heavy(); i++ {
		t := b.ready[i]
		if t.ent != nil && t.row.Tenant == key.tenant && t.row.Queue == queue {
			if err := b.startReady(c, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// startReady starts a task that this commit made ready. Its entry is read again
// when a unit was undone since.
func (b *batch) startReady(c *claim, t readyTask) error {
	if t.ent.void {
		_, err := b.startRows(c, []ReadyRow{t.row})
		return err
	}
	return b.start(c, t.ent, t.row)
}

// notTaken leaves out rows that this commit has taken already.
func (b *batch) notTaken(rows []ReadyRow) []ReadyRow {
	if len(b.taken) == 0 {
		return rows
	}
	gone := make(map[ReadyRow]bool, len(b.taken))
	for _, r := range b.taken {
		gone[r] = true
	}
	kept := rows[:0]
	for _, r := range rows {
		if !gone[r] {
			kept = append(kept, r)
		}
	}
	return kept
}

// startRows starts tasks that were ready before this commit, until it is heavy, and
// gives how many it looked at.
func (b *batch) startRows(c *claim, rows []ReadyRow) (int, error) {
	entries := make([]*entry, len(rows))
	var wants []Want
	var places []int
	for i, r := range rows {
		if entries[i] = b.byNum(r.Execution); entries[i] == nil {
			wants = append(wants, Want{Tenant: r.Tenant, Num: r.Execution})
			places = append(places, i)
		}
	}
	if err := b.fetchNums(wants, places, entries); err != nil {
		return 0, err
	}
	for i, r := range rows {
		if b.heavy() {
			return i, nil
		}
		if entries[i] == nil {
			b.taken = append(b.taken, r)
			continue
		}
		if err := b.start(c, entries[i], r); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// byNum finds an entry that this commit may use by its number.
func (b *batch) byNum(num int64) *entry {
	if ent := b.nums[num]; ent != nil {
		return ent
	}
	if ent := b.e.cache.byNum[num]; ent != nil && b.e.cfg.Exclusive {
		b.use(ent.state.Execution, ent)
		return ent
	}
	return nil
}

func (b *batch) fetchNums(wants []Want, places []int, entries []*entry) error {
	if len(wants) == 0 {
		return nil
	}
	histories, err := b.tx.Fetch(b.ctx, wants)
	if err != nil {
		return fault.Wrap("engine.fetch", err)
	}
	for i := range histories {
		if !histories[i].Found {
			continue
		}
		ent := b.used[histories[i].Head.ID] // two tasks of one execution
		if ent == nil {
			if ent, err = replay(&histories[i]); err != nil {
				return fault.Wrap("engine.replay", err)
			}
			b.use(ent.state.Execution, ent)
		}
		entries[places[i]] = ent
	}
	return nil
}

// start starts one ready task for a claim. A row that no longer tells the truth
// is deleted.
func (b *batch) start(c *claim, ent *entry, row ReadyRow) error {
	n, _ := ent.state.Find(row.Node)
	if n == nil || n.Status != flow.NodeIsReady || n.Cause.At != row.At {
		b.taken = append(b.taken, row)
		return nil
	}
	ans, err := b.decide(ent, &Request{
		Tenant: ent.tenant, Execution: ent.state.Execution, CorrelationID: c.req.CorrelationID,
		Command: flow.StartNode{Node: row.Node, Attempt: n.Attempt + 1, Worker: c.req.Worker, Lease: c.req.Lease},
		Actor:   flow.Actor{Kind: flow.KindExternal, ID: c.req.Worker},
	})
	if err != nil {
		return err
	}
	if ans.Refused != nil {
		return fault.Wrap("engine.claim", ans.Refused) // a READY task of an active execution can always start
	}
	n, _ = ent.state.Find(row.Node)
	task, err := b.task(ent, taskRef{Node: row.Node, Attempt: n.Attempt, LeaseUntil: n.LeaseUntil})
	if err != nil {
		return err
	}
	c.out.Tasks = append(c.out.Tasks, task)
	b.started++
	b.weight += task.size()
	return nil
}

func (b *batch) rememberClaim(c *claim) error {
	if c.req.Once.Key == "" {
		return nil
	}
	body := storedKey{Corr: c.req.CorrelationID}
	for _, t := range c.out.Tasks {
		body.Tasks = append(body.Tasks, taskRef{Execution: t.Execution, Node: t.Node, Attempt: t.Attempt, LeaseUntil: t.LeaseUntil})
	}
	return b.rememberKey(c.req.Tenant, &c.req.Once, &body)
}

// flight holds the claims that are under way, by their keys: a second request
// with the same key gets the outcome of the first.
type flight struct {
	mu  sync.Mutex
	all map[KeyRef]*inFlight
}

type inFlight struct {
	once wire.Once
	at   flow.Time
	done chan struct{}
	out  Claimed
	err  error
}

// Claim gives ready tasks to a worker, waiting for some as long as the request
// says. The tasks are started, durably, when it returns.
func (e *Engine) Claim(ctx context.Context, req ClaimRequest) (Claimed, error) {
	if req.Once.Key == "" {
		return e.claim(ctx, req)
	}
	ref := KeyRef{Tenant: req.Tenant, Endpoint: req.Once.Endpoint, Key: req.Once.Key}
	e.flight.mu.Lock()
	if first := e.flight.all[ref]; first != nil {
		e.flight.mu.Unlock()
		return e.joinClaim(ctx, &req, first)
	}
	mine := &inFlight{once: req.Once, at: flow.At(e.clock.Now()), done: make(chan struct{})}
	if e.flight.all == nil {
		e.flight.all = map[KeyRef]*inFlight{}
	}
	e.flight.all[ref] = mine
	e.flight.mu.Unlock()
	mine.out, mine.err = e.claim(ctx, req)
	e.flight.mu.Lock()
	delete(e.flight.all, ref)
	e.flight.mu.Unlock()
	close(mine.done)
	return mine.out, mine.err
}

func (e *Engine) joinClaim(ctx context.Context, req *ClaimRequest, first *inFlight) (Claimed, error) {
	if first.once.Hash != req.Once.Hash {
		return Claimed{}, e.conflict(&req.Once, first.once.Members, first.at)
	}
	select {
	case <-first.done:
		if first.err == errGone { // its caller left; this one is still there
			return e.Claim(ctx, *req)
		}
		out := first.out
		out.Replay = len(out.Tasks) > 0
		return out, first.err
	case <-ctx.Done():
		return Claimed{}, errGone
	}
}

func (e *Engine) claim(ctx context.Context, req ClaimRequest) (Claimed, error) {
	type outcome struct {
		out Claimed
		err error
	}
	done := make(chan outcome, 1)
	withdraw := e.offerClaim(req, func(out Claimed, err error) { done <- outcome{out, err} })
	e.help(ctx)
	timer := time.NewTimer(req.Wait)
	defer timer.Stop()
	for {
		select {
		case o := <-done:
			return o.out, o.err
		case <-timer.C:
			if req.Wait > 0 && withdraw() {
				return Claimed{}, nil
			}
			timer.Reset(maxIdle) // it is being served; should that commit fail, it waits again
		case <-ctx.Done():
			if withdraw() {
				return Claimed{}, errGone
			}
			// It is being served: that commit answers it, or lets it wait again.
			select {
			case o := <-done:
				return o.out, o.err
			case <-time.After(leaveAgain):
			}
		}
	}
}

// leaveAgain is how soon a caller that cannot leave, since its claim is being
// served, tries again.
const leaveAgain = 5 * time.Millisecond

// OfferClaim hands a claim to the loop; done gets its answer. withdraw takes it
// back and reports whether that was in time; then done is never called.
func (e *Engine) OfferClaim(req ClaimRequest, done func(Claimed, error)) (withdraw func() bool) {
	withdraw = e.offerClaim(req, done)
	e.q.wake()
	return withdraw
}

func (e *Engine) offerClaim(req ClaimRequest, done func(Claimed, error)) (withdraw func() bool) {
	c := &claim{req: req, until: e.clock.Now().Add(req.Wait)}
	c.done = func(out Claimed, err error) {
		e.claimers.Add(-1)
		done(out, err)
	}
	if e.claimers.Add(1) > MaxClaimers {
		c.finish(errBusy)
	} else if err := e.q.putClaim(c); err != nil {
		c.finish(err)
	}
	return func() bool {
		left := c.phase.CompareAndSwap(claimOpen, claimWithdrawn)
		if left {
			e.claimers.Add(-1)
		}
		return left
	}
}
