package approval

import (
	"context"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
)

// api answers the calls of approvals.
type api struct{ approvals *Approvals }

// Routes are the routes of approvals.
func (s *Approvals) Routes() []gate.Route {
	a := &api{s}
	routes := []gate.Route{
		{Operation: "listApprovals", Heavy: true, Do: a.list},
		{Operation: "getApproval", Do: rest.NoQuery(a.get)},
	}
	for operation, do := range map[string]func(context.Context, *gate.Call, *wire.Once) (gate.Reply, error){
		"submitApproval": a.submit, "decideApproval": a.decide, "delegateApproval": a.delegate,
		"recallApproval": a.recall,
	} {
		routes = append(routes, gate.Route{Operation: operation, Do: keyed(do)})
	}
	return rest.Routes(routes)
}

// keyed gives a handler the identity of its request, nil of one that has no key.
func keyed(next func(context.Context, *gate.Call, *wire.Once) (gate.Reply, error)) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		once, err := rest.OptionalKey(c)
		if err != nil {
			return gate.Reply{}, err
		}
		return next(ctx, c, once)
	}
}

// callerOf is who wants something of approvals.
func callerOf(c *gate.Call) Caller {
	return Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, CorrelationID: c.CorrelationID}
}

// checkComment refuses what is too long, or controls a terminal.
func checkComment(comment string) error {
	if utf8.RuneCountInString(comment) > MaxComment ||
		strings.ContainsFunc(comment, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return rest.Invalid("comment", "comment must have at most %d characters, without control characters",
			MaxComment)
	}
	return nil
}

// submit answers POST /approvals.
func (a *api) submit(ctx context.Context, c *gate.Call, once *wire.Once) (gate.Reply, error) {
	var b struct {
		Object    string  `json:"object"`
		RecordID  rest.ID `json:"recordId"`
		ProcessID rest.ID `json:"processId"`
		Comment   string  `json:"comment"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	switch {
	case b.Object == "":
		return gate.Reply{}, rest.Invalid("object", "object is missing: the name of an object, such as Quote")
	case !model.ValidID(string(b.RecordID)):
		return gate.Reply{}, rest.Invalid("recordId", "recordId must be the id of a record, a UUID")
	case b.ProcessID != "" && !model.ValidID(string(b.ProcessID)):
		return gate.Reply{}, rest.Invalid("processId", "processId must be the id of an approval process, a UUID")
	}
	if err := checkComment(b.Comment); err != nil {
		return gate.Reply{}, err
	}
	o := Order{Object: b.Object, RecordID: string(b.RecordID), ProcessID: string(b.ProcessID), Comment: b.Comment}
	body, _, err := a.approvals.Submit(ctx, callerOf(c), o, once)
	return gate.Reply{Status: http.StatusCreated, Raw: body}, err
}

// decide answers POST /approvals/{id}/decide.
func (a *api) decide(ctx context.Context, c *gate.Call, once *wire.Once) (gate.Reply, error) {
	var b struct {
		Decision   string `json:"decision"`
		Comment    string `json:"comment"`
		StageIndex *int   `json:"stageIndex"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	ballot := Ballot{Comment: b.Comment, Stage: b.StageIndex}
	switch b.Decision {
	case Approved.String():
		ballot.Decision = Approved
	case Rejected.String():
		ballot.Decision = Rejected
	default:
		return gate.Reply{}, rest.Invalid("decision", "decision must be APPROVED or REJECTED")
	}
	if at := b.StageIndex; at != nil && (*at < 0 || *at >= model.MaxProcessSteps) {
		return gate.Reply{}, rest.Invalid("stageIndex", "stageIndex must be within 0 to %d", model.MaxProcessSteps-1)
	}
	if err := checkComment(b.Comment); err != nil {
		return gate.Reply{}, err
	}
	body, _, err := a.approvals.Decide(ctx, callerOf(c), c.Path("id"), ballot, once)
	return gate.Reply{Raw: body}, err
}

// delegate answers POST /approvals/{id}/delegate.
func (a *api) delegate(ctx context.Context, c *gate.Call, once *wire.Once) (gate.Reply, error) {
	var b struct {
		UserID  rest.ID `json:"userId"`
		Comment string  `json:"comment"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	if !model.ValidID(string(b.UserID)) {
		return gate.Reply{}, rest.Invalid("userId", "userId must be the id of a user, a UUID")
	}
	if err := checkComment(b.Comment); err != nil {
		return gate.Reply{}, err
	}
	body, _, err := a.approvals.Delegate(ctx, callerOf(c), c.Path("id"), string(b.UserID), b.Comment, once)
	return gate.Reply{Raw: body}, err
}

// recall answers POST /approvals/{id}/recall.
func (a *api) recall(ctx context.Context, c *gate.Call, once *wire.Once) (gate.Reply, error) {
	var b struct {
		Comment string `json:"comment"`
	}
	if len(c.Body) > 0 {
		if err := c.Decode(&b); err != nil {
			return gate.Reply{}, err
		}
	}
	if err := checkComment(b.Comment); err != nil {
		return gate.Reply{}, err
	}
	body, _, err := a.approvals.Recall(ctx, callerOf(c), c.Path("id"), b.Comment, once)
	return gate.Reply{Raw: body}, err
}

// get answers GET /approvals/{id}.
func (a *api) get(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	body, err := a.approvals.Get(ctx, callerOf(c), c.Path("id"))
	return gate.Reply{Raw: body}, err
}

// list answers GET /approvals.
func (a *api) list(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "assigned", "object", "recordId", "submittedBy", "status")
	var f Filter
	if yes := q.Bool("assigned"); yes != nil {
		f.Assigned = *yes
	}
	if text, given := q.Text("object"); given {
		if f.Object = text; text == "" {
			q.Fail("object", "object must be the name of an object")
		}
	}
	for name, into := range map[string]*string{"recordId": &f.RecordID, "submittedBy": &f.SubmittedBy} {
		if text, given := q.Text(name); given {
			if *into = strings.ToLower(text); !model.ValidID(*into) {
				q.Fail(name, "%s must be a UUID", name)
			}
		}
	}
	if text, given := q.Text("status"); given {
		f.Status = new(Status)
		if f.Status.UnmarshalText([]byte(text)) != nil {
			q.Fail("status", "status must be PENDING, APPROVED, REJECTED or RECALLED")
		}
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.approvals.List(ctx, callerOf(c), f, p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}
