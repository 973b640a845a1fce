package httpapi

import (
	"fmt"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/execbulk"
	"renga.dev/renga/internal/workflow/flow"
)

// bulkFilter says which executions a bulk is about, by what a list of executions is filtered by.
type bulkFilter struct {
	Status        []string          `json:"status"`
	GraphID       *string           `json:"graphId"`
	CorrelationID *string           `json:"correlationId"`
	BusinessKey   *string           `json:"businessKey"`
	Labels        map[string]string `json:"labels"`
	Waiting       *bool             `json:"waiting"`
	NodeID        *string           `json:"nodeId"`
	CreatedFrom   *flow.Time        `json:"createdFrom"`
	CreatedTo     *flow.Time        `json:"createdTo"`
	Outcome       *string           `json:"outcome"`
	ErrorCode     *string           `json:"errorCode"`
	EndedFrom     *flow.Time        `json:"endedFrom"`
	EndedTo       *flow.Time        `json:"endedTo"`
}

func (f *bulkFilter) check(command string) (out execbulk.Filter, err error) {
	if err := f.checkStatus(command); err != nil {
		return out, err
	}
	if err := f.suits(command); err != nil {
		return out, err
	}
	out.Status = f.Status
	for _, t := range [...]struct {
		field string
		given *string
		valid func(string) bool
		into  *string
		rule  string
	}{
		{"graphId", f.GraphID, graphID, &out.GraphID, fmt.Sprintf(graphIDRule, canonical.MaxName)},
		{"correlationId", f.CorrelationID, validCorrelation, &out.CorrelationID, correlationRule},
		{"businessKey", f.BusinessKey, validBusinessKey, &out.BusinessKey, businessKeyRule},
		{"nodeId", f.NodeID, canonical.Name, &out.NodeID, nameRule},
		{"outcome", f.Outcome, validOutcome, &out.Outcome, outcomeRule},
		{"errorCode", f.ErrorCode, validCode, &out.ErrorCode, codeRule},
	} {
		if t.given == nil {
			continue
		}
		if *t.into = *t.given; !t.valid(*t.given) {
			return out, rest.Invalid("filter."+t.field, "filter.%s %s", t.field, t.rule)
		}
	}
	if f.Waiting != nil && !*f.Waiting {
		return out, rest.Invalid("filter.waiting", "filter.waiting must be true, or be left out")
	}
	out.Waiting = f.Waiting != nil
	if out.Labels, err = flow.NewLabels(f.Labels); err != nil {
		return out, err
	}
	for _, t := range [...]struct {
		field string
		given *flow.Time
		into  *flow.Time
	}{
		{"createdFrom", f.CreatedFrom, &out.CreatedFrom},
		{"createdTo", f.CreatedTo, &out.CreatedTo},
		{"endedFrom", f.EndedFrom, &out.EndedFrom},
		{"endedTo", f.EndedTo, &out.EndedTo},
	} {
		if *t.into, err = someInstant("filter."+t.field, t.given); err != nil {
			return out, err
		}
	}
	return out, nil
}

// suits refuses what no execution has that the command may change.
func (f *bulkFilter) suits(command string) error {
	for _, m := range [...]struct {
		field   string
		given   bool
		archive bool // of what has ended
	}{
		{"waiting", f.Waiting != nil, false},
		{"nodeId", f.NodeID != nil, false},
		{"outcome", f.Outcome != nil, true},
		{"errorCode", f.ErrorCode != nil, true},
		{"endedFrom", f.EndedFrom != nil, true},
		{"endedTo", f.EndedTo != nil, true},
	} {
		if m.given && m.archive != (command == execbulk.Archive) {
			goes := execbulk.Cancel
			if m.archive {
				goes = execbulk.Archive
			}
			return rest.Invalid("filter."+m.field, "filter.%s goes with the command %s alone", m.field, goes)
		}
	}
	return nil
}

func (f *bulkFilter) checkStatus(command string) error {
	for i, name := range f.Status {
		switch {
		case !slices.ContainsFunc(allStatuses, func(s flow.Status) bool { return s.String() == name }):
			return rest.Invalid("filter.status", "filter.status must hold ACTIVE, COMPLETED, FAILED, CANCELED")
		case slices.Contains(f.Status[:i], name):
			return rest.Invalid("filter.status", "filter.status holds %s twice", name)
		}
	}
	if command == execbulk.Archive {
		if f.Status != nil && !slices.ContainsFunc(f.Status, func(s string) bool { return s != flow.Active.String() }) {
			return rest.Invalid("filter.status",
				"filter.status must have COMPLETED, FAILED or CANCELED: what has not ended cannot be archived")
		}
		return nil
	}
	if f.Status != nil && !slices.Contains(f.Status, flow.Active.String()) {
		return rest.Invalid("filter.status", "filter.status must have ACTIVE: what has ended cannot be cancelled")
	}
	return nil
}

// someInstant is an instant that may be left out, but not be empty.
func someInstant(field string, t *flow.Time) (flow.Time, error) {
	switch {
	case t == nil:
		return 0, nil
	case *t == 0:
		return 0, rest.Invalid(field, "%s must be an RFC 3339 time, such as 2026-01-05T09:00:00Z", field)
	}
	return max(*t, 1), nil // before 1970 there was nothing
}
