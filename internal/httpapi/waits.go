package httpapi

import (
	"context"
	"fmt"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// waitView is a node that waits, as readers see it.
type waitView struct {
	ExecutionID   flow.ID         `json:"executionId"`
	NodeID        string          `json:"nodeId"`
	GraphID       string          `json:"graphId"`
	WaitsFor      string          `json:"waitsFor"`
	BusinessKey   string          `json:"businessKey,omitzero"`
	CorrelationID string          `json:"correlationId,omitzero"`
	Since         flow.Time       `json:"since"`
	Until         flow.Time       `json:"waitUntil,omitzero"`
	Reminders     int             `json:"reminders,omitzero"`
	RemindAt      flow.Time       `json:"nextReminderAt,omitzero"`
	WaitKey       string          `json:"waitKey,omitzero"`
	Prompt        flow.Data       `json:"prompt,omitzero"`
	PromptRef     *dataRef        `json:"promptRef,omitzero"`
	Assignees     *flow.Assignees `json:"assignees,omitzero"`
	Awaits        *flow.Awaited   `json:"awaits,omitzero"`
}

// waits answers GET /waits.
func (a *API) waits(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "graphId", "nodeId", "assignee", "from", "cursor")
	wq := engine.WaitQuery{
		Tenant: c.Principal.Tenant, GraphID: query{q}.graph("graphId"), NodeID: query{q}.name("nodeId"),
		From: q.Instant("from"),
	}
	who, given := q.Text("assignee")
	if given && who != "me" {
		q.Fail("assignee", "assignee must be me: the waits that the caller may resume")
	}
	sealed, err := a.cfg.Seals.For(ctx, "waits", c.Principal.Tenant, c.Principal.Subject, q.Without("page", "cursor"))
	if err != nil {
		return gate.Reply{}, err
	}
	if wq.After = (query{q}).afterWait(sealed, &p); q.Err != nil {
		return gate.Reply{}, q.Err
	}
	if wq.Limit = p.Size + 1; wq.After.Node == "" {
		wq.Offset = p.Offset()
	}
	if given {
		me, err := a.principal(ctx, c)
		if err != nil {
			return gate.Reply{}, err
		}
		wq.For = me
	}
	rows, total, err := a.cfg.Reads.Waits(ctx, wq)
	if err != nil {
		return gate.Reply{}, err
	}
	next := ""
	if len(rows) > p.Size {
		rows = rows[:p.Size]
		last := &rows[p.Size-1]
		next = sealed.Text(fmt.Appendf(nil, waitForm, p.Number+1, last.Since, last.Execution, last.Node))
	}
	page := rest.Show(p, rows, total, showWait)
	page.Next = next
	return gate.Reply{Body: page}, nil
}

// waitForm is what a cursor of waits holds: the number of its page and the wait before that page.
const waitForm = "%d/%d/%d/%s"

// afterWait is the wait before the page that a cursor asks for.
func (q query) afterWait(sealed *seal.Sealer, p *rest.Page) (at engine.WaitRow) {
	if raw := q.opened(sealed); raw != nil {
		_, err := fmt.Sscanf(string(raw), waitForm, &p.Number, &at.Since, &at.Execution, &at.Node)
		if err != nil && q.Err == nil {
			q.Err = err // nobody else can have sealed it
		}
	}
	return at
}

func showWait(w *engine.WaitRow) waitView {
	v := waitView{
		ExecutionID: w.ID, NodeID: w.Node, GraphID: w.GraphID, WaitsFor: "person", BusinessKey: w.BusinessKey,
		CorrelationID: w.CorrelationID, Since: w.Since, Until: w.Until, Reminders: w.Reminders, RemindAt: w.RemindAt,
		WaitKey: w.WaitKey, Prompt: w.Prompt, Assignees: w.Assignees, Awaits: w.Awaits,
	}
	switch {
	case w.Awaits != nil:
		v.WaitsFor = "message"
	case w.Timer:
		v.WaitsFor = "timer"
	}
	if w.PromptRef.Seq != 0 {
		v.PromptRef = &dataRef{w.PromptRef.Seq, w.PromptRef.Size}
	}
	return v
}
