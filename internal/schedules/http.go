package schedules

import (
	"context"
	"net/http"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// api answers the calls of schedules.
type api struct{ schedules *Schedules }

// Routes are the routes of schedules.
func (s *Schedules) Routes() []gate.Route {
	a := &api{s}
	return rest.Routes([]gate.Route{
		{Operation: "listSchedules", Heavy: true, Do: rest.Paged(s, (*Schedules).List, rest.Same)},
		{Operation: "putSchedule", Do: a.put},
		{Operation: "getSchedule", Do: rest.NoQuery(named(a.get))},
		{Operation: "deleteSchedule", Do: named(a.delete)},
		{Operation: "listScheduleTimes", Do: named(a.next)},
		{Operation: "listScheduleRuns", Heavy: true, Do: named(a.runs)},
		{Operation: "pauseSchedule", Do: named(a.pause)},
		{Operation: "resumeSchedule", Do: named(a.resume)},
		{Operation: "backfillSchedule", Do: named(a.backfill)},
		{Operation: "cancelBackfill", Do: named(a.cancelBackfill)},
	})
}

func named(next rest.Handler) rest.Handler { return rest.WithName(ValidID, unknown, next) }

func callerOf(c *gate.Call) Caller {
	return Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, CorrelationID: c.CorrelationID}
}

// put answers PUT /schedules/{id}.
func (a *api) put(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	d, err := ParseDefinition(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	stored, created, err := a.schedules.Put(ctx, callerOf(c), c.Path("id"), d)
	return gate.Reply{Status: rest.PutStatus(created), Body: &stored}, err
}

// get answers GET /schedules/{id}.
func (a *api) get(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	found, err := a.schedules.Get(ctx, c.Principal.Tenant, c.Path("id"))
	return gate.Reply{Body: &found}, err
}

// delete answers DELETE /schedules/{id}.
func (a *api) delete(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	return gate.Reply{Status: http.StatusNoContent}, a.schedules.Delete(ctx, callerOf(c), c.Path("id"))
}

// defaultNext is how many instants a preview shows that names no number.
const defaultNext = 5

// next answers GET /schedules/{id}/next.
func (a *api) next(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "n")
	n := q.Int("n", 1, MaxNext, defaultNext)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	list, err := a.schedules.Next(ctx, c.Principal.Tenant, c.Path("id"), n)
	return gate.Reply{Body: struct {
		Items []Instant `json:"items"`
	}{list}}, err
}

// runs answers GET /schedules/{id}/runs.
func (a *api) runs(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, "outcome", "from", "to")
	want := RunQuery{
		From: canonical.Stamp(q.Instant("from")), To: canonical.Stamp(q.Instant("to")), Offset: p.Offset(),
		Limit: p.Size,
	}
	if word, given := q.Text("outcome"); given {
		var ok bool
		if want.Outcome, ok = ParseOutcome(word); !ok {
			q.Fail("outcome", "outcome must be STARTED, SKIPPED, MISSED or QUEUED")
		}
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.schedules.Runs(ctx, c.Principal.Tenant, c.Path("id"), want)
	return gate.Reply{Body: rest.NewList(p, rows, total)}, err
}

// pause answers POST /schedules/{id}/pause.
func (a *api) pause(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var body struct {
		Reason string `json:"reason"`
	}
	if err := c.Decode(&body); err != nil {
		return gate.Reply{}, err
	}
	if !canonical.OneLine(body.Reason, 0, MaxReason) {
		return gate.Reply{}, rest.Invalid("reason", "reason must be at most %d characters on one line", MaxReason)
	}
	key, err := rest.Key(c, canonical.Options{})
	if err != nil {
		return gate.Reply{}, err
	}
	paused, err := a.schedules.Pause(ctx, callerOf(c), c.Path("id"), body.Reason, &key)
	return gate.Reply{Body: &paused}, err
}

// backfill answers POST /schedules/{id}/backfill.
func (a *api) backfill(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var body struct {
		From   string `json:"from"`
		To     string `json:"to"`
		Reason string `json:"reason"`
	}
	if err := c.Decode(&body); err != nil {
		return gate.Reply{}, err
	}
	var w Window
	for _, m := range []struct {
		name, text string
		into       *canonical.Stamp
	}{{"from", body.From, &w.From}, {"to", body.To, &w.To}} {
		at, err := canonical.ParseStamp(m.text)
		if err != nil || at <= 0 {
			return gate.Reply{}, rest.Invalid(m.name, "%s must be an RFC 3339 time, such as 2026-01-05T09:00:00Z",
				m.name)
		}
		*m.into = at
	}
	if !canonical.OneLine(body.Reason, 0, MaxReason) {
		return gate.Reply{}, rest.Invalid("reason", "reason must be at most %d characters on one line", MaxReason)
	}
	key, err := rest.Key(c, canonical.Options{})
	if err != nil {
		return gate.Reply{}, err
	}
	done, err := a.schedules.Backfill(ctx, callerOf(c), c.Path("id"), w, body.Reason, &key)
	return gate.Reply{Body: &done}, err
}

// cancelBackfill answers DELETE /schedules/{id}/backfill.
func (a *api) cancelBackfill(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	return gate.Reply{Status: http.StatusNoContent}, a.schedules.CancelBackfill(ctx, callerOf(c), c.Path("id"))
}

// resume answers POST /schedules/{id}/resume.
func (a *api) resume(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if err := c.Decode(&struct{}{}); err != nil {
		return gate.Reply{}, err
	}
	key, err := rest.Key(c, canonical.Options{})
	if err != nil {
		return gate.Reply{}, err
	}
	resumed, err := a.schedules.Resume(ctx, callerOf(c), c.Path("id"), &key)
	return gate.Reply{Body: &resumed}, err
}
