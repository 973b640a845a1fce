// Package console serves the web console: one document at every address of it, and the files that the document
// names. It says what a browser may do with them, and knows nothing of what they do.
//
// The invariant: no answer lets a page run a script, or show a style, that did not come from this server.
package console

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/web"
)

// Pages are the routes of a console.
type Pages struct {
	console *web.Console
	base    string // the path below which callers reach this process, with a slash at its end
}

// New serves a console. publicURL is where callers reach this process; "": at the root of a host.
func New(c *web.Console, publicURL string) *Pages {
	base := "/"
	if u, err := url.Parse(publicURL); err == nil {
		base = strings.TrimRight(u.EscapedPath(), "/") + "/"
	}
	return &Pages{console: c, base: base}
}

// Routes are / and all that is below /ui. They need no token: the document asks for one, and all that it shows comes
// through the API.
func (p *Pages) Routes() []gate.Route {
	return gate.FromContract([]gate.Route{
		{Operation: "console", Public: true, Own: true, Do: p.home},
		{Operation: "consolePage", Public: true, Own: true, Rest: true, Do: p.page},
	})
}

func (p *Pages) home(context.Context, *gate.Call) (gate.Reply, error) { return p.document(), nil }

// page answers a file under its name, and the document everywhere else, so that every address can be opened anew.
func (p *Pages) page(_ context.Context, c *gate.Call) (gate.Reply, error) {
	name := c.Path("rest")
	f := p.console.File(name)
	switch {
	case f != nil:
		return file(f, c.TakesGzip())
	case web.IsAsset(name):
		return gate.Reply{}, fault.New(fault.NotFound, "", "the console has no such file; load the page again")
	}
	return p.document(), nil
}

// What caches may do: keep what never changes for a year, and ask about everything else.
const (
	forAYear = "public, max-age=31536000, immutable"
	askFirst = "no-cache"
)

// file answers a file, compressed as it is kept where the caller takes that.
func file(f *web.File, gzip bool) (gate.Reply, error) {
	h := http.Header{"Cache-Control": {askFirst}}
	if f.Immutable {
		h.Set("Cache-Control", forAYear)
	}
	if gzip && f.Packed != nil {
		h.Set("Content-Encoding", "gzip")
		h.Set("Vary", "Accept-Encoding")
		return gate.Reply{Raw: f.Packed, Type: f.Type, Header: h}, nil
	}
	plain, err := f.Plain()
	return gate.Reply{Raw: plain, Type: f.Type, Header: h}, err
}

// document answers the page, with a nonce that no other answer has.
func (p *Pages) document() gate.Reply {
	nonce := rand.Text()
	return gate.Reply{
		Raw: p.console.Document(p.base, nonce), Type: "text/html; charset=utf-8",
		Header: http.Header{
			"Cache-Control":              {askFirst},
			"Content-Security-Policy":    {policy(nonce)},
			"Cross-Origin-Opener-Policy": {"same-origin"},
			"Referrer-Policy":            {"no-referrer"},
		},
	}
}

// policy is what the document may load and do. Styles with the nonce are those that its widgets make.
func policy(nonce string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce + "'; img-src 'self' data:; " +
		"font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}
