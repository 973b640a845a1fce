package automation

import (
	"context"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// api answers the calls of automation.
type api struct{ automation *Automation }

// Routes are the routes of inboxes, tasks, jobs and runs.
func (s *Automation) Routes() []gate.Route {
	a := &api{s}
	return rest.Routes([]gate.Route{
		{Operation: "listInbox", Heavy: true, Do: a.listInbox},
		{Operation: "readNote", Do: rest.WithID("id", a.readNote)},
		{Operation: "listUserTasks", Heavy: true, Do: a.listTasks},
		{Operation: "completeUserTask", Do: rest.WithID("id", a.completeTask)},
		{Operation: "listScheduledJobRuns", Heavy: true, Do: a.listJobs},
		{Operation: "listActionRuns", Heavy: true, Do: a.listRuns},
	})
}

// listInbox answers GET /automation/inbox.
func (a *api) listInbox(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "unread")
	unread := q.Bool("unread")
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.automation.Inbox(ctx, kit.CallerOf(c), unread != nil && *unread, p.Offset(), p.Size)
	return gate.Reply{Body: rest.NewList(p, rows, total)}, err
}

// readNote answers PUT /automation/inbox/{id}/read.
func (a *api) readNote(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if len(c.Body) > 0 {
		return gate.Reply{}, rest.Invalid("", "to mark a note as read takes no body; the path says it all")
	}
	n, err := a.automation.MarkRead(ctx, kit.CallerOf(c), c.Path("id"))
	return gate.Reply{Body: &n}, err
}

// listTasks answers GET /automation/tasks.
func (a *api) listTasks(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "status")
	status, given := q.Text("status")
	if given && status != TaskOpen && status != TaskDone {
		q.Fail("status", "status must be %s or %s", TaskOpen, TaskDone)
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.automation.Tasks(ctx, kit.CallerOf(c), status, p.Offset(), p.Size)
	return gate.Reply{Body: rest.NewList(p, rows, total)}, err
}

// completeTask answers PUT /automation/tasks/{id}/done.
func (a *api) completeTask(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if len(c.Body) > 0 {
		return gate.Reply{}, rest.Invalid("", "to mark a task as done takes no body; the path says it all")
	}
	t, err := a.automation.Complete(ctx, kit.CallerOf(c), c.Path("id"))
	return gate.Reply{Body: &t}, err
}

// listJobs answers GET /automation/jobs.
func (a *api) listJobs(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	all, err := a.automation.Jobs(ctx, c.Principal.Tenant)
	return gate.Reply{Body: rest.NewList(p, rest.Cut(p, all), len(all))}, err
}

// listRuns answers GET /automation/runs.
func (a *api) listRuns(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "eventId", "ruleId", "recordId", "outcome")
	want := RunQuery{
		EventID: q.ID("eventId"), RuleID: q.ID("ruleId"), RecordID: q.ID("recordId"),
		Offset: p.Offset(), Limit: p.Size,
	}
	if outcome, given := q.Text("outcome"); given {
		var ok bool
		if want.Outcome, ok = ParseOutcome(outcome); !ok {
			q.Fail("outcome", "outcome must be DONE, PENDING, FAILED or NOTHING")
		}
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.automation.Runs(ctx, c.Principal.Tenant, want)
	return gate.Reply{Body: rest.NewList(p, rows, total)}, err
}
