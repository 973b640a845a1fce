package httpapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/workflow/flow"
)

// bulkView is a bulk as readers see it.
type bulkView struct {
	BulkID        string      `json:"bulkId"`
	Command       string      `json:"command"`
	Filter        any         `json:"filter"`
	Named         bool        `json:"named,omitzero"`
	Reason        string      `json:"reason,omitempty"`
	Status        string      `json:"status"`
	Total         int         `json:"total"`
	Counts        bulkCounts  `json:"counts"`
	CreatedBy     flow.Actor  `json:"createdBy"`
	StartedBy     *flow.Actor `json:"startedBy,omitzero"`
	CorrelationID string      `json:"correlationId"`
	CreatedAt     flow.Time   `json:"createdAt"`
	StartedAt     flow.Time   `json:"startedAt,omitzero"`
	EndedAt       flow.Time   `json:"endedAt,omitzero"`
}

type bulkCounts struct {
	Pending int `json:"pending"`
	Applied int `json:"applied"`
	Already int `json:"already"`
	Refused int `json:"refused"`
	Failed  int `json:"failed"`
}

// show shows a bulk.
func (f *family) show(b *bulk.Bulk) bulkView {
	v := bulkView{
		BulkID: b.ID, Command: b.Kind, Status: b.Status.String(), Total: b.Total,
		Counts: bulkCounts{
			Pending: b.Counts.Of(bulk.Pending, b.Total), Applied: b.Counts.Applied,
			Already: b.Counts.Already, Refused: b.Counts.Refused, Failed: b.Counts.Failed,
		},
		CreatedBy: flow.Actor{Kind: flow.KindUser, ID: b.CreatedBy}, CorrelationID: b.CorrelationID,
		CreatedAt: flow.At(b.CreatedAt), StartedAt: flow.At(b.StartedAt), EndedAt: flow.At(b.EndedAt),
	}
	if !b.StartedAt.IsZero() {
		v.StartedBy = &flow.Actor{Kind: flow.KindUser, ID: b.StartedBy}
	}
	if spec, err := f.spec(b); err == nil { // it is as its creation wrote it
		v.Filter, v.Named, v.Reason = spec.filter, spec.named, spec.reason
	}
	return v
}

// bulkItemView is an item of a bulk as readers see it.
type bulkItemView struct {
	ExecutionID string         `json:"executionId"`
	Status      string         `json:"status"`
	Result      jsontext.Value `json:"result,omitzero"`
}

func showBulkItem(it *bulk.Item) any {
	return bulkItemView{ExecutionID: it.Name, Status: it.Outcome.String(), Result: it.Detail}
}
