package recheck

import (
	"context"
	"net/http"
	"strconv"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// artifactURL gives a URL that begins with the public URL; without one it has no host, since the host
// that a request names cannot be trusted.
func (a *api) artifactURL(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	link, err := a.rechecks.Link(ctx, c.Principal.Tenant, c.Path("artifact_id"))
	link.URL = a.publicURL + link.URL
	return gate.Reply{Body: &link}, err
}

// artifact lets callers in by the signature of the URL. What a worker has left is never shown as a page
// of this origin, whatever it calls itself.
func (a *api) artifact(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "tenant", "expires", "signature")
	tenant, _ := q.Text("tenant")
	text, _ := q.Text("expires")
	signature, _ := q.Text("signature")
	expires, err := strconv.ParseInt(text, 10, 64)
	if err != nil || tenant == "" || signature == "" {
		q.Fail("expires", "the URL must be as it was given: with tenant, expires and signature")
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	found, err := a.rechecks.Artifact(ctx, tenant, c.Path("artifact_id"), expires, signature)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Raw: found.Content, Type: "application/octet-stream", Header: http.Header{
		"Content-Disposition":     {attachment(found.Name)},
		"Content-Security-Policy": {"sandbox"},
	}}, nil
}
