package engine

import (
	"context"
	"reflect"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// WaitRow is a node that waits for somebody.
type WaitRow struct {
	WaitRef
	GraphID   string
	CreatedAt flow.Time // of its execution
	Since     flow.Time // when it began to wait
	Until     flow.Time // when it ends by itself; 0: never
	Reminders int       // so far
	RemindAt  flow.Time // when the next reminder comes; 0: none
	WaitKey   string
	Prompt    flow.Data // nil when it is too large; PromptRef says where it is
	PromptRef PromptRef
	Assignees *flow.Assignees
	Awaits    *flow.Awaited // the message that resumes it; nil: none does

	// When it is read in a list.
	GraphVersion int
	Timer        bool // it goes on by itself at Until

	// Of its execution, when it is read or written.
	ID            flow.ID
	BusinessKey   string
	CorrelationID string

	Event flow.ID // when it is written: the NODE_WAITING that says so; zero: an older one
}

// AwaitingNode is a node that waits for a message.
type AwaitingNode struct {
	Execution flow.ID
	Node      string
}

// WaitRef names a node that waits.
type WaitRef struct {
	Tenant    string
	Execution int64
	Node      string
}

// PromptRef is the event that has a prompt, and its size.
type PromptRef struct {
	Seq  uint64
	Size int
}

// WaitQuery selects waits of one tenant.
type WaitQuery struct {
	Tenant  string
	GraphID string
	NodeID  string
	For     *flow.Principal // only those that this may resume; nil: all
	From    flow.Time       // since this instant or later
	After   WaitRow         // only those after this one: its Since, Execution and Node; zero: from the first
	Offset  int
	Limit   int
}

// Waits is a page of the nodes that wait, the longest waiting first, and how many there are in all.
func (r *Reads) Waits(ctx context.Context, q WaitQuery) ([]WaitRow, int, error) {
	rows, total, err := r.store.Waits(ctx, q)
	if err != nil {
		return nil, 0, fault.Wrap("engine.waits", err)
	}
	graphs := map[planKey]*flow.Graph{}
	for i := range rows {
		w := &rows[i]
		if w.Until == 0 || w.Awaits != nil {
			continue
		}
		if w.Timer, err = r.isTimer(ctx, w, graphs); err != nil {
			return nil, 0, err
		}
	}
	return rows, total, nil
}

// isTimer reports whether a node that waits is a Wait with a time after which it succeeds, as its graph says. What was
// read of graphs before is in graphs.
func (r *Reads) isTimer(ctx context.Context, w *WaitRow, graphs map[planKey]*flow.Graph) (bool, error) {
	key := planKey{w.Tenant, w.GraphID, w.GraphVersion}
	if graphs[key] == nil {
		row, err := r.Graph(ctx, w.Tenant, w.GraphID, w.GraphVersion)
		if err != nil {
			return false, err
		}
		g, err := flow.ParseGraph(row.Body, false)
		if err != nil {
			return false, fault.Wrap("engine.waits", err)
		}
		graphs[key] = &g
	}
	return slices.ContainsFunc(graphs[key].Nodes, func(n flow.NodeSpec) bool {
		return n.NodeID == w.Node && n.For != 0
	}), nil
}

// AssigneeNames are users, roles and groups as a list of waits finds them.
func AssigneeNames(users, roles, groups []string) []string {
	all := []string{}
	for _, side := range [...]struct {
		prefix string
		names  []string
	}{{"user:", users}, {"role:", roles}, {"group:", groups}} {
		for _, name := range side.names {
			all = append(all, side.prefix+name)
		}
	}
	return all
}

// noteWait remembers, before the first event of a commit about it, whether a node has a row among the waits.
func (r *openRow) noteWait(n *flow.Node, name string) {
	if _, known := r.waits[name]; known {
		return
	}
	if r.waits == nil {
		r.waits = map[string]bool{}
	}
	r.waits[name] = n != nil && n.Status == flow.NodeIsWaiting
	r.waitOrder = append(r.waitOrder, name)
}

// writeWaits adds what a commit changes among the waits. A node that was and is waiting has waited anew.
func writeWaits(ent *entry, open *openRow, out *Batch) {
	if ent.head.Waiting == unknown && !open.created {
		writeOlderWaits(ent, out)
		return
	}
	for _, name := range open.waitOrder {
		n, _ := ent.state.Find(name)
		if open.waits[name] {
			out.Waited = append(out.Waited, WaitRef{ent.tenant, ent.num, name})
		}
		if n.Status == flow.NodeIsWaiting {
			row := waitRow(ent, n)
			row.Event = open.waitingEvent(name)
			out.Waits = append(out.Waits, row)
		}
	}
}

// waitingEvent is the last event of a commit by which a node waits.
func (r *openRow) waitingEvent(node string) (id flow.ID) {
	for _, rec := range r.records {
		for i := range rec.Events {
			if ev := &rec.Events[i]; ev.Type == flow.NodeWaitingType && ev.Payload.Node() == node {
				id = ev.ID
			}
		}
	}
	return id
}

// writeOlderWaits adds all waits of an execution that has no rows among them yet.
func writeOlderWaits(ent *entry, out *Batch) {
	for _, n := range waitingNodes(&ent.state) {
		out.Waits = append(out.Waits, waitRow(ent, n))
	}
}

// waitRow is the row of a node that waits.
func waitRow(ent *entry, n *flow.Node) WaitRow {
	return WaitRow{
		WaitRef: WaitRef{ent.tenant, ent.num, n.ID}, GraphID: ent.state.GraphID, CreatedAt: ent.state.CreatedAt,
		Since: n.Cause.At, Until: n.WaitUntil, Reminders: n.Reminders, RemindAt: n.RemindAt,
		WaitKey: n.WaitKey, Prompt: n.Prompt.Inline,
		PromptRef: PromptRef{n.Prompt.Seq, n.Prompt.Size}, Assignees: n.Assignees, Awaits: n.Awaits,
		ID: ent.state.Execution, BusinessKey: ent.state.BusinessKey, CorrelationID: ent.state.CorrelationID,
	}
}

// waitingNodes are the nodes that wait.
func waitingNodes(s *flow.State) (nodes []*flow.Node) {
	for _, n := range s.Nodes {
		if n.Status == flow.NodeIsWaiting {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// same compares what is stored of a wait.
func (w *WaitRow) same(other *WaitRow) bool {
	a, b := *w, *other
	a.ID, a.BusinessKey, a.CorrelationID, a.Prompt, a.Assignees = b.ID, b.BusinessKey, b.CorrelationID, nil, nil
	a.Event, b.Prompt, b.Assignees = b.Event, nil, nil
	return reflect.DeepEqual(a, b) && string(w.Prompt) == string(other.Prompt) &&
		reflect.DeepEqual(w.Assignees, other.Assignees)
}
