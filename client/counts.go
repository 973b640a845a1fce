package client

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// CountFilter selects what Counts counts, and by what it groups; the zero value is one group of all executions.
type CountFilter struct {
	GraphID  string // only executions of this graph
	ByStatus bool
	ByGraph  bool
}

// Counts says how many executions there are, the largest groups first.
func (c Executions) Counts(ctx context.Context, f CountFilter) (*ExecutionCounts, error) {
	var by []string
	if f.ByStatus {
		by = append(by, "status")
	}
	if f.ByGraph {
		by = append(by, "graphId")
	}
	return get[ExecutionCounts](ctx, c.transport, "/executions/counts",
		given(map[string]string{"groupBy": strings.Join(by, ","), "graphId": f.GraphID}))
}

// Histogram says how many executions were created in each bucket of a time, by their present status; of all graphs
// with "".
func (c Executions) Histogram(
	ctx context.Context, from, to time.Time, bucket time.Duration, graphID string,
) (*ExecutionHistogram, error) {
	return get[ExecutionHistogram](ctx, c.transport, "/executions/histogram", given(map[string]string{
		"from": instant(from), "to": instant(to), "bucket": bucket.String(), "graphId": graphID,
	}))
}

// Attempts reads the attempts of all nodes of an execution.
func (c Executions) Attempts(ctx context.Context, id string) (*ExecutionAttempts, error) {
	return get[ExecutionAttempts](ctx, c.transport, pathOf("/executions/{executionId}/attempts", id), nil)
}

// Event reads one event of an execution.
func (c Executions) Event(ctx context.Context, id string, seq uint64) (*Event, error) {
	return get[Event](ctx, c.transport,
		pathOf("/executions/{executionId}/events/{seq}", id, strconv.FormatUint(seq, 10)), nil)
}

// LogFilter selects events of a log; the zero value is the first 50.
type LogFilter struct {
	After  uint64   // only events after this one; NextAfter of a page begins the next
	Types  []string // of these types; none: of all
	NodeID string   // of this node
	Brief  bool     // of long lists of branches only the beginning
	Size   int      // 10..1000
}

// Log reads a page of the log of an execution. It may have fewer events than asked for while NextAfter says that
// there are more.
func (c Executions) Log(ctx context.Context, id string, f LogFilter) (*EventPage, error) {
	query := map[string]string{
		"after": strconv.FormatUint(f.After, 10), "type": strings.Join(f.Types, ","), "nodeId": f.NodeID,
		"page_size": number(f.Size),
	}
	if f.Brief {
		query["payload"] = "brief"
	}
	return get[EventPage](ctx, c.transport, pathOf("/executions/{executionId}/events", id), given(query))
}

// Queues reads a page of the queues that have ready tasks, by name.
func (c Tasks) Queues(ctx context.Context, at Paging) (*Page[Queue], error) {
	return list[Queue](ctx, c.transport, "/tasks/queues", nil, at)
}
