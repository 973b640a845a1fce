package httpapi

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// decidedView is a command in the log of an execution: who sent it and what was
// answered.
type decidedView struct {
	Number         int            `json:"number"`
	Command        string         `json:"command"`
	NodeID         string         `json:"nodeId,omitzero"`
	Attempt        int            `json:"attempt,omitzero"`
	WorkerID       string         `json:"workerId,omitzero"`
	DecidedAt      flow.Time      `json:"decidedAt"`
	Actor          flow.Actor     `json:"actor"`
	CorrelationID  string         `json:"correlationId,omitzero"`
	IdempotencyKey string         `json:"idempotencyKey,omitzero"`
	Accepted       bool           `json:"accepted"`
	FirstSeq       uint64         `json:"firstSeq,omitzero"`
	LastSeq        uint64         `json:"lastSeq,omitzero"`
	CancelSeq      uint64         `json:"cancelSeq,omitzero"`
	Error          jsontext.Value `json:"error,omitzero"`
}

func showDecided(d *engine.Decided) decidedView {
	out := decidedView{
		Number: d.Number, Command: d.Command, NodeID: d.Node, DecidedAt: d.At, Actor: d.Actor,
		CorrelationID: d.CorrelationID, IdempotencyKey: d.Key, Accepted: d.Refused == nil,
		FirstSeq: d.FirstSeq, LastSeq: d.LastSeq, CancelSeq: d.CancelSeq,
	}
	if d.Late != nil {
		out.Attempt, out.WorkerID = d.Late.Attempt, d.Late.WorkerID
	}
	if d.Refused != nil {
		member := appendRefusal(nil, d.Refused, d.Late != nil)
		out.Error = member[len(`"error":`) : len(member)-1] // without its name and the bracket around it
	}
	return out
}

func (a *API) decided(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "accepted")
	accepted := q.Bool("accepted")
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	found, total, err := a.cfg.Reads.Commands(ctx, engine.CommandQuery{
		Tenant: c.Principal.Tenant, Execution: id, Accepted: accepted, Offset: p.Offset(), Limit: p.Size,
	})
	return gate.Reply{Body: rest.Show(p, found, total, showDecided)}, err
}
