package httpapi

import (
	"context"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
)

// Approvals lets records be approved. What a caller may not know of is fault.NotFound.
// Those that change something give the approval as it is then, as JSON, and whether it
// was answered before.
type Approvals interface {
	Submit(ctx context.Context, c approval.Caller, o approval.Order, key *wire.Once) (answer []byte, replay bool, err error)
	Decide(ctx context.Context, c approval.Caller, id string, b approval.Ballot, key *wire.Once) (answer []byte, replay bool, err error)
	Delegate(ctx context.Context, c approval.Caller, id, to, comment string, key *wire.Once) (answer []byte, replay bool, err error)
	Recall(ctx context.Context, c approval.Caller, id, comment string, key *wire.Once) (answer []byte, replay bool, err error)
	Get(ctx context.Context, c approval.Caller, id string) ([]byte, error)
	// List gives a page and how many there are on all pages.
	List(ctx context.Context, c approval.Caller, f approval.Filter, offset, limit int) (page []approval.Summary, total int, err error)
}

// The scopes and the rate classes of approvals.
const (
	scopeApprovalsRead  = "approvals:read"
	scopeApprovalsWrite = "approvals:write"

	rateApprovalsRead  = "approvals.read"
	rateApprovalsWrite = "approvals.write"
)

// approvalRoutes are the routes of approvals.
func (a *API) approvalRoutes() []gate.Route {
	const one = "/approvals/{id}"
	return []gate.Route{
		{Pattern: "POST /approvals", Scope: scopeApprovalsWrite, Rate: rateApprovalsWrite, Once: gate.Optional, Do: rest.NoQuery(keyed(a.submitApproval))},
		{Pattern: "GET /approvals", Heavy: true, Scope: scopeApprovalsRead, Rate: rateApprovalsRead, Do: a.listApprovals},
		{Pattern: "GET " + one, Scope: scopeApprovalsRead, Rate: rateApprovalsRead, Do: rest.NoQuery(a.getApproval)},
		{Pattern: "POST " + one + "/decide", Scope: scopeApprovalsWrite, Rate: rateApprovalsWrite, Once: gate.Optional, Do: rest.NoQuery(keyed(a.decideApproval))},
		{Pattern: "POST " + one + "/delegate", Scope: scopeApprovalsWrite, Rate: rateApprovalsWrite, Once: gate.Optional, Do: rest.NoQuery(keyed(a.delegateApproval))},
		{Pattern: "POST " + one + "/recall", Scope: scopeApprovalsWrite, Rate: rateApprovalsWrite, Once: gate.Optional, Do: rest.NoQuery(keyed(a.recallApproval))},
	}
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

// approvalCaller is who wants something of approvals.
func approvalCaller(c *gate.Call) approval.Caller {
	return approval.Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, CorrelationID: c.CorrelationID}
}

// checkComment refuses what is too long, or controls a terminal.
func checkComment(comment string) error {
	if utf8.RuneCountInString(comment) > approval.MaxComment ||
		strings.ContainsFunc(comment, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return rest.Invalid("comment", "comment must have %s, without control characters", count(0, approval.MaxComment, "characters"))
	}
	return nil
}

// submitApproval answers POST /approvals.
func (a *API) submitApproval(ctx context.Context, c *gate.Call, once *wire.Once) (gate.Reply, error) {
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
	o := approval.Order{Object: b.Object, RecordID: string(b.RecordID), ProcessID: string(b.ProcessID), Comment: b.Comment}
	body, _, err := a.approvals.Submit(ctx, approvalCaller(c), o, once)
	return gate.Reply{Status: http.StatusCreated, Raw: body}, err
}

// decideApproval answers POST /approvals/{id}/decide.
func (a *API) decideApproval(ctx context.Context, c *gate.Call, once *wire.Once) (gate.Reply, error) {
	var b struct {
		Decision   string `json:"decision"`
		Comment    string `json:"comment"`
		StageIndex *int   `json:"stageIndex"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	ballot := approval.Ballot{Comment: b.Comment, Stage: b.StageIndex}
	switch b.Decision {
	case approval.Approved.String():
		ballot.Decision = approval.Approved
	case approval.Rejected.String():
		ballot.Decision = approval.Rejected
	default:
		return gate.Reply{}, rest.Invalid("decision", "decision must be APPROVED or REJECTED")
	}
	if at := b.StageIndex; at != nil && (*at < 0 || *at >= metadata.MaxSteps) {
		return gate.Reply{}, rest.Invalid("stageIndex", "stageIndex must be within 0 to %d", metadata.MaxSteps-1)
	}
	if err := checkComment(b.Comment); err != nil {
		return gate.Reply{}, err
	}
	body, _, err := a.approvals.Decide(ctx, approvalCaller(c), c.Path("id"), ballot, once)
	return gate.Reply{Raw: body}, err
}

// delegateApproval answers POST /approvals/{id}/delegate.
func (a *API) delegateApproval(ctx context.Context, c *gate.Call, once *wire.Once) (gate.Reply, error) {
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
	body, _, err := a.approvals.Delegate(ctx, approvalCaller(c), c.Path("id"), string(b.UserID), b.Comment, once)
	return gate.Reply{Raw: body}, err
}

// recallApproval answers POST /approvals/{id}/recall.
func (a *API) recallApproval(ctx context.Context, c *gate.Call, once *wire.Once) (gate.Reply, error) {
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
	body, _, err := a.approvals.Recall(ctx, approvalCaller(c), c.Path("id"), b.Comment, once)
	return gate.Reply{Raw: body}, err
}

// getApproval answers GET /approvals/{id}.
func (a *API) getApproval(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	body, err := a.approvals.Get(ctx, approvalCaller(c), c.Path("id"))
	return gate.Reply{Raw: body}, err
}

// listApprovals answers GET /approvals.
func (a *API) listApprovals(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "assigned", "object", "recordId", "submittedBy", "status")
	var f approval.Filter
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
		f.Status = new(approval.Status)
		if f.Status.UnmarshalText([]byte(text)) != nil {
			q.Fail("status", "status must be PENDING, APPROVED, REJECTED or RECALLED")
		}
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.approvals.List(ctx, approvalCaller(c), f, p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}
