package httpapi

import (
	"fmt"
	"slices"
	"strings"

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
		q.Fail(name, "%s %s", name, nameRule)
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

// maxCorrelation is the longest correlation id.
const maxCorrelation = 128

// correlation is a correlation id, "" when it is not given.
func (q query) correlation(name string) string {
	s, given := q.Text(name)
	if given && !validCorrelation(s) {
		q.Fail(name, "%s %s", name, correlationRule)
	}
	return s
}

var (
	nameRule        = fmt.Sprintf("must be 1 to %d letters, digits, dots, dashes or underscores", canonical.MaxName)
	correlationRule = fmt.Sprintf("must be 1 to %d printable ASCII characters", maxCorrelation)
	outcomeRule     = fmt.Sprintf("must be 1 to %d letters, digits, dots, dashes or underscores", flow.MaxOutcome)
	codeRule        = fmt.Sprintf("must be 1 to %d characters on one line", maxErrorCode)
	businessKeyRule = fmt.Sprintf("must be 1 to %d characters without control characters", flow.MaxBusinessKey)
)

func validCorrelation(s string) bool { return canonical.Printable(s, maxCorrelation) }

func validOutcome(s string) bool { return s != "" && flow.ValidName(s) && len(s) <= flow.MaxOutcome }

func validCode(s string) bool { return canonical.OneLine(s, 1, maxErrorCode) }

func validBusinessKey(s string) bool { return s != "" && flow.CheckBusinessKey(s) == nil }

// businessKey is a business key, "" when it is not given.
func (q query) businessKey(name string) string {
	s, given := q.Text(name)
	if given && !validBusinessKey(s) {
		q.Fail(name, "%s %s", name, businessKeyRule)
	}
	return s
}

// outcome is the outcome of a Success, "" when it is not given.
func (q query) outcome(name string) string {
	s, given := q.Text(name)
	if given && !validOutcome(s) {
		q.Fail(name, "%s %s", name, outcomeRule)
	}
	return s
}

// labels are labels as name:value, of which each is given by itself.
func (q query) labels(name string) (labels []flow.Label) {
	texts := q.Texts(name)
	if len(texts) > flow.MaxLabels {
		q.Fail(name, "%s may be given %d times", name, flow.MaxLabels)
		return nil
	}
	for _, text := range texts {
		of, value, found := strings.Cut(text, ":")
		label, err := flow.ParseLabel(of + "=" + value)
		if err != nil || !found {
			q.Fail(name, "%s must be a name and a value with a colon between them, as of an execution: region:eu", name)
		}
		labels = append(labels, label)
	}
	return labels
}

// waiting reports whether it is asked for what waits.
func (q query) waiting(name string) bool {
	yes := q.Bool(name)
	if yes != nil && !*yes {
		q.Fail(name, "%s must be true, or be left out", name)
	}
	return yes != nil && *yes
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
