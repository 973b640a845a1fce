package httpapi

import (
	"fmt"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/cancel"
	"renga.dev/renga/internal/workflow/flow"
)

// bulkFilter says which executions a bulk is about, by what a list of executions that have not ended is filtered by.
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
}

func (f *bulkFilter) check() (out cancel.Filter, err error) {
	if err := f.checkStatus(); err != nil {
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
	if out.CreatedFrom, err = someInstant("filter.createdFrom", f.CreatedFrom); err != nil {
		return out, err
	}
	out.CreatedTo, err = someInstant("filter.createdTo", f.CreatedTo)
	return out, err
}

func (f *bulkFilter) checkStatus() error {
	for i, name := range f.Status {
		switch {
		case !slices.ContainsFunc(allStatuses, func(s flow.Status) bool { return s.String() == name }):
			return rest.Invalid("filter.status", "filter.status must hold ACTIVE, COMPLETED, FAILED, CANCELED")
		case slices.Contains(f.Status[:i], name):
			return rest.Invalid("filter.status", "filter.status holds %s twice", name)
		}
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
