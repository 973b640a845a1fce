package httpapi

import (
	"context"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// Automation carries out rules and jobs. What is not the caller's is fault.NotFound.
type Automation interface {
	// Inbox, Tasks and Runs give a page and how many there are on all pages.
	Inbox(ctx context.Context, c automation.Caller, unread bool, offset, limit int) (page []automation.Note, total int, err error)
	Read(ctx context.Context, c automation.Caller, id string) (automation.Note, error)
	Tasks(ctx context.Context, c automation.Caller, status string, offset, limit int) (page []automation.Task, total int, err error)
	Complete(ctx context.Context, c automation.Caller, id string) (automation.Task, error)
	Jobs(ctx context.Context, tenant string) ([]automation.Job, error)
	Runs(ctx context.Context, tenant string, q automation.RunQuery) (page []automation.Run, total int, err error)
}

// The scopes and the rate classes of automation.
const (
	scopeAutomationRead  = "automation:read"
	scopeAutomationWrite = "automation:write"

	rateAutomationRead  = "automation.read"
	rateAutomationWrite = "automation.write"
)

// automationRoutes are the routes of inboxes, tasks, jobs and runs.
func (a *API) automationRoutes() []gate.Route {
	return []gate.Route{
		{Pattern: "GET /automation/inbox", Heavy: true, Scope: scopeAutomationRead, Rate: rateAutomationRead, Do: a.listInbox},
		{Pattern: "PUT /automation/inbox/{id}/read", Scope: scopeAutomationWrite, Rate: rateAutomationWrite, Do: rest.NoQuery(rest.WithID("id", a.readNote))},
		{Pattern: "GET /automation/tasks", Heavy: true, Scope: scopeAutomationRead, Rate: rateAutomationRead, Do: a.listTasks},
		{Pattern: "PUT /automation/tasks/{id}/done", Scope: scopeAutomationWrite, Rate: rateAutomationWrite, Do: rest.NoQuery(rest.WithID("id", a.completeTask))},
		{Pattern: "GET /automation/jobs", Heavy: true, Scope: scopeAutomationRead, Rate: rateAutomationRead, Do: a.listJobs},
		{Pattern: "GET /automation/runs", Heavy: true, Scope: scopeAutomationRead, Rate: rateAutomationRead, Do: a.listRuns},
	}
}

func automationCaller(c *gate.Call) automation.Caller {
	return automation.Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject}
}

// listInbox answers GET /automation/inbox.
func (a *API) listInbox(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "unread")
	unread := q.Bool("unread")
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.automation.Inbox(ctx, automationCaller(c), unread != nil && *unread, p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}

// readNote answers PUT /automation/inbox/{id}/read.
func (a *API) readNote(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if len(c.Body) > 0 {
		return gate.Reply{}, rest.Invalid("", "to mark a note as read takes no body; the path says it all")
	}
	n, err := a.automation.Read(ctx, automationCaller(c), c.Path("id"))
	return gate.Reply{Body: &n}, err
}

// listTasks answers GET /automation/tasks.
func (a *API) listTasks(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "status")
	status, given := q.Text("status")
	if given && status != automation.TaskOpen && status != automation.TaskDone {
		q.Fail("status", "status must be %s or %s", automation.TaskOpen, automation.TaskDone)
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.automation.Tasks(ctx, automationCaller(c), status, p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}

// completeTask answers PUT /automation/tasks/{id}/done.
func (a *API) completeTask(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if len(c.Body) > 0 {
		return gate.Reply{}, rest.Invalid("", "to mark a task as done takes no body; the path says it all")
	}
	t, err := a.automation.Complete(ctx, automationCaller(c), c.Path("id"))
	return gate.Reply{Body: &t}, err
}

// listJobs answers GET /automation/jobs.
func (a *API) listJobs(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	all, err := a.automation.Jobs(ctx, c.Principal.Tenant)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rest.Cut(p, all), len(all))}, nil
}

// listRuns answers GET /automation/runs.
func (a *API) listRuns(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "eventId", "ruleId", "recordId", "outcome")
	want := automation.RunQuery{Offset: p.Offset(), Limit: p.Size}
	for name, into := range map[string]*string{"eventId": &want.EventID, "ruleId": &want.RuleID, "recordId": &want.RecordID} {
		id, given := q.Text(name)
		if given && !model.ValidID(id) {
			q.Fail(name, "%s must be a UUID in lower case", name)
		}
		*into = id
	}
	if outcome, given := q.Text("outcome"); given {
		var ok bool
		if want.Outcome, ok = automation.ParseOutcome(outcome); !ok {
			q.Fail("outcome", "outcome must be DONE, PENDING, FAILED or NOTHING")
		}
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.automation.Runs(ctx, c.Principal.Tenant, want)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}
