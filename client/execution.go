package client

import (
	"context"
	"iter"
	"maps"
	"net/url"
	"slices"
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

// ExecutionFilter selects executions in a list: those that pass all that is set.
type ExecutionFilter struct {
	Status        []Status // any of
	GraphID       string
	CorrelationID string            // of the creation
	BusinessKey   string            // of whatever graph
	Labels        map[string]string // all of them
	Waiting       bool              // of which a node waits for somebody
	NodeID        string            // of which this node waits for somebody
	Outcome       string            // of the Success that it ended at
	ErrorCode     string            // why it failed
	CreatedFrom   time.Time         // created at or after this instant
	CreatedTo     time.Time         // created before this instant
	EndedFrom     time.Time         // ended at or after this instant
	EndedTo       time.Time         // ended before this instant
	Archived      *bool             // only those that are archived, or are not; nil: all
	NowAt         bool              // say at which nodes those are that are ACTIVE; their states are read for it
}

func (f *ExecutionFilter) query() url.Values {
	waiting := ""
	if f.Waiting {
		waiting = "true"
	}
	include, archived := "", ""
	if f.NowAt {
		include = "nowAt"
	}
	if f.Archived != nil {
		archived = strconv.FormatBool(*f.Archived)
	}
	query := given(map[string]string{
		"include": include, "archived": archived,
		"status": joined(f.Status), "graphId": f.GraphID, "correlationId": f.CorrelationID,
		"businessKey": f.BusinessKey, "outcome": f.Outcome, "errorCode": f.ErrorCode,
		"waiting": waiting, "nodeId": f.NodeID,
		"createdFrom": instant(f.CreatedFrom), "createdTo": instant(f.CreatedTo),
		"endedFrom": instant(f.EndedFrom), "endedTo": instant(f.EndedTo),
	})
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		query.Add("label", name+":"+f.Labels[name])
	}
	return query
}

// List reads a page of executions, newest first. Next of a page is the Cursor of the one after it.
func (c Executions) List(ctx context.Context, f ExecutionFilter, at Paging) (*Page[ExecutionSummary], error) {
	return list[ExecutionSummary](ctx, c.transport, "/executions", f.query(), at)
}

// All reads all executions that a filter selects, newest first. It goes from cursor to cursor, so what
// is created or ends meanwhile shifts nothing.
func (c Executions) All(ctx context.Context, f ExecutionFilter) iter.Seq2[ExecutionSummary, error] {
	return func(yield func(ExecutionSummary, error) bool) {
		for at := (Paging{Size: MaxPageSize}); ; {
			page, err := c.List(ctx, f, at)
			if err != nil {
				yield(ExecutionSummary{}, err)
				return
			}
			for _, e := range page.Items {
				if !yield(e, nil) {
					return
				}
			}
			if at.Cursor = page.Next; at.Cursor == "" {
				return
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
