package session

import (
	"context"
	"net/http"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// maxBody is the largest body: that of a token that the gate takes.
const maxBody = 16 << 10

// Routes are those of signing in and out. They are public: who has no session yet, or none any more, needs them.
func (s *Sessions) Routes() []gate.Route {
	return rest.Routes([]gate.Route{
		{Operation: "getSession", Public: true, Do: rest.NoQuery(s.answerGet)},
		{Operation: "openSession", Public: true, MaxBody: maxBody, Do: s.answerOpen},
		{Operation: "closeSession", Public: true, Do: s.answerClose},
		{Operation: "startLogin", Public: true, Do: s.answerLogin},
		{Operation: "finishLogin", Public: true, Do: s.answerCallback},
	})
}

// view is what a page may know of its session.
type view struct {
	Auth      gate.Mode       `json:"auth"`
	OIDC      bool            `json:"oidc"`
	SignedIn  bool            `json:"signedIn"`
	TenantID  string          `json:"tenantId,omitzero"`
	Subject   string          `json:"subject,omitzero"`
	ExpiresAt canonical.Stamp `json:"expiresAt,omitzero"`
}

// answerGet answers GET /session.
func (s *Sessions) answerGet(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	v := view{Auth: s.auth.Mode(), OIDC: s.provider != nil}
	cookie := s.auth.Cookie(c.Request)
	if cookie == "" {
		return gate.Reply{Body: &v}, nil
	}
	f, err := s.find(ctx, cookie)
	var said gate.Verified
	if err == nil {
		said, err = s.auth.Verify(f.token)
	}
	switch {
	case fault.KindOf(err) == fault.Unauthorized: // it has ended
	case err != nil:
		return gate.Reply{}, err
	default:
		v.signedIn(said.Principal, f.ends)
	}
	return gate.Reply{Body: &v}, nil
}

func (v *view) signedIn(p gate.Principal, ends time.Time) {
	v.SignedIn, v.TenantID, v.Subject, v.ExpiresAt = true, p.Tenant, p.Subject, canonical.Stamp(ends.UnixMilli())
}

// answerOpen answers POST /session.
func (s *Sessions) answerOpen(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var in struct {
		Token string `json:"token"`
	}
	if err := c.Decode(&in); err != nil {
		return gate.Reply{}, err
	}
	if in.Token == "" {
		return gate.Reply{}, rest.Invalid("token", "token is required")
	}
	if err := s.auth.Confidential(c.Request); err != nil {
		return gate.Reply{}, err
	}
	said, err := s.auth.Verify(in.Token)
	var cookie string
	var ends time.Time
	if err == nil {
		cookie, ends, err = s.Open(ctx, callerOf(c), tokens{Access: in.Token}, said, s.auth.Cookie(c.Request))
	}
	if err != nil {
		if fault.KindOf(err) == fault.Unauthorized {
			c.Refuse(err)
		}
		return gate.Reply{}, err
	}
	v := view{Auth: s.auth.Mode(), OIDC: s.provider != nil}
	v.signedIn(said.Principal, ends)
	return gate.Reply{
		Status: http.StatusCreated, Body: &v, Header: http.Header{"Set-Cookie": {s.setCookie(cookie, ends)}},
	}, nil
}

// answerClose answers DELETE /session.
func (s *Sessions) answerClose(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	if cookie := s.auth.Cookie(c.Request); cookie != "" {
		if err := s.Close(ctx, callerOf(c), cookie); err != nil {
			return gate.Reply{}, err
		}
	}
	return gate.Reply{
		Status: http.StatusNoContent, Header: http.Header{"Set-Cookie": {s.setCookie("", time.Time{})}},
	}, nil
}

// callerOf is who signs in or out.
func callerOf(c *gate.Call) Caller { return Caller{c.Address(), c.CorrelationID} }

// setCookie is the header that sets the cookie until an instant, or takes it away when there is no value.
func (s *Sessions) setCookie(value string, until time.Time) string {
	age := -1
	if value != "" {
		age = max(1, int(until.Sub(s.now())/time.Second))
	}
	return (&http.Cookie{
		Name: gate.SessionCookie, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}).String()
}
