package engine

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/workflow/flow"
)

// ListQuery selects executions of one tenant. The zero value of a filter selects all.
type ListQuery struct {
	Tenant        string
	Status        []flow.Status // any of; none: all
	GraphID       string
	CorrelationID string
	BusinessKey   string
	Outcome       string
	ErrorCode     string
	Labels        []flow.Label // all of them
	Waiting       bool         // of which a node waits
	NodeID        string       // of which this node waits
	CreatedFrom   flow.Time    // inclusive
	CreatedTo     flow.Time    // exclusive
	EndedFrom     flow.Time    // inclusive
	EndedTo       flow.Time    // exclusive
	Archived      bool         // archived
	Unarchived    bool         // not archived; it has no index of its own: a page passes by those that are

	// A page: those before the place of one in the order of a list (CreatedAt, Num), newest first,
	// without the first Offset of them. The zero Before is the end of the order.
	Before Head
	Offset int
	Limit  int
}

// Selects reports whether an execution is one of those that are counted, but for NodeID, which its row does not know.
func (q *ListQuery) Selects(h *Head) bool {
	return h.Tenant == q.Tenant && (len(q.Status) == 0 || slices.Contains(q.Status, h.Status)) &&
		(q.GraphID == "" || q.GraphID == h.GraphID) &&
		(q.CorrelationID == "" || q.CorrelationID == h.CorrelationID) &&
		(q.BusinessKey == "" || q.BusinessKey == h.BusinessKey) &&
		(q.Outcome == "" || q.Outcome == h.Outcome) && (q.ErrorCode == "" || q.ErrorCode == h.ErrorCode) &&
		(!q.Waiting || h.Waiting > 0) && (!q.Unarchived || h.ArchivedAt == 0) &&
		(!q.Archived || h.ArchivedAt > 0) &&
		h.CreatedAt >= q.CreatedFrom && (q.CreatedTo == 0 || h.CreatedAt < q.CreatedTo) &&
		(!q.Ended() || h.EndedAt > 0 && h.EndedAt >= q.EndedFrom && (q.EndedTo == 0 || h.EndedAt < q.EndedTo)) &&
		h.hasAll(q.Labels)
}

// Ended reports whether a query asks for those that ended within a time.
func (q *ListQuery) Ended() bool { return q.EndedFrom > 0 || q.EndedTo > 0 }

func (h *Head) hasAll(labels []flow.Label) bool {
	if len(labels) == 0 {
		return true
	}
	var has flow.Labels
	if h.Labels == "" || json.Unmarshal([]byte(h.Labels), &has) != nil {
		return false
	}
	return !slices.ContainsFunc(labels, func(l flow.Label) bool { return !slices.Contains(has, l) })
}

// ByCreation is the order of lists, the oldest first.
func ByCreation(a, b Head) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.Num, b.Num))
}
