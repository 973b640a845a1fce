package engine

import (
	"cmp"
	"context"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// What one question about numbers looks at.
const (
	MaxGroups        = 1_000   // groups of counts; the largest are given
	MaxBuckets       = 500     // of a histogram
	MaxInHistogram   = 100_000 // executions of each status that a histogram counts, the newest first
	MaxCountedReady  = 10_000  // ready tasks of a queue that are counted
	MaxQueues        = 10_000  // queues of a tenant that are listed
	maxListedInStore = MaxGroups + 1
)

// CountQuery groups executions of one tenant.
type CountQuery struct {
	Tenant   string
	GraphID  string // only those of this graph; "": of all
	ByStatus bool
	ByGraph  bool
	Limit    int
}

// Group is how many executions have a status and a graph; what they are not grouped by is the same for all.
type Group struct {
	Status  flow.Status
	GraphID string
	N       int
}

// HistogramQuery selects executions of one tenant by when they were created.
type HistogramQuery struct {
	Tenant  string
	GraphID string    // only those of this graph; "": of all
	From    flow.Time // inclusive
	To      flow.Time // exclusive
	Bucket  time.Duration
	Limit   int // executions of each status that are counted
}

// Bar is how many executions of a status were created in a bucket of a histogram.
type Bar struct {
	Bucket int
	Status flow.Status
	N      int
	Oldest flow.Time // the creation of the oldest of them
}

// QueueQuery selects queues of one tenant.
type QueueQuery struct {
	Tenant        string
	Without       func(queue string) bool // says which are not shown
	Offset, Limit int
}

// QueueRow says how much work a queue has.
type QueueRow struct {
	Queue string
	Ready int // up to MaxCountedReady, and one more if there are more
	Since flow.Time
}

// Counts groups executions, the largest groups first, and counts all. more says that there are more groups than
// MaxGroups.
func (r *Reads) Counts(ctx context.Context, q CountQuery) (groups []Group, total int, more bool, err error) {
	q.Limit = maxListedInStore
	groups, total, err = r.store.Counts(ctx, q)
	if more = len(groups) > MaxGroups; more {
		groups = groups[:MaxGroups]
	}
	return groups, total, more, fault.Wrap("engine.counts", err)
}

// Histogram counts executions by when they were created and their present status. Those that were created before
// complete are counted in part.
func (r *Reads) Histogram(ctx context.Context, q HistogramQuery) (bars []Bar, complete flow.Time, err error) {
	q.Limit = MaxInHistogram
	if bars, err = r.store.Histogram(ctx, q); err != nil {
		return nil, 0, fault.Wrap("engine.histogram", err)
	}
	complete = q.From
	counted, oldest := map[flow.Status]int{}, map[flow.Status]flow.Time{}
	for _, b := range bars {
		counted[b.Status] += b.N
		if at, known := oldest[b.Status]; !known || b.Oldest < at {
			oldest[b.Status] = b.Oldest
		}
	}
	for status, n := range counted {
		if n >= q.Limit {
			complete = max(complete, oldest[status]+1)
		}
	}
	return bars, complete, nil
}

// Queues is a page of the queues that have ready tasks, by name, and how many there are.
func (r *Reads) Queues(ctx context.Context, q QueueQuery) ([]QueueRow, int, error) {
	rows, total, err := r.store.Queues(ctx, q)
	return rows, total, fault.Wrap("engine.queues", err)
}

// CompareBars is the order of bars: by bucket and status.
func CompareBars(a, b Bar) int {
	return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Status, b.Status))
}
