package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// Executions creates, steers and reads executions. Commands on one node of an execution go
// through a Client's Send, and many commands together through its SendAll.
type Executions struct{ *transport }

// Terminal reports whether an execution in s has ended.
func (s Status) Terminal() bool { return s != Active && s != "" }

// Node finds a node, nil when there is none.
func (e *Execution) Node(id string) *Node {
	for i := range e.Nodes {
		if e.Nodes[i].NodeID == id {
			return &e.Nodes[i]
		}
	}
	return nil
}

// Create creates an execution, as Send does.
func (c Executions) Create(ctx context.Context, cmd CreateExecution) (Answer, error) {
	return c.sendCommand(ctx, cmd)
}

// Start starts an execution, as Send does.
func (c Executions) Start(ctx context.Context, cmd StartExecution) (Answer, error) {
	return c.sendCommand(ctx, cmd)
}

// Cancel cancels an execution, ahead of everything, as Send does.
func (c Executions) Cancel(ctx context.Context, cmd CancelExecution) (Answer, error) {
	return c.sendCommand(ctx, cmd)
}

// Archive archives an execution that has ended, as Send does.
func (c Executions) Archive(ctx context.Context, cmd ArchiveExecution) (Answer, error) {
	return c.sendCommand(ctx, cmd)
}

// Get reads an execution as it is now.
func (c Executions) Get(ctx context.Context, id string) (*Execution, error) {
	return c.At(ctx, id, 0)
}

// At reads an execution as it was after an event; 0 is now.
func (c Executions) At(ctx context.Context, id string, seq uint64) (*Execution, error) {
	return get[Execution](ctx, c.transport, pathOf("/executions/{executionId}", id),
		given(map[string]string{"at": number(seq)}))
}

// ByKey reads the ACTIVE execution of a graph with a business key, or the newest one when all have
// ended.
func (c Executions) ByKey(ctx context.Context, graphID, businessKey string) (*Execution, error) {
	return get[Execution](ctx, c.transport, pathOf("/executions/by-key/{graphId}/{businessKey}", graphID, businessKey),
		nil)
}

func (f *ExecutionFilter) query() url.Values {
	return given(map[string]string{
		"status": joined(f.Status), "graphId": f.GraphID,
		"createdFrom": instant(f.CreatedFrom), "createdTo": instant(f.CreatedTo),
	})
}

// List reads a page of executions, newest first.
func (c Executions) List(ctx context.Context, f ExecutionFilter, at Paging) (*Page[ExecutionSummary], error) {
	return list[ExecutionSummary](ctx, c.transport, "/executions", f.query(), at)
}

// All reads all executions that a filter selects, newest first. It goes by
// instants, and by page numbers only where one instant fills a page, so what is
// created or ends meanwhile shifts nothing.
func (c Executions) All(ctx context.Context, f ExecutionFilter) iter.Seq2[ExecutionSummary, error] {
	return func(yield func(ExecutionSummary, error) bool) {
		seen := map[string]bool{} // those of the instant at which the next page begins
		for number := 1; ; {
			page, err := c.List(ctx, f, Paging{number, MaxPageSize})
			if err != nil {
				yield(ExecutionSummary{}, err)
				return
			}
			for _, e := range page.Items {
				if !seen[e.ExecutionID] && !yield(e, nil) {
					return
				}
			}
			if len(page.Items) < MaxPageSize {
				return
			}
			// The next page begins with the instant of the last one: more may be of it.
			last := page.Items[len(page.Items)-1].CreatedAt
			if end := last.Add(time.Millisecond); end.Equal(f.CreatedTo) {
				number++
			} else {
				f.CreatedTo, number = end, 1
				clear(seen)
			}
			for _, e := range page.Items {
				if e.CreatedAt.Equal(last) {
					seen[e.ExecutionID] = true
				}
			}
		}
	}
}

// Commands reads what was asked of an execution, by whom, and what was answered, in order.
func (c Executions) Commands(ctx context.Context, id string) iter.Seq2[Decided, error] {
	return all[Decided](ctx, c.transport, pathOf("/executions/{executionId}/commands", id), 1)
}

// ListCommands reads a page of the commands that were accepted, or of those that were refused.
func (c Executions) ListCommands(ctx context.Context, id string, accepted bool, at Paging) (*Page[Decided], error) {
	query := url.Values{"accepted": {strconv.FormatBool(accepted)}}
	return list[Decided](ctx, c.transport, pathOf("/executions/{executionId}/commands", id), query, at)
}
