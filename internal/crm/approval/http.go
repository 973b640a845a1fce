package approval

import (
	"context"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// api answers the calls of approvals.
type api struct{ approvals *Approvals }

// Routes are the routes of approvals.
func (s *Approvals) Routes() []gate.Route {
	a := &api{s}
	required := (*gate.Call).Decode
	optional := func(c *gate.Call, into any) error {
		if len(c.Body) == 0 {
			return nil
		}
		return c.Decode(into)
	}
	return rest.Routes([]gate.Route{
		{Operation: "listApprovals", Heavy: true, Do: a.list},
		{Operation: "getApproval", Do: rest.NoQuery(a.get)},
		{Operation: "submitApproval", Do: keyed(http.StatusCreated, required, a.submit)},
		{Operation: "decideApproval", Do: keyed(http.StatusOK, required, a.decide)},
		{Operation: "delegateApproval", Do: keyed(http.StatusOK, required, a.delegate)},
		{Operation: "recallApproval", Do: keyed(http.StatusOK, optional, a.recall)},
	})
}

// keyed is the handler of a change that has a body B and may have a key (else key is nil).
func keyed[B any](
	status int,
	decode func(*gate.Call, any) error,
	change func(ctx context.Context, c *gate.Call, b *B, key *canonical.IdempotencyKey) (
		answer []byte, replay bool, err error,
	),
) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		key, err := rest.OptionalKey(c)
		if err != nil {
			return gate.Reply{}, err
		}
		var b B
		if err := decode(c, &b); err != nil {
			return gate.Reply{}, err
		}
		body, _, err := change(ctx, c, &b, key)
		return gate.Reply{Status: status, Raw: body}, err
	}
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

type submitBody struct {
	Object    string  `json:"object"`
	RecordID  rest.ID `json:"recordId"`
	ProcessID rest.ID `json:"processId"`
	Comment   string  `json:"comment"`
}

// submit answers POST /approvals.
func (a *api) submit(
	ctx context.Context,
	c *gate.Call,
	b *submitBody,
	key *canonical.IdempotencyKey,
) ([]byte, bool, error) {
	switch {
	case b.Object == "":
		return nil, false, rest.Invalid("object", "object is missing: the name of an object, such as Quote")
	case !model.ValidID(string(b.RecordID)):
		return nil, false, rest.Invalid("recordId", "recordId must be the id of a record, a UUID")
	case b.ProcessID != "" && !model.ValidID(string(b.ProcessID)):
		return nil, false, rest.Invalid("processId", "processId must be the id of an approval process, a UUID")
	}
	if err := checkComment(b.Comment); err != nil {
		return nil, false, err
	}
	o := Order{Object: b.Object, RecordID: string(b.RecordID), ProcessID: string(b.ProcessID), Comment: b.Comment}
	return a.approvals.Submit(ctx, kit.CallerOf(c), o, key)
}

type decideBody struct {
	Decision   string `json:"decision"`
	Comment    string `json:"comment"`
	StageIndex *int   `json:"stageIndex"`
}

// decide answers POST /approvals/{id}/decide.
func (a *api) decide(
	ctx context.Context,
	c *gate.Call,
	b *decideBody,
	key *canonical.IdempotencyKey,
) ([]byte, bool, error) {
	ballot := Ballot{Comment: b.Comment, Stage: b.StageIndex}
	switch b.Decision {
	case Approved.String():
		ballot.Decision = Approved
	case Rejected.String():
		ballot.Decision = Rejected
	default:
		return nil, false, rest.Invalid("decision", "decision must be APPROVED or REJECTED")
	}
	if at := b.StageIndex; at != nil && (*at < 0 || *at >= model.MaxProcessSteps) {
		return nil, false, rest.Invalid("stageIndex", "stageIndex must be within 0 to %d", model.MaxProcessSteps-1)
	}
	if err := checkComment(b.Comment); err != nil {
		return nil, false, err
	}
	return a.approvals.Decide(ctx, kit.CallerOf(c), c.Path("id"), ballot, key)
}

type delegateBody struct {
	UserID  rest.ID `json:"userId"`
	Comment string  `json:"comment"`
}

// delegate answers POST /approvals/{id}/delegate.
func (a *api) delegate(
	ctx context.Context,
	c *gate.Call,
	b *delegateBody,
	key *canonical.IdempotencyKey,
) ([]byte, bool, error) {
	if !model.ValidID(string(b.UserID)) {
		return nil, false, rest.Invalid("userId", "userId must be the id of a user, a UUID")
	}
	if err := checkComment(b.Comment); err != nil {
		return nil, false, err
	}
	return a.approvals.Delegate(ctx, kit.CallerOf(c), c.Path("id"), string(b.UserID), b.Comment, key)
}

type recallBody struct {
	Comment string `json:"comment"`
}

// recall answers POST /approvals/{id}/recall.
func (a *api) recall(
	ctx context.Context,
	c *gate.Call,
	b *recallBody,
	key *canonical.IdempotencyKey,
) ([]byte, bool, error) {
	if err := checkComment(b.Comment); err != nil {
		return nil, false, err
	}
	return a.approvals.Recall(ctx, kit.CallerOf(c), c.Path("id"), b.Comment, key)
}

// get answers GET /approvals/{id}.
func (a *api) get(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	body, err := a.approvals.Get(ctx, kit.CallerOf(c), c.Path("id"))
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
	rows, total, err := a.approvals.List(ctx, kit.CallerOf(c), f, p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}
