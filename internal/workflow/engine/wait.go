package engine

import (
	"context"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// WaitRow is a node that waits for somebody.
type WaitRow struct {
	WaitRef
	GraphID   string
	Since     flow.Time // when it began to wait
	Until     flow.Time // when it ends by itself; 0: never
	WaitKey   string
	Prompt    flow.Data // nil when it is too large; PromptRef says where it is
	PromptRef PromptRef
	Assignees *flow.Assignees

	// Of its execution, when it is read.
	ID            flow.ID
	BusinessKey   string
	CorrelationID string
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
	return rows, total, fault.Wrap("engine.waits", err)
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
	for _, name := range open.waitOrder {
		n, _ := ent.state.Find(name)
		ref := WaitRef{ent.tenant, ent.num, name}
		if open.waits[name] {
			out.Waited = append(out.Waited, ref)
		}
		if n.Status != flow.NodeIsWaiting {
			continue
		}
		out.Waits = append(out.Waits, WaitRow{
			WaitRef: ref, GraphID: ent.state.GraphID, Since: n.Cause.At, Until: n.WaitUntil, WaitKey: n.WaitKey,
			Prompt: n.Prompt.Inline, PromptRef: PromptRef{n.Prompt.Seq, n.Prompt.Size}, Assignees: n.Assignees,
		})
	}
}
