package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/flow"
)

// query reads the query parameters of a call and keeps the first rule that they
// break. What is unknown, given twice or out of range is refused, not clamped.
type query struct {
	values url.Values
	err    error
}

// newQuery reads the parameters that a call may have.
func newQuery(c *gate.Call, may ...string) *query {
	q := &query{values: c.Query()}
	for _, name := range sortedNames(q.values) {
		switch {
		case !slices.Contains(may, name):
			q.fail(pathOf(name), "%s is not a known query parameter", pathOf(name))
		case len(q.values[name]) > 1:
			q.fail(name, "%s is there twice", name)
		}
	}
	return q
}

func sortedNames(values url.Values) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (q *query) fail(field, format string, args ...any) {
	if q.err == nil {
		q.err = invalid(field, format, args...)
	}
}

// text is a parameter and whether it was given.
func (q *query) text(name string) (string, bool) {
	v, given := q.values[name]
	if !given {
		return "", false
	}
	return v[0], true
}

// integer is a whole number of low..high, or what it is when it is not given.
func (q *query) integer(name string, low, high, otherwise int) int {
	s, given := q.text(name)
	if !given {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high || strings.HasPrefix(s, "+") {
		q.fail(name, "%s must be a whole number between %d and %d", name, low, high)
	}
	return n
}

// boolean is true or false, nil when it is not given.
func (q *query) boolean(name string) *bool {
	s, given := q.text(name)
	if !given {
		return nil
	}
	yes := s == "true"
	if !yes && s != "false" {
		q.fail(name, "%s must be true or false", name)
	}
	return &yes
}

// name is a name, "" when it is not given.
func (q *query) name(name string) string {
	s, given := q.text(name)
	if given && !wire.Name(s) {
		q.fail(name, "%s must be 1 to %d letters, digits, dots, dashes or underscores", name, wire.MaxName)
	}
	return s
}

// graph is the id of a graph, "" when it is not given.
func (q *query) graph(name string) string {
	s, given := q.text(name)
	if given && !graphID(s) {
		q.fail(name, "%s "+graphIDRule, name, wire.MaxName)
	}
	return s
}

// instant is an RFC 3339 time with any offset, 0 when it is not given. A plus
// sign that was not escaped arrives as a space.
func (q *query) instant(name string) flow.Time {
	s, given := q.text(name)
	if !given {
		return 0
	}
	var t flow.Time
	if err := t.UnmarshalText([]byte(strings.ReplaceAll(s, " ", "+"))); err != nil || s == "" {
		q.fail(name, "%s must be an RFC 3339 time, such as 2026-01-05T09:00:00Z", name)
	}
	return max(t, 1) // 0 means none
}

// statuses is a list of execution statuses, separated by commas.
func (q *query) statuses(name string) []flow.Status {
	s, given := q.text(name)
	if !given {
		return nil
	}
	var list []flow.Status
	for word := range strings.SplitSeq(s, ",") {
		at := slices.IndexFunc(allStatuses, func(s flow.Status) bool { return s.String() == word })
		if at < 0 {
			q.fail(name, "%s must be a list of ACTIVE, COMPLETED, FAILED, CANCELED, separated by commas", name)
			return nil
		}
		if !slices.Contains(list, allStatuses[at]) {
			list = append(list, allStatuses[at])
		}
	}
	return list
}

var allStatuses = []flow.Status{flow.Active, flow.Completed, flow.Failed, flow.Canceled}

// paging is the page that is asked for.
type paging struct{ number, size int }

// pageParams are the parameters of every list.
var pageParams = []string{"page", "page_size"}

func (q *query) paging() paging {
	return paging{
		number: q.integer("page", 1, maxPageNumber, 1),
		size:   q.integer("page_size", minPage, maxPage, defaultPage),
	}
}

func (p paging) offset() int { return (p.number - 1) * p.size }

// page is one page of a list.
type page[T any] struct {
	Items []T `json:"items"`
	Page  int `json:"page"`
	Size  int `json:"page_size"`
	Total int `json:"total"`
}

// newPage shows each row of a page.
func newPage[R, T any](p paging, rows []R, total int, show func(*R) T) page[T] {
	out := page[T]{Items: make([]T, len(rows)), Page: p.number, Size: p.size, Total: total}
	for i := range rows {
		out.Items[i] = show(&rows[i])
	}
	return out
}
