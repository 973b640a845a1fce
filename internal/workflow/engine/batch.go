package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// batch is one commit in the making. When it fails, the cached entries that it changed are dropped.
type batch struct {
	e   *Engine
	ctx context.Context
	tx  Tx
	now flow.Time

	began time.Time // when it was begun, by the clock of this process

	used map[flow.ID]*entry // entries of this commit, read or created by it
	nums map[int64]*entry   // the same, by their numbers
	all  []*entry           // the same and those that were undone, in order of first use
	gone map[lookup]error   // looked for: why there is no entry, nil when there is one

	open     []*entry         // entries with an open row, in order
	ready    []readyTask      // became ready and wait for a worker
	readyAt  map[readyKey]int // their places, which what was undone since is gone from
	keys     keyTable
	business businessKeys
	newest   map[planKey]*flow.Plan // newest versions that this commit has read
	deleted  []ReadyRow             // to delete
	ended    []ReadyRow             // of tasks that nobody will start
	claims   claimServer
	slice    timeSlice
	changed  []flow.ID // executions that got events
	noted    []flow.ID // executions that got commands alone
	ill      []flow.ID // executions whose deadlines could not be handled
	due      flow.Time // earliest deadline written

	bill   map[string]time.Duration // what tenants cost
	events int                      // that were decided
	rows   int                      // of ready tasks that they add or take away
	opened int                      // executions that they are about
}

type lookup struct {
	tenant string
	id     flow.ID
}

// readyTask is a Task that this commit made ready.
type readyTask struct {
	row     ReadyRow
	ent     *entry // nil: no longer ready
	written bool   // it has its row: a unit made the commit write before its end
}

type readyKey struct {
	execution int64
	node      string
}

// openRow is the log row that a commit is adding to an entry.
type openRow struct {
	firstSeq uint64
	body     []byte
	records  []*record
	due      flow.Time // the earliest deadline that its events set; 0: none
	created  bool      // the execution is new
	swept    bool      // all due deadlines were looked at: DueAt may become later

	waits     map[string]bool // nodes that began or ceased to wait: whether they waited before
	waitOrder []string        // the same, in order
}

func (r *openRow) event(seq uint64) *flow.Event {
	if r == nil || seq < r.firstSeq {
		return nil
	}
	return eventOf(r.records, seq)
}

// fetch makes entries available, in one read, and notes in gone those that cannot be used.
func (b *batch) fetch(wants []Want, rebuild func(*History) (*entry, error)) error {
	return b.fetchOr(wants, rebuild, func(w *Want, err error) { b.gone[lookup{w.Tenant, w.ID}] = err })
}

// fetchOr makes entries available, in one read. fail is called for those that are not found, damaged,
// locked elsewhere or not rebuilt.
func (b *batch) fetchOr(wants []Want, rebuild func(*History) (*entry, error), fail func(*Want, error)) error {
	if len(wants) == 0 {
		return nil
	}
	histories, err := b.lock(wants)
	if err != nil {
		return err
	}
	for i := range histories {
		h, want := &histories[i], &wants[i]
		switch {
		case !h.Found:
			fail(want, notFound(want.ID))
		case h.Locked:
			fail(want, fault.Wrap("engine.fetch", errLocked))
		case h.Fresh:
			ent := b.e.cache.get(want.ID)
			if h.Head.Num != 0 {
				ent.head = h.Head // another process moves DueAt without a row in the log
			}
			b.use(want.ID, ent)
		default:
			ent, err := rebuild(h)
			if err != nil {
				fail(want, unusableLog(err))
				continue
			}
			b.use(h.Head.ID, ent)
		}
	}
	return nil
}

// lock reads executions and holds them until the commit: nothing is written to them later than now.
func (b *batch) lock(wants []Want) ([]History, error) {
	histories, err := b.tx.Fetch(b.ctx, wants)
	if err != nil {
		return nil, fault.Wrap("engine.fetch", err)
	}
	if b.now == 0 || b.e.cfg.Exclusive {
		return histories, nil
	}
	now, err := b.tx.Now(b.ctx, flow.At(b.e.clock.Now()))
	b.now = max(b.now, now)
	return histories, fault.Wrap("engine.now", err)
}

func (b *batch) use(id flow.ID, ent *entry) {
	b.used[id], b.nums[ent.num] = ent, ent
	b.all = append(b.all, ent)
}

// want lists what must be read before a decision on these executions.
func (b *batch) want(wants []Want, tenant string, id flow.ID) []Want {
	key := lookup{tenant, id}
	if _, asked := b.gone[key]; asked || id.IsZero() || b.used[id] != nil {
		return wants
	}
	w := Want{Tenant: tenant, ID: id}
	if ent := b.e.cache.get(id); ent != nil {
		if b.e.cfg.Exclusive {
			b.use(id, ent)
			return wants
		}
		w.Num, w.Known = ent.num, ent.commitNo
	}
	b.gone[key] = nil
	return append(wants, w)
}

func (b *batch) entry(tenant string, id flow.ID) (*entry, error) {
	ent := b.used[id]
	if ent == nil {
		if err := b.fetch(b.want(nil, tenant, id), rebuild); err != nil {
			return nil, err
		}
		if err := b.gone[lookup{tenant, id}]; err != nil {
			return nil, err
		}
		ent = b.used[id]
	}
	if ent == nil || ent.tenant != tenant {
		return nil, notFound(id)
	}
	return ent, nil
}

// damage is a log that gives no state. It undoes nothing of what others do in the same commit.
type damage struct{ error }

func unusableLog(err error) error {
	if errors.Is(err, errLong) {
		return err
	}
	return damaged(err)
}

func damaged(err error) error {
	return &fault.Error{
		Op: "engine.rebuild", Message: "the log of the execution is damaged; it must be restored from a backup",
		Reason: fault.Damaged, Err: damage{err},
	}
}

func notFound(id flow.ID) error {
	return fault.New(fault.NotFound, "EXECUTION_NOT_FOUND", "execution %v does not exist", id)
}

// run decides one request. An error is an answer to it unless it abortsCommit.
func (b *batch) run(req *Request) (Answer, error) {
	if _, ok := req.Command.(flow.Create); ok {
		return b.create(req)
	}
	ent, err := b.entry(req.Tenant, req.Execution)
	if err != nil {
		return Answer{}, err
	}
	if req.Idempotency.Key != "" {
		rec, err := b.recall(ent, req)
		if err != nil {
			return Answer{}, err
		}
		if rec != nil {
			ans, err := b.answer(ent, rec)
			ans.Replay = true
			return ans, err
		}
	}
	return b.decide(ent, req)
}

// recall finds what an execution remembers under an idempotency key.
func (b *batch) recall(ent *entry, req *Request) (*record, error) {
	name, node := req.Command.Name(), req.Command.Target()
	for _, commit := range ent.keys.rows(keyHash(name, node, req.Idempotency.Key)) {
		records, err := b.records(ent, commit)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.Command != name || r.Node != node || r.Idempotency.Key != req.Idempotency.Key {
				continue
			}
			if r.At+b.e.retention <= b.now {
				return nil, nil
			}
			if r.Idempotency.Hash != req.Idempotency.Hash {
				return nil, b.e.conflict(&req.Idempotency, r.Idempotency.Members, r.At)
			}
			return r, nil
		}
	}
	return nil, nil
}

func (b *batch) records(ent *entry, commit int64) ([]*record, error) {
	if ent.open != nil && commit == ent.commitNo {
		return ent.open.records, nil
	}
	row, err := b.tx.Row(b.ctx, ent.num, commit)
	if err != nil {
		return nil, fault.Wrap("engine.recall", err)
	}
	return parseRow(ent.state.Execution, &row)
}

// decide asks flow and adds its events to the commit.
func (b *batch) decide(ent *entry, req *Request) (Answer, error) {
	if err := b.planOf(ent); err != nil {
		return Answer{}, err
	}
	if len(ent.keys.all) >= MaxKeys && req.Idempotency.Key != "" && !isCancel(req) {
		return Answer{}, fault.New(fault.TooLarge, "EXECUTION_TOO_LARGE",
			"execution %v remembers %d keys, the most that one execution may", ent.state.Execution, MaxKeys)
	}
	if err := b.checkWork(ent, req); err != nil {
		return Answer{}, err
	}
	req = inChain(ent, req)
	rec := &record{
		Command: req.Command.Name(), Node: req.Command.Target(), Idempotency: req.Idempotency,
		At: b.now, Corr: req.CorrelationID, Actor: req.Actor,
	}
	cleanup, err := b.compensation(ent, req)
	if err != nil {
		return Answer{}, err
	}
	events, err := b.ask(ent, req, cleanup.id)
	if refusal, ok := errors.AsType[*flow.Refusal](err); ok {
		rec.Refused = refusal
		rec.Late = lateResult(ent, req, refusal, b.now)
		if rec.Idempotency.Key == "" && rec.Late == nil {
			return b.answer(ent, rec)
		}
	} else if err != nil {
		return Answer{}, err
	}
	if err := cleanup.start(b, ent, events); err != nil {
		return Answer{}, err
	}
	return b.addRecord(ent, rec, events)
}

// inChain is a command that names its chain of work: without a correlation id it is of the execution's.
func inChain(ent *entry, req *Request) *Request {
	if req.CorrelationID != "" {
		return req
	}
	named := *req
	named.CorrelationID = ent.state.CorrelationID
	return &named
}

// ask calls flow.Decide, fetching data that the state holds by reference.
func (b *batch) ask(ent *entry, req *Request, compensation flow.ID) ([]flow.Event, error) {
	facts := flow.Facts{
		Now: b.now, ID: b.e.newID(b.now), Plan: ent.plan, Actor: req.Actor,
		CorrelationID: req.CorrelationID, Execution: ent.state.Execution, Accepted: req.accepted,
		Compensation: compensation,
	}
	for {
		events, err := flow.Decide(ent.state, req.Command, facts)
		need, ok := errors.AsType[flow.Need](err)
		if !ok {
			return events, err
		}
		if facts.Outputs == nil {
			facts.Outputs = map[uint64]flow.Data{}
		}
		for _, seq := range need {
			if _, known := facts.Outputs[seq]; known {
				return nil, fmt.Errorf("engine: %s asks twice for event %d", req.Command.Name(), seq)
			}
		}
		full, err := b.outputs(ent, need, flow.MaxOutputs, facts.Outputs)
		if err != nil {
			return nil, err
		}
		facts.Full = facts.Full || full
	}
}

// addRecord adds a record with its events to the commit and gives the answer.
func (b *batch) addRecord(ent *entry, rec *record, events []flow.Event) (Answer, error) {
	if len(events) == 0 && rec.Idempotency.Key == "" && rec.Late == nil {
		return b.answer(ent, rec)
	}
	row := b.openRow(ent)
	b.events += len(events)
	rec.Events = events
	for i := range events {
		ev := &events[i]
		b.apply(ent, ev)
		if p, ok := ev.Payload.(*flow.NodeStarted); ok && rec.Command != (flow.StartNode{}).Name() {
			rec.Task = &taskRef{Node: p.NodeID, Attempt: p.Attempt, LeaseUntil: p.LeaseUntil}
		}
	}
	if len(events) > 0 {
		rec.Actor = events[0].Actor
	}
	if rec.Command == (flow.Cancel{}).Name() && rec.Refused == nil {
		rec.CancelSeq = ent.state.CancelSeq
	}
	if len(row.body) > 0 {
		row.body = append(row.body, ',')
	} else {
		row.body = append(row.body, '[')
	}
	var err error
	if row.body, err = appendRecord(row.body, rec); err != nil {
		return Answer{}, fault.Wrap("engine.record", err)
	}
	row.records = append(row.records, rec)
	ent.remember(rec)
	return b.answer(ent, rec)
}

func (b *batch) openRow(ent *entry) *openRow {
	if ent.open == nil {
		ent.open = &openRow{firstSeq: ent.state.Seq + 1, body: make([]byte, 0, 512)}
		ent.commitNo++
		b.opened++
		b.open = append(b.open, ent)
	}
	return ent.open
}

// apply applies one event to the state and notes what it means for ready tasks and deadlines.
func (b *batch) apply(ent *entry, ev *flow.Event) {
	name := ev.Payload.Node()
	if name == "" {
		ent.state = flow.Apply(ent.state, *ev)
		return
	}
	var was bool
	var at flow.Time
	n, _ := ent.state.Find(name)
	if ev.Type == flow.NodeWaitingType || n != nil && n.Status == flow.NodeIsWaiting {
		ent.open.noteWait(n, name)
	}
	if n != nil && n.Kind == flow.TaskKind && n.Status == flow.NodeIsReady {
		was, at = true, n.Cause.At
	}
	ent.state = flow.Apply(ent.state, *ev)
	var i int
	n, i = ent.state.Find(name)
	is := n.Kind == flow.TaskKind && n.Status == flow.NodeIsReady
	switch {
	case is && !was:
		b.rows++
		b.readyAt[readyKey{ent.num, name}] = len(b.ready)
		b.ready = append(b.ready, readyTask{row: b.readyRow(ent, i, n.Cause.At), ent: ent})
	case was && !is:
		row := b.readyRow(ent, i, at)
		b.unready(row)
		if n.Status != flow.NodeIsRunning {
			b.ended = append(b.ended, row)
		}
	}
	if d := n.Deadline(); d > 0 && (ent.open.due == 0 || d < ent.open.due) {
		ent.open.due = d
	}
}

func (b *batch) readyRow(ent *entry, node int, at flow.Time) ReadyRow {
	spec := ent.plan.Spec(node)
	return ReadyRow{Tenant: ent.tenant, Queue: spec.Queue, At: at, Execution: ent.num, Node: spec.NodeID}
}

// unready drops a task that this commit made ready, and deletes its row if it has one.
func (b *batch) unready(row ReadyRow) {
	i, here := b.readyAt[readyKey{row.Execution, row.Node}]
	here = here && i < len(b.ready) && b.ready[i].ent != nil && b.ready[i].row == row
	written := !here || b.ready[i].written
	switch {
	case here && i == len(b.ready)-1:
		b.ready = b.ready[:i]
	case here:
		b.ready[i].ent = nil
	}
	if !written {
		b.rows--
		return
	}
	b.rows++
	b.deleted = append(b.deleted, row)
}

func isCancel(req *Request) bool {
	_, ok := req.Command.(flow.Cancel)
	return ok
}
