package httpapi

import (
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

// query is a query with the parameters that only executions and events have.
type query struct{ *rest.Query }

// name is a name, "" when it is not given.
func (q query) name(name string) string {
	s, given := q.Text(name)
	if given && !canonical.Name(s) {
		q.Fail(name, "%s must be 1 to %d letters, digits, dots, dashes or underscores", name, canonical.MaxName)
	}
	return s
}

// graph is the id of a graph, "" when it is not given.
func (q query) graph(name string) string {
	s, given := q.Text(name)
	if given && !graphID(s) {
		q.Fail(name, "%s "+graphIDRule, name, canonical.MaxName)
	}
	return s
}

// statuses is a list of execution statuses, separated by commas.
func (q query) statuses(name string) []flow.Status {
	var list []flow.Status
	for _, word := range q.Words(name, "ACTIVE", "COMPLETED", "FAILED", "CANCELED") {
		at := slices.IndexFunc(allStatuses, func(s flow.Status) bool { return s.String() == word })
		list = append(list, allStatuses[at])
	}
	return list
}

var allStatuses = []flow.Status{flow.Active, flow.Completed, flow.Failed, flow.Canceled}
