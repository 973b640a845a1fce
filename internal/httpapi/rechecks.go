package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/recheck"
)

// Rechecks takes requests to check strategies again.
type Rechecks interface {
	// Accept puts a request down and starts it; a known key gives the answer of its first time.
	Accept(ctx context.Context, call recheck.Caller, o recheck.Order, key wire.Once) (recheck.Answer, error)
	// Progress is a request with a page of its items. Unknown ones are fault.NotFound.
	Progress(ctx context.Context, tenant, id string, f recheck.ItemFilter) (recheck.Progress, error)
	// Cancel ends a request; one that has ended stays as it is.
	Cancel(ctx context.Context, call recheck.Caller, id, reason string, key wire.Once) (recheck.Ending, error)
	// Link is a way to an artifact that needs no token; Artifact is what it leads to.
	Link(ctx context.Context, tenant, id string) (recheck.Link, error)
	Artifact(ctx context.Context, tenant, id string, expires int64, signature string) (recheck.Artifact, error)
}

// recheckRoutes are the routes of requests to check strategies again.
func (a *API) recheckRoutes() []gate.Route {
	either := []string{gate.AudiencePDCA, gate.AudienceGUI}
	return []gate.Route{
		{
			Pattern: "POST /pdca/recheck", Surface: gate.Recheck, Scope: scopeRecheck, Rate: rateRecheck, Once: gate.Required,
			MaxBody: MaxRecheckBody, Do: rest.NoQuery(a.recheck(recheck.ParseOrder)),
		},
		{
			Pattern: "POST /pdca/recheck_all", Heavy: true, Surface: gate.Recheck, Scope: scopeRecheckAll, Rate: ratePDCABulk, Once: gate.Required,
			MaxBody: MaxRecheckBody, Do: rest.NoQuery(a.recheck(recheck.ParseOrderAll)),
		},
		{
			Pattern: "GET /pdca/recheck/{request_id}", Surface: gate.Recheck, Audiences: either, Scope: scopePDCARead,
			Rate: ratePDCARead, Do: a.recheckProgress,
		},
		{
			Pattern: "POST /pdca/recheck/{request_id}/cancel", Surface: gate.Recheck, Scope: scopeRecheck, Rate: rateRecheck, Once: gate.Required,
			MaxBody: MaxRecheckBody, Do: rest.NoQuery(a.cancelRecheck),
		},
		{
			Pattern: "GET /pdca/artifacts/{artifact_id}/download_url", Surface: gate.Recheck, Audiences: either, Scope: scopeDownload,
			Rate: ratePDCARead, Do: rest.NoQuery(a.artifactURL),
		},
		{
			Pattern: "GET /pdca/artifacts/{artifact_id}/content", Surface: gate.Recheck, Public: true, Rate: ratePDCARead, Do: a.artifact,
		},
	}
}

// caller is who asks, for the parts behind this surface.
func caller(c *gate.Call) recheck.Caller {
	return recheck.Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, CorrelationID: c.CorrelationID}
}

// recheck answers POST /pdca/recheck and POST /pdca/recheck_all.
func (a *API) recheck(parse func([]byte) (recheck.Order, error)) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		key, err := rest.Key(c, recheck.Identity)
		if err != nil {
			return gate.Reply{}, err
		}
		order, err := parse(c.Body)
		if err != nil {
			return gate.Reply{}, err
		}
		answer, err := a.rechecks.Accept(ctx, caller(c), order, key)
		if err != nil {
			return gate.Reply{}, err
		}
		c.About = answer.RequestID
		return accepted(http.StatusAccepted, &answer), nil
	}
}

// accepted is the answer that names a request.
func accepted(status int, answer *recheck.Answer) gate.Reply {
	return gate.Reply{Status: status, Body: answer, Header: http.Header{"Location": {"/pdca/recheck/" + answer.RequestID}}}
}

// cancelRecheck answers POST /pdca/recheck/{request_id}/cancel.
func (a *API) cancelRecheck(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := rest.Key(c, wire.Options{})
	if err != nil {
		return gate.Reply{}, err
	}
	reason, err := recheck.ParseCancel(c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	ending, err := a.rechecks.Cancel(ctx, caller(c), c.Path("request_id"), reason, key)
	if err != nil {
		return gate.Reply{}, err
	}
	status := http.StatusOK
	if ending.Changed {
		status = http.StatusAccepted
	}
	return accepted(status, &ending.Answer), nil
}

// progressView is a request as readers see it.
type progressView struct {
	RequestID string         `json:"request_id"`
	Status    recheck.Status `json:"status"`
	DryRun    bool           `json:"dry_run"`
	Window    jsontext.Value `json:"window"`
	Reason    string         `json:"reason"`
	TraceID   string         `json:"trace_id,omitzero"`
	Total     int            `json:"total"`
	Counts    countsView     `json:"counts"`
	Items     []recheck.Item `json:"items"`
	Page      int            `json:"page"`
	PageSize  int            `json:"page_size"`
	Matching  int            `json:"matching"`
	CreatedAt wire.Stamp     `json:"created_at"`
	UpdatedAt wire.Stamp     `json:"updated_at"`
}

type countsView struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Canceled  int `json:"canceled"`
	Planned   int `json:"planned"`
}

// recheckProgress answers GET /pdca/recheck/{request_id}.
func (a *API) recheckProgress(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, page := rest.ReadPage(c, "status")
	filter := recheck.ItemFilter{Status: parsed(q, "status", itemStatuses), Offset: page.Offset(), Limit: page.Size}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	p, err := a.rechecks.Progress(ctx, c.Principal.Tenant, c.Path("request_id"), filter)
	if err != nil {
		return gate.Reply{}, err
	}
	if p.Items == nil {
		p.Items = []recheck.Item{}
	}
	n := &p.Counts
	return gate.Reply{Body: &progressView{
		RequestID: p.RequestID, Status: p.Status, DryRun: p.DryRun, Window: p.Window, Reason: p.Reason, TraceID: p.TraceID,
		Total: p.Total, Items: p.Items, Page: page.Number, PageSize: page.Size, Matching: p.Matching,
		Counts: countsView{
			n[recheck.ItemQueued], n[recheck.ItemRunning], n[recheck.ItemSucceeded], n[recheck.ItemFailed], n[recheck.ItemCanceled], n[recheck.ItemPlanned],
		},
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}}, nil
}

// itemStatuses reads statuses of items that are separated by commas.
func itemStatuses(list string) (statuses []recheck.ItemStatus, err error) {
	for word := range strings.SplitSeq(list, ",") {
		at := slices.Index(recheck.ItemStatusNames[:], word)
		if at < 0 {
			return nil, rest.Invalid("status", "status must be a list of %s, separated by commas", strings.Join(recheck.ItemStatusNames[:], ", "))
		}
		statuses = append(statuses, recheck.ItemStatus(at))
	}
	return statuses, nil
}
