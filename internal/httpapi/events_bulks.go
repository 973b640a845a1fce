package httpapi

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bulk/dlq"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

type deadBulkFilter struct {
	Consumer    *string    `json:"consumer"`
	EventType   *string    `json:"eventType"`
	Key         *string    `json:"key"`
	ReasonClass *string    `json:"reasonClass"`
	DeadFrom    *flow.Time `json:"deadFrom"`
	DeadTo      *flow.Time `json:"deadTo"`
}

// deadBulkBody asks for a bulk of dead letters.
type deadBulkBody struct {
	Command string          `json:"command"`
	Filter  *deadBulkFilter `json:"filter"`
	Reason  string          `json:"reason"`
}

// deadSpec is what the body of POST /events/bulks asks for.
func deadSpec(b *deadBulkBody) (string, dlq.Spec, error) {
	switch {
	case !slices.Contains(dlq.Names(), b.Command):
		return "", dlq.Spec{}, rest.Invalid("command", "command must be %s", strings.Join(dlq.Names(), " or "))
	case b.Filter == nil:
		return "", dlq.Spec{}, rest.Invalid("filter", "filter is required; {} selects all dead letters that are open")
	}
	for _, skip := range []bool{false, b.Command == dlq.Skip} {
		if err := decisionReason(b.Reason, skip); err != nil {
			return "", dlq.Spec{}, err
		}
	}
	filter, err := b.Filter.check()
	return b.Command, dlq.Spec{Filter: filter, Reason: b.Reason}, err
}

func (f *deadBulkFilter) check() (out dlq.Filter, err error) {
	for _, name := range []struct {
		field string
		given *string
		into  *string
	}{{"filter.consumer", f.Consumer, &out.Consumer}, {"filter.eventType", f.EventType, &out.EventType}} {
		if name.given == nil {
			continue
		}
		if !canonical.Name(*name.given) {
			return out, rest.Invalid(name.field, "%s must be 1 to %d letters, digits, dots, dashes or underscores",
				name.field, canonical.MaxName)
		}
		*name.into = *name.given
	}
	if f.Key != nil {
		if !canonical.OneLine(*f.Key, 1, maxPartitionKey) {
			return out, rest.Invalid("filter.key", "filter.key must be %s on one line",
				count(1, maxPartitionKey, "characters"))
		}
		out.Key = *f.Key
	}
	if f.ReasonClass != nil {
		if !slices.Contains(reasonClasses, *f.ReasonClass) {
			return out, rest.Invalid("filter.reasonClass", "filter.reasonClass must be one of %s",
				strings.Join(reasonClasses, ", "))
		}
		out.ReasonClass = fault.ReasonClass(*f.ReasonClass)
	}
	from, err := someInstant("filter.deadFrom", f.DeadFrom)
	if err != nil {
		return out, err
	}
	to, err := someInstant("filter.deadTo", f.DeadTo)
	out.DeadFrom, out.DeadTo = canonical.Stamp(from), canonical.Stamp(to)
	return out, err
}

// deadItemView is an item of a bulk about dead letters as readers see it.
type deadItemView struct {
	DeadLetterID string         `json:"deadLetterId"`
	Status       string         `json:"status"`
	Foreseen     jsontext.Value `json:"foreseen,omitzero"`
	Result       jsontext.Value `json:"result,omitzero"`
}

func showDeadItem(it *bulk.Item) any {
	return deadItemView{DeadLetterID: it.Name, Status: it.Outcome.String(), Foreseen: it.Foreseen, Result: it.Detail}
}
