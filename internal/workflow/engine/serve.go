package engine

import (
	"errors"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// serve gives ready tasks to those who want them, until the commit is full: what
// became ready just now to those who wait, in their order, then what is left to the
// new claims.
func (b *batch) serve(w *work) error {
	if !w.alone {
		if err := b.offer(); err != nil {
			return err
		}
	}
	if b.postponed = b.spent() > 2*MaxSlice && !b.e.postponed && !w.alone; b.postponed {
		b.left = w.claims
		return nil
	}
	began := b.spent()
	for i, c := range w.claims {
		if b.full() || i > 0 && b.spent()-began >= MaxSlice && !w.alone {
			b.left = w.claims[i:]
			break
		}
		if !c.reserve() {
			continue // withdrawn
		}
		b.served = append(b.served, c)
		_ = b.pay(c.req.Tenant, func() error { c.err = b.claim(c); return nil })
		if abortsCommit(c.err) {
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
		c, first := b.waiter(queueKey{t.row.Tenant, t.row.Queue}, got)
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
func (b *batch) waiter(key queueKey, got []*claim) (c *claim, first bool) {
	for _, c := range got {
		if c.req.Tenant == key.tenant && len(c.out.Tasks) < c.req.Max && c.wants(key.queue) {
			return c, false
		}
	}
	l := b.e.taskQueues[key]
	if l == nil {
		return nil, false
	}
	for len(l.waiters) > 0 && l.waiters[0].phase.Load() >= claimWithdrawn {
		l.waiters = l.waiters[1:]
	}
	for _, c := range l.waiters {
		if c.reserve() {
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
	c.began, c.cold = b.spent(), false
	for _, q := range c.req.Queues {
		if err := b.claimReady(c, q); err != nil {
			return err
		}
	}
	switch {
	case len(c.out.Tasks) > 0:
		return b.rememberClaim(c)
	case c.req.Wait > 0 && b.e.clock.Now().Before(c.until) && !b.e.draining.Load():
		b.served = b.served[:len(b.served)-1]
		b.waiting = append(b.waiting, c)
		c.asked.Store(true)
		c.release()
	}
	return nil
}

func (b *batch) replayClaim(c *claim, known *storedKey) error {
	c.out.Replay = true
	var err error
	c.out.Tasks, err = b.tasks(c.req.Tenant, known.Tasks)
	return err
}

// tasks are those that a key remembers.
func (b *batch) tasks(tenant string, refs []taskRef) (tasks []Task, err error) {
	for _, ref := range refs {
		ent, err := b.entry(tenant, ref.Execution)
		if err != nil {
			return nil, err
		}
		task, err := b.task(ent, ref)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// taskRefs are what a key remembers of tasks.
func taskRefs(tasks []Task) (refs []taskRef) {
	for i := range tasks {
		t := &tasks[i]
		refs = append(refs, taskRef{Execution: t.Execution, Node: t.Node, Attempt: t.Attempt, LeaseUntil: t.LeaseUntil})
	}
	return refs
}

// takeReady starts tasks of a queue for a claim, oldest first.
func (b *batch) claimReady(c *claim, queue string) error {
	key := queueKey{c.req.Tenant, queue}
	l := b.e.taskQueue(key)
	limit := MaxWindow
	if !b.e.cfg.Exclusive {
		// Others make tasks ready too, and what is read is locked until the commit.
		limit = c.req.Max - len(c.out.Tasks)
		l.rows, l.more = nil, limit > 0
		defer func() { l.rows, l.more = nil, true }()
	}
	defer func() {
		if c.cold { // what stays is read again
			l.rows, l.more = nil, true
		}
	}()
	var last ReadyRow
	for b.hasRoom(c) {
		for len(l.rows) == 0 && l.more {
			rows, err := b.tx.Ready(b.ctx, key.tenant, key.queue, last, limit)
			if err != nil {
				return fault.Wrap("engine.ready", err)
			}
			if l.more = len(rows) == limit; l.more {
				last = rows[len(rows)-1]
			}
			l.rows = b.notTaken(rows)
		}
		n := min(len(l.rows), c.req.Max-len(c.out.Tasks))
		if n == 0 {
			break
		}
		if b.ahead() == 1 {
			n = ofOneExecution(l.rows[:n])
		}
		n, err := b.startRows(c, l.rows[:n])
		if err != nil {
			return err
		}
		l.rows = rest(l.rows, n)
	}
	for i := 0; i < len(b.ready) && b.hasRoom(c); i++ {
		t := b.ready[i]
		if t.ent != nil && t.row.Tenant == key.tenant && t.row.Queue == queue {
			if err := b.startReady(c, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasRoom reports whether a claim gets more tasks. What it has is enough once the commit has
// no more time.
func (b *batch) hasRoom(c *claim) bool {
	late := len(c.out.Tasks) > 0 && b.spent()-c.began >= MaxSlice
	return len(c.out.Tasks) < c.req.Max && !b.heavy() && !late
}

// ofOneExecution counts the tasks at the front that are of the same execution.
func ofOneExecution(rows []ReadyRow) int {
	n := 1
	for n < len(rows) && rows[n].Execution == rows[0].Execution {
		n++
	}
	return n
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
	if len(b.deleted) == 0 {
		return rows
	}
	gone := make(map[ReadyRow]bool, len(b.deleted))
	for _, r := range b.deleted {
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
// gives how many it looked at. A row without an execution is deleted; one whose
// execution cannot be used stays, for the day that it can.
func (b *batch) startRows(c *claim, rows []ReadyRow) (int, error) {
	var wants []Want
	asked := map[int64]bool{} // tasks of one execution mostly follow each other
	for _, r := range rows {
		if !asked[r.Execution] && b.byNum(r.Execution) == nil {
			asked[r.Execution] = true
			wants = append(wants, b.wantNum(r))
		}
	}
	left, err := b.fetchNums(wants)
	if err != nil {
		return 0, err
	}
	for i, r := range rows {
		if b.heavy() {
			return i, nil
		}
		ent := b.nums[r.Execution]
		switch {
		case ent != nil:
			if err := b.start(c, ent, r); err != nil {
				return 0, err
			}
		case !slices.Contains(left, r.Execution):
			b.deleted = append(b.deleted, r)
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

// wantNum asks for the execution of a ready task.
func (b *batch) wantNum(r ReadyRow) Want {
	w := Want{Tenant: r.Tenant, Num: r.Execution}
	if ent := b.e.cache.byNum[r.Execution]; ent != nil {
		w.ID, w.Known = ent.state.Execution, ent.commitNo
	}
	return w
}

// fetchNums makes entries available, in one read, and gives the numbers of those
// that cannot be used.
func (b *batch) fetchNums(wants []Want) (left []int64, err error) {
	if len(wants) == 0 {
		return nil, nil
	}
	histories, err := b.lock(wants)
	if err != nil {
		return nil, err
	}
	for i := range histories {
		h := &histories[i]
		if !h.Found || b.nums[h.Head.Num] != nil { // two tasks of one execution
			continue
		}
		if h.Locked {
			left = append(left, h.Head.Num)
			continue
		}
		if h.Fresh {
			b.fresh(h.Head.ID, h)
			continue
		}
		ent, err := rebuild(h)
		if err != nil {
			b.e.cfg.Log.ErrorContext(b.ctx, "a ready task is left out, its log is damaged", "error", err)
			left = append(left, h.Head.Num)
			continue
		}
		b.use(h.Head.ID, ent)
	}
	return left, nil
}

// start starts one ready task for a claim. A row that no longer tells the truth
// is deleted.
func (b *batch) start(c *claim, ent *entry, row ReadyRow) error {
	n, _ := ent.state.Find(row.Node)
	if n == nil || n.Status != flow.NodeIsReady || n.Cause.At != row.At {
		b.deleted = append(b.deleted, row)
		return nil
	}
	ans, err := b.decide(ent, &Request{
		Tenant: ent.tenant, Execution: ent.state.Execution, CorrelationID: c.req.CorrelationID,
		Command: flow.StartNode{Node: row.Node, Attempt: n.Attempt + 1, Worker: c.req.Worker, Lease: c.req.Lease},
		Actor:   flow.Actor{Kind: flow.KindExternal, ID: c.req.Worker},
	})
	if g, ok := errors.AsType[coldGraph](err); ok { // it stays ready
		key := queueKey{row.Tenant, row.Queue}
		b.e.warmLater(g, key, func() { b.e.q.wakeClaims(key, MaxClaimers) })
		c.cold = true
		return nil
	}
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
	if c.ready == 0 || row.At < c.ready {
		c.ready = row.At
	}
	b.started++
	b.weight += task.size()
	return nil
}

func (b *batch) rememberClaim(c *claim) error {
	if c.req.Once.Key == "" {
		return nil
	}
	return b.rememberKey(c.req.Tenant, &c.req.Once, &storedKey{Corr: c.req.CorrelationID, Tasks: taskRefs(c.out.Tasks)})
}
