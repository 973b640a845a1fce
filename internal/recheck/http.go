package recheck

import (
	"context"
	"net/http"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// MaxBody is the longest body on the re-check surface, in bytes.
const MaxBody = 64 << 10

// api answers the calls of the re-check surface.
type api struct {
	rechecks  *Rechecks
	publicURL string
}

// Routes are the routes of strategies and of requests to check them again. publicURL is where
// callers reach this process, without a slash at its end; "": URLs that they are given have no host.
// What is under /gui is for tokens of an audience of its own.
func (r *Rechecks) Routes(publicURL string) []gate.Route {
	either := []string{gate.AudienceRecheck, gate.AudienceGUI}
	a := &api{rechecks: r, publicURL: publicURL}
	return rest.Routes([]gate.Route{
		{Operation: "putStrategy", Heavy: true, MaxBody: MaxBody, Do: a.putStrategy},
		{Operation: "listStrategies", Heavy: true, Audiences: []string{gate.AudienceGUI}, Do: a.listStrategies},
		{Operation: "recheck", MaxBody: MaxBody, Do: a.recheck(ParseOrder)},
		{Operation: "recheckAll", Heavy: true, MaxBody: MaxBody, Do: a.recheck(ParseOrderAll)},
		{Operation: "getRecheck", Audiences: either, Do: a.recheckProgress},
		{Operation: "cancelRecheck", MaxBody: MaxBody, Do: a.cancelRecheck},
		{Operation: "getArtifactURL", Audiences: either, Do: rest.NoQuery(a.artifactURL)},
		{Operation: "downloadArtifact", Public: true, Do: a.artifact},
	})
}

// callerOf is who asks, for the parts behind this surface.
func callerOf(c *gate.Call) Caller {
	return Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, CorrelationID: c.CorrelationID}
}

// recheck answers POST /pdca/recheck and POST /pdca/recheck_all.
func (a *api) recheck(parse func([]byte) (Order, error)) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		key, err := rest.Key(c, Identity)
		if err != nil {
			return gate.Reply{}, err
		}
		order, err := parse(c.Body)
		if err != nil {
			return gate.Reply{}, err
		}
		answer, err := a.rechecks.Accept(ctx, callerOf(c), order, key)
		if err != nil {
			return gate.Reply{}, err
		}
		c.About = answer.RequestID
		return accepted(http.StatusAccepted, &answer), nil
	}
}

// accepted is the answer that names a request.
func accepted(status int, answer *Answer) gate.Reply {
	return gate.Reply{
		Status: status, Body: answer,
		Header: http.Header{"Location": {"/pdca/recheck/" + answer.RequestID}},
	}
}

func (a *api) cancelRecheck(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := rest.Key(c, canonical.Options{})
	if err != nil {
		return gate.Reply{}, err
	}
	reason, err := ParseCancel(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	ending, err := a.rechecks.Cancel(ctx, callerOf(c), c.Path("request_id"), reason, key)
	status := http.StatusOK
	if ending.Changed {
		status = http.StatusAccepted
	}
	return accepted(status, &ending.Answer), err
}

func (a *api) recheckProgress(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, page := rest.ReadPage(c, "status")
	filter := ItemFilter{Offset: page.Offset(), Limit: page.Size}
	for _, word := range q.Words("status", ItemStatusNames[:]...) {
		filter.Status = append(filter.Status, ItemStatus(slices.Index(ItemStatusNames[:], word)))
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	p, err := a.rechecks.Progress(ctx, c.Principal.Tenant, c.Path("request_id"), filter)
	if err != nil {
		return gate.Reply{}, err
	}
	p.Page, p.PageSize = page.Number, page.Size
	return gate.Reply{Body: &p}, nil
}
