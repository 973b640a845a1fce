package httpapi

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"renga.dev/renga/internal/gate"
	"renga.dev/renga/internal/wire"
)

// linkView is a way to an artifact.
type linkView struct {
	URL       string     `json:"url"`
	ExpiresAt wire.Stamp `json:"expires_at"`
	Name      string     `json:"name"`
	MediaType string     `json:"media_type"`
	Size      int        `json:"size"`
}

// artifactURL answers GET /pdca/artifacts/{artifact_id}/download_url.
func (a *API) artifactURL(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id := c.Path("artifact_id")
	link, err := a.rechecks.Link(ctx, c.Principal.Tenant, id)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: &linkView{
		URL:       a.base(c.Request) + "/pdca/artifacts/" + url.PathEscape(id) + "/content?" + link.Query,
		ExpiresAt: link.ExpiresAt, Name: link.Name, MediaType: link.MediaType, Size: link.Size,
	}}, nil
}

// base is where the caller reaches this process.
func (a *API) base(r *http.Request) string {
	switch {
	case a.publicURL != "":
		return a.publicURL
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// artifact answers GET /pdca/artifacts/{artifact_id}/content. Nobody shows a token here:
// the signature is what lets a caller in. What a worker has left is never shown as a page
// of this origin, whatever it calls itself.
func (a *API) artifact(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := newQuery(c, "tenant", "expires", "signature")
	tenant, _ := q.text("tenant")
	text, _ := q.text("expires")
	signature, _ := q.text("signature")
	expires, err := strconv.ParseInt(text, 10, 64)
	if err != nil || tenant == "" || signature == "" {
		q.fail("expires", "the URL must be as it was given: with tenant, expires and signature")
	}
	if q.err != nil {
		return gate.Reply{}, q.err
	}
	found, err := a.rechecks.Artifact(ctx, tenant, c.Path("artifact_id"), expires, signature)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Raw: found.Content, Type: "application/octet-stream", Header: http.Header{
		"Content-Disposition":     {mime.FormatMediaType("attachment", map[string]string{"filename": found.Name})},
		"Content-Security-Policy": {"sandbox"},
	}}, nil
}
