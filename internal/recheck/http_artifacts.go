package recheck

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
)

// linkView is a way to an artifact.
type linkView struct {
	URL       string     `json:"url"`
	ExpiresAt wire.Stamp `json:"expires_at"`
	Name      string     `json:"name"`
	MediaType string     `json:"media_type"`
	Size      int        `json:"size"`
}

// artifactURL gives a URL that begins with the public URL; without one it has no host, since the host
// that a request names cannot be trusted.
func (a *api) artifactURL(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id := c.Path("artifact_id")
	link, err := a.rechecks.Link(ctx, c.Principal.Tenant, id)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: &linkView{
		URL:       a.publicURL + "/pdca/artifacts/" + url.PathEscape(id) + "/content?" + link.Query,
		ExpiresAt: link.ExpiresAt, Name: link.Name, MediaType: link.MediaType, Size: link.Size,
	}}, nil
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
