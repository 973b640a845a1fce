package airflow

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// pass is what a request is authorised with.
type pass struct {
	user     string // with password: basic authentication
	password string
	bearer   string
	renewAt  time.Time // zero: when it is refused
}

func (p *pass) put(r *http.Request) {
	switch {
	case p.bearer != "":
		r.Header.Set("Authorization", "Bearer "+p.bearer)
	case p.user != "":
		r.SetBasicAuth(p.user, p.password)
	}
}

// login holds the pass in use, nil at first. Whoever takes it out, to look at it or to get a new one, puts one back.
type login chan *pass

func newLogin() login {
	l := make(login, 1)
	l <- nil
	return l
}

// drop forgets a pass that was refused, unless another has taken its place.
func (l login) drop(refused *pass) {
	p := <-l
	if p == refused {
		p = nil
	}
	l <- p
}

// pass is the pass for a version of the API. Of many that need a new one, one gets it.
func (c *client) pass(ctx context.Context, api string) (*pass, error) {
	var p *pass
	select {
	case p = <-c.login:
	case <-ctx.Done():
		return nil, broken(ctx, endToken, ctx.Err())
	}
	defer func() { c.login <- p }()
	if p != nil && (p.renewAt.IsZero() || time.Now().Before(p.renewAt)) {
		return p, nil
	}
	fresh, err := c.signIn(ctx, api)
	if err != nil {
		return nil, err
	}
	p = fresh
	return p, nil
}

func (c *client) signIn(ctx context.Context, api string) (*pass, error) {
	switch {
	case c.cfg.Token != nil:
		token, err := c.secret(c.cfg.Token)
		return &pass{bearer: token}, err
	case c.cfg.User == "":
		return &pass{}, nil
	}
	password, err := c.secret(c.cfg.Password)
	if err != nil || api == V1 {
		return &pass{user: c.cfg.User, password: password}, err
	}
	return c.fetchToken(ctx, password)
}

// secret reads one. What cannot be read is like what is refused: an operator must help,
// and until then nothing can be asked. The cause stays out, it may hold anything.
func (c *client) secret(read Secret) (string, error) {
	text, err := read()
	if text = strings.TrimSpace(text); err == nil && text != "" && len(text) <= MaxSecret &&
		!strings.ContainsAny(text, "\r\n\x00") {
		return text, nil
	}
	return "", &callError{
		endpoint: endToken, outcome: unauthorized,
		detail: "the password or token cannot be read, is empty, too long, or has several lines",
	}
}

// fetchToken logs in to Airflow 3.
func (c *client) fetchToken(ctx context.Context, password string) (*pass, error) {
	var got struct {
		AccessToken string `json:"access_token"`
	}
	in := exchange{
		endpoint: endToken, method: http.MethodPost, path: "/auth/token",
		body: map[string]string{"username": c.cfg.User, "password": password},
	}
	if err := c.exchange(ctx, in, &pass{}, &got); err != nil {
		var failure *callError
		if errors.As(err, &failure) {
			failure.detail = "" // it may repeat what was sent
		}
		return nil, err
	}
	if got.AccessToken == "" || len(got.AccessToken) > MaxSecret || strings.ContainsAny(got.AccessToken, " \r\n\x00") {
		return nil, &callError{endpoint: endToken, outcome: badAnswer}
	}
	return &pass{bearer: got.AccessToken, renewAt: renewal(got.AccessToken, time.Now())}, nil
}

// renewal is when a token should be replaced: a little before it expires, by at most
// a tenth of its life or a minute. A token that does not say so is used until it is
// refused.
func renewal(token string, now time.Time) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Exp <= 0 || claims.Exp > 1e11 {
		return time.Time{}
	}
	end := time.Unix(int64(claims.Exp), 0)
	return end.Add(-min(end.Sub(now)/10, time.Minute))
}
