package engine

import (
	"context"
	"sync"

	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// Reads answers what changes no execution. It goes to the store, never to the cache: what it shows is
// durable, and not older than what any process has answered.
type Reads struct {
	store   Store
	clock   Clock
	plans   plans
	watch   watchers
	changes changeReaders
	shared  bool // other processes write to the store
	held    heldTasks

	compilers *fair.Places // at work on large graphs
	warming   sync.Map     // large graphs that somebody is at for no caller, by warmth
	readers   *fair.Places // who read long executions: they have their place until that is decided
	rebuilt   rebuilt
}

func newReads(store Store, clock Clock) *Reads {
	return &Reads{
		store: store, clock: clock,
		compilers: fair.NewPlaces(fair.Config{Places: 2, Each: 1}),
		readers:   fair.NewPlaces(fair.Config{Places: 8, Each: 1}),
	}
}

// Execution is an execution now, or after event at.
func (r *Reads) Execution(ctx context.Context, tenant string, id flow.ID, at uint64) (View, error) {
	h, err := r.store.History(ctx, tenant, id, at)
	if err != nil {
		return View{}, readFault(id, err)
	}
	ent, err := rebuildTo(&h, at)
	if err != nil {
		return View{}, fault.Wrap("engine.read", damaged(err))
	}
	if at > 0 && ent.state.Seq < at {
		return View{}, fault.New(fault.NotFound, "EVENT_NOT_FOUND",
			"execution %v has %d events, there is no event %d", id, ent.state.Seq, at)
	}
	v := View{State: ent.state}
	if at > 0 {
		return v, nil // late results are no part of an earlier state
	}
	v.Late, err = r.lateResults(ctx, ent)
	return v, err
}

// MaxNowAt is how many nodes say where an execution is.
const MaxNowAt = 3

// NowAt are the first nodes of an execution that are ready, run or wait.
func (r *Reads) NowAt(ctx context.Context, tenant string, id flow.ID) ([]string, error) {
	s, err := r.state(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	nodes := []string{}
	for _, n := range s.Nodes {
		switch n.Status {
		case flow.NodeIsReady, flow.NodeIsRunning, flow.NodeIsWaiting:
			nodes = append(nodes, n.ID)
		}
		if len(nodes) == MaxNowAt {
			break
		}
	}
	return nodes, nil
}

// ByKey is the execution of a graph with a business key: the ACTIVE one, else the newest.
func (r *Reads) ByKey(ctx context.Context, key BusinessKey) (View, error) {
	id, err := r.store.ByKey(ctx, key)
	if fault.KindOf(err) == fault.NotFound {
		return View{}, fault.New(
			fault.NotFound,
			"EXECUTION_NOT_FOUND",
			"no execution of graph %s has the business key %q",
			key.GraphID,
			key.Key,
		)
	}
	if err != nil {
		return View{}, fault.Wrap("engine.bykey", err)
	}
	return r.Execution(ctx, key.Tenant, id, 0)
}

// Output is what a node has put out.
func (r *Reads) Output(ctx context.Context, tenant string, id flow.ID, node string) (flow.Data, error) {
	view, err := r.Execution(ctx, tenant, id, 0)
	if err != nil {
		return nil, err
	}
	n, _ := view.State.Find(node)
	switch {
	case n == nil:
		return nil, flow.NoNode(id, node)
	case n.Output.Size == 0:
		return nil, fault.New(fault.NotFound, "OUTPUT_NOT_FOUND",
			"node %s is %v and has put out nothing", node, n.Status)
	case n.Output.Seq == 0:
		return n.Output.Inline, nil
	}
	events, _, err := r.Events(ctx, tenant, id, n.Output.Seq, 1)
	if err != nil {
		return nil, err
	}
	return flow.DataOf(events[0].Payload), nil
}

// Head is the status of an execution and the seq of its last event.
func (r *Reads) Head(ctx context.Context, tenant string, id flow.ID) (flow.Status, uint64, error) {
	head, newest, err := r.store.Head(ctx, tenant, id)
	if err != nil {
		return 0, 0, readFault(id, err)
	}
	return head.Status, newest.LastSeq, nil
}

// rebuildTo is rebuild up to an event; 0 means all of it.
func rebuildTo(h *History, at uint64) (*entry, error) {
	if at == 0 || len(h.Rows) == 0 || h.Rows[len(h.Rows)-1].LastSeq <= at {
		return rebuild(h)
	}
	last := h.Rows[len(h.Rows)-1]
	before := *h
	before.Rows = h.Rows[:len(h.Rows)-1]
	ent, err := rebuild(&before)
	if err != nil {
		return nil, err
	}
	records, err := parseRow(h.Head.ID, &last)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		for _, ev := range r.Events {
			if ev.Seq <= at {
				ent.state = flow.Apply(ent.state, ev)
			}
		}
	}
	return ent, nil
}

func (r *Reads) lateResults(ctx context.Context, ent *entry) ([]LateResult, error) {
	var late []LateResult
	seen := int64(0)
	for _, commit := range ent.late {
		if commit == seen {
			continue // two in one row
		}
		seen = commit
		row, err := r.store.Row(ctx, ent.num, commit)
		if err != nil {
			return nil, fault.Wrap("engine.late", err)
		}
		records, err := parseRow(ent.state.Execution, &row)
		if err != nil {
			return nil, fault.Wrap("engine.late", err)
		}
		for _, r := range records {
			if r.Late != nil {
				late = append(late, *r.Late)
			}
		}
	}
	return late, nil
}

func readFault(id flow.ID, err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return notFound(id)
	}
	return fault.Wrap("engine.read", err)
}

// Events are up to limit events of an execution from one on, and the seq of its last.
func (r *Reads) Events(
	ctx context.Context, tenant string, id flow.ID, from uint64, limit int,
) ([]flow.Event, uint64, error) {
	head, newest, err := r.store.Head(ctx, tenant, id)
	if err != nil {
		return nil, 0, readFault(id, err)
	}
	if from > newest.LastSeq || limit == 0 {
		return nil, newest.LastSeq, nil
	}
	rows, err := r.store.Rows(ctx, head.Num, from, limit)
	if err != nil {
		return nil, 0, fault.Wrap("engine.events", err)
	}
	var events []flow.Event
	for i := range rows {
		records, err := parseRow(id, &rows[i])
		if err != nil {
			return nil, 0, fault.Wrap("engine.events", err)
		}
		for _, r := range records {
			for _, ev := range r.Events {
				if ev.Seq >= from && ev.Seq <= newest.LastSeq && len(events) < limit {
					events = append(events, ev)
				}
			}
		}
	}
	return events, newest.LastSeq, nil
}

// List is a page of executions, newest first, and how many match in all.
func (r *Reads) List(ctx context.Context, q ListQuery) ([]Head, int, error) {
	heads, total, err := r.store.List(ctx, q)
	return heads, total, fault.Wrap("engine.list", err)
}

// Walk gives up to q.Limit executions, oldest first, after the place of one.
func (r *Reads) Walk(ctx context.Context, q ListQuery, after Head) ([]Head, error) {
	heads, err := r.store.Walk(ctx, q, after)
	return heads, fault.Wrap("engine.walk", err)
}

// rowOf reads the row of a log that holds an event, and says how long it is.
func rowOf(ctx context.Context, log LogReader, num int64, id flow.ID, seq uint64) ([]*record, int, error) {
	rows, err := log.Rows(ctx, num, seq, 1)
	if err != nil {
		return nil, 0, fault.Wrap("engine.data", err)
	}
	for i := range rows {
		if seq >= rows[i].FirstSeq && seq <= rows[i].LastSeq {
			records, err := parseRow(id, &rows[i])
			return records, len(rows[i].Body), err
		}
	}
	return nil, 0, nil
}

// eventOf finds an event in the records of a row; nil: it is in another one.
func eventOf(row []*record, seq uint64) *flow.Event {
	for _, r := range row {
		if ev := r.event(seq); ev != nil {
			return ev
		}
	}
	return nil
}
