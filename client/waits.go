package client

import (
	"context"
	"iter"
	"time"
)

// Waits reads the nodes that wait for somebody.
type Waits struct{ *transport }

// WaitFilter selects waits; the zero value is all.
type WaitFilter struct {
	GraphID string
	NodeID  string
	Mine    bool      // only those that the caller may resume, also those that everybody may
	From    time.Time // waiting since then or later
}

// List reads a page of the nodes that wait, the longest waiting first. Next of a page is the Cursor of the one after
// it.
func (c Waits) List(ctx context.Context, f WaitFilter, at Paging) (*Page[NodeWait], error) {
	me := ""
	if f.Mine {
		me = "me"
	}
	return list[NodeWait](ctx, c.transport, "/waits", given(map[string]string{
		"graphId": f.GraphID, "nodeId": f.NodeID, "assignee": me, "from": instant(f.From),
	}), at)
}

// All reads all waits that a filter selects, the longest waiting first. It goes by cursors, so what is resumed
// meanwhile shifts nothing.
func (c Waits) All(ctx context.Context, f WaitFilter) iter.Seq2[NodeWait, error] {
	return func(yield func(NodeWait, error) bool) {
		for at := (Paging{Size: MaxPageSize}); ; {
			page, err := c.List(ctx, f, at)
			if err != nil {
				yield(NodeWait{}, err)
				return
			}
			for _, w := range page.Items {
				if !yield(w, nil) {
					return
				}
			}
			if at.Cursor = page.Next; at.Cursor == "" {
				return
			}
		}
	}
}
