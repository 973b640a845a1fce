package engine

import (
	"errors"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// claimServer serves the claims of a commit: it starts ready tasks for them.
type claimServer struct {
	b         *batch
	served    []*claim // answered when the commit is durable
	waiting   []*claim // to wait for tasks when the commit is durable
	left      []*claim // for the next commit, since this one is full
	postponed bool     // they wait for the next commit, since this one took long before them
	started   int      // tasks that they got
	weight    int      // bytes of their data
}

// serve gives what became ready just now to those who wait, in their order, then what is left to
// the new claims, until the commit is full.
func (s *claimServer) serve(w *work) error {
	if !w.alone {
		if err := s.offer(); err != nil {
			return err
		}
	}
	if s.postponed = s.b.spent() > 2*MaxSlice && !s.b.e.postponed && !w.alone; s.postponed {
		s.left = w.claims
		return nil
	}
	began := s.b.spent()
	for i, c := range w.claims {
		if s.full() || i > 0 && s.b.spent()-began >= MaxSlice && !w.alone {
			s.left = w.claims[i:]
			break
		}
		if !c.reserve() {
			continue // withdrawn
		}
		s.served = append(s.served, c)
		_ = s.b.pay(c.req.Tenant, func() error { c.err = s.claim(c); return nil })
		if abortsCommit(c.err) {
			return c.err
		}
	}
	return nil
}

// full reports whether the claims of this commit have started enough. The last one
// may have its tasks all the same, unless they are heavy.
func (s *claimServer) full() bool { return s.started >= MaxBatch || s.heavy() }

func (s *claimServer) heavy() bool { return s.weight >= MaxClaimData }

// offer starts tasks that became ready in this commit for claims that wait.
func (s *claimServer) offer() error {
	var got []*claim
	for i := 0; i < len(s.b.ready) && !s.full(); i++ {
		t := s.b.ready[i]
		if t.ent == nil {
			continue
		}
		c, first := s.waiter(queueKey{t.row.Tenant, t.row.Queue}, got)
		if c == nil {
			continue
		}
		if first {
			got = append(got, c)
			s.served = append(s.served, c)
		}
		if err := s.startReady(c, t); err != nil {
			return err
		}
	}
	for _, c := range got {
		if err := s.rememberClaim(c); err != nil {
			return err
		}
	}
	return nil
}

// waiter finds the first claim that waits in a queue and has room; first says that it has nothing from this commit yet.
// A claim stays in the queue until it is answered, in case the commit fails.
func (s *claimServer) waiter(key queueKey, got []*claim) (c *claim, first bool) {
	for _, c := range got {
		if c.req.Tenant == key.tenant && len(c.out.Tasks) < c.req.Max && c.wants(key.queue) {
			return c, false
		}
	}
	l := s.b.e.tasks.all[key]
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
func (s *claimServer) claim(c *claim) error {
	known, err := s.b.keys.recall(s.b.now, c.req.Tenant, &c.req.Idempotency)
	if err != nil {
		return err
	}
	if known != nil {
		c.out.Replay = true
		c.out.Tasks, err = s.b.tasks(c.req.Tenant, known.Tasks)
		return err
	}
	c.began, c.cold = s.b.spent(), false
	for _, q := range c.req.Queues {
		if err := s.claimReady(c, q); err != nil {
			return err
		}
	}
	switch {
	case len(c.out.Tasks) > 0:
		return s.rememberClaim(c)
	case c.req.Wait > 0 && s.b.e.clock.Now().Before(c.until) && !s.b.e.draining.Load():
		s.served = s.served[:len(s.served)-1]
		s.waiting = append(s.waiting, c)
		c.asked.Store(true)
		c.release()
	}
	return nil
}

func taskRefs(tasks []Task) (refs []taskRef) {
	for i := range tasks {
		t := &tasks[i]
		refs = append(refs, taskRef{Execution: t.Execution, Node: t.Node, Attempt: t.Attempt, LeaseUntil: t.LeaseUntil})
	}
	return refs
}

// claimReady starts tasks of a queue for a claim, oldest first.
func (s *claimServer) claimReady(c *claim, queue string) error {
	key := queueKey{c.req.Tenant, queue}
	l := s.b.e.tasks.of(key)
	limit := MaxWindow
	if !s.b.e.cfg.Exclusive {
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
	for s.hasRoom(c) {
		for len(l.rows) == 0 && l.more {
			rows, err := s.b.tx.Ready(s.b.ctx, key.tenant, key.queue, last, limit)
			if err != nil {
				return fault.Wrap("engine.ready", err)
			}
			if l.more = len(rows) == limit; l.more {
				last = rows[len(rows)-1]
			}
			l.rows = s.notTaken(rows)
		}
		n := min(len(l.rows), c.req.Max-len(c.out.Tasks))
		if n == 0 {
			break
		}
		if s.b.ahead() == 1 {
			n = ofOneExecution(l.rows[:n])
		}
		n, err := s.startRows(c, l.rows[:n])
		if err != nil {
			return err
		}
		l.rows = rest(l.rows, n)
	}
	for i := 0; i < len(s.b.ready) && s.hasRoom(c); i++ {
		t := s.b.ready[i]
		if t.ent != nil && t.row.Tenant == key.tenant && t.row.Queue == queue {
			if err := s.startReady(c, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasRoom reports whether a claim gets more tasks: not once the commit has no more time.
func (s *claimServer) hasRoom(c *claim) bool {
	late := len(c.out.Tasks) > 0 && s.b.spent()-c.began >= MaxSlice
	return len(c.out.Tasks) < c.req.Max && !s.heavy() && !late
}

func ofOneExecution(rows []ReadyRow) int {
	n := 1
	for n < len(rows) && rows[n].Execution == rows[0].Execution {
		n++
	}
	return n
}

// startReady starts a task that this commit made ready. Its entry is read again
// when a unit was undone since.
func (s *claimServer) startReady(c *claim, t readyTask) error {
	if t.ent.void {
		_, err := s.startRows(c, []ReadyRow{t.row})
		return err
	}
	return s.start(c, t.ent, t.row)
}

func (s *claimServer) notTaken(rows []ReadyRow) []ReadyRow {
	if len(s.b.deleted) == 0 {
		return rows
	}
	gone := make(map[ReadyRow]bool, len(s.b.deleted))
	for _, r := range s.b.deleted {
		gone[r] = true
	}
	return slices.DeleteFunc(rows, func(r ReadyRow) bool { return gone[r] })
}

// startRows starts tasks that were ready before this commit, until it is heavy, and gives how many
// it looked at. A row without an execution is deleted; one whose execution cannot be used stays.
func (s *claimServer) startRows(c *claim, rows []ReadyRow) (int, error) {
	var wants []Want
	asked := map[int64]bool{} // tasks of one execution mostly follow each other
	for _, r := range rows {
		if !asked[r.Execution] && s.byNum(r.Execution) == nil {
			asked[r.Execution] = true
			wants = append(wants, s.wantNum(r))
		}
	}
	var left []int64 // executions that cannot be used
	err := s.b.fetchOr(wants, rebuild, func(w *Want, err error) {
		switch {
		case fault.KindOf(err) == fault.NotFound:
			return
		case !errors.Is(err, errLocked):
			s.b.e.cfg.Log.ErrorContext(s.b.ctx, "a ready task is left out, its log is damaged", "error", err)
		}
		left = append(left, w.Num)
	})
	if err != nil {
		return 0, err
	}
	for i, r := range rows {
		if s.heavy() {
			return i, nil
		}
		ent := s.b.nums[r.Execution]
		switch {
		case ent != nil:
			if err := s.start(c, ent, r); err != nil {
				return 0, err
			}
		case !slices.Contains(left, r.Execution):
			s.b.deleted = append(s.b.deleted, r)
		}
	}
	return len(rows), nil
}

func (s *claimServer) byNum(num int64) *entry {
	if ent := s.b.nums[num]; ent != nil {
		return ent
	}
	if ent := s.b.e.cache.byNum[num]; ent != nil && s.b.e.cfg.Exclusive {
		s.b.use(ent.state.Execution, ent)
		return ent
	}
	return nil
}

func (s *claimServer) wantNum(r ReadyRow) Want {
	w := Want{Tenant: r.Tenant, Num: r.Execution}
	if ent := s.b.e.cache.byNum[r.Execution]; ent != nil {
		w.ID, w.Known = ent.state.Execution, ent.commitNo
	}
	return w
}

// start starts one ready task for a claim. A stale row is deleted.
func (s *claimServer) start(c *claim, ent *entry, row ReadyRow) error {
	n, _ := ent.state.Find(row.Node)
	if n == nil || n.Status != flow.NodeIsReady || n.Cause.At != row.At {
		s.b.deleted = append(s.b.deleted, row)
		return nil
	}
	ans, err := s.b.decide(ent, &Request{
		Tenant: ent.tenant, Execution: ent.state.Execution, CorrelationID: c.req.CorrelationID,
		Command: flow.StartNode{Node: row.Node, Attempt: n.Attempt + 1, Worker: c.req.Worker, Lease: c.req.Lease},
		Actor:   flow.Actor{Kind: flow.KindExternal, ID: c.req.Worker},
	})
	if g, ok := errors.AsType[coldGraph](err); ok { // it stays ready
		key := queueKey{row.Tenant, row.Queue}
		s.b.e.warmLater(g, key, func() { s.b.e.q.wakeClaims(key, MaxClaimers) })
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
	task, err := s.b.task(ent, taskRef{Node: row.Node, Attempt: n.Attempt, LeaseUntil: n.LeaseUntil})
	if err != nil {
		return err
	}
	c.out.Tasks = append(c.out.Tasks, task)
	if c.ready == 0 || row.At < c.ready {
		c.ready = row.At
	}
	s.started++
	s.weight += task.size()
	return nil
}

func (s *claimServer) rememberClaim(c *claim) error {
	if c.req.Idempotency.Key == "" {
		return nil
	}
	return s.b.keys.remember(s.b.now, c.req.Tenant, &c.req.Idempotency,
		&storedKey{Corr: c.req.CorrelationID, Tasks: taskRefs(c.out.Tasks)})
}
