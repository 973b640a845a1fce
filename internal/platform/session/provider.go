package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// How an OpenID provider is asked.
const (
	askWithin    = 5 * time.Second  // of one request
	maxAnswer    = 256 << 10        // bytes of one answer
	metadataAge  = 10 * time.Minute // after which its metadata are fetched again
	awayFor      = 5 * time.Second  // that it is left alone after it failed to renew a token
	maxErrorCode = 40
)

// OIDC is an OpenID provider at which people sign in.
type OIDC struct {
	Issuer string
	Client string
	Secret string   // "": the client is public
	Scopes []string // that it is asked for; nil: openid
}

// provider asks an OpenID provider. Redirects are not followed: its metadata name where to go.
type provider struct {
	cfg      OIDC
	redirect string // the URL that it sends people back to
	client   *http.Client
	now      func() time.Time

	mu      sync.Mutex
	said    *metadata
	fetched time.Time
	failed  time.Time // when a token could not be renewed, until one could
}

// metadata are those members of its metadata that matter here.
type metadata struct {
	Issuer    string   `json:"issuer"`
	Authorize string   `json:"authorization_endpoint"`
	Token     string   `json:"token_endpoint"`
	Methods   []string `json:"token_endpoint_auth_methods_supported"`
}

func newProvider(cfg OIDC, redirect string, now func() time.Time) *provider {
	if len(cfg.Scopes) == 0 {
		cfg.Scopes = []string{"openid"}
	}
	return &provider{cfg: cfg, redirect: redirect, now: now, client: &http.Client{
		Timeout:       askWithin,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// metadata are what the provider says of itself, fetched when they are asked for, and again when they are old.
func (p *provider) metadata(ctx context.Context) (*metadata, error) {
	p.mu.Lock()
	said, fetched := p.said, p.fetched
	p.mu.Unlock()
	if age := p.now().Sub(fetched); said != nil && age >= 0 && age < metadataAge {
		return said, nil
	}
	fresh, err := p.discover(ctx)
	if err != nil {
		if said != nil {
			return said, nil // the last good ones
		}
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said, p.fetched = fresh, p.now()
	return fresh, nil
}

func (p *provider) discover(ctx context.Context) (*metadata, error) {
	at := strings.TrimSuffix(p.cfg.Issuer, "/") + "/.well-known/openid-configuration"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, errors.New("the URL of the OpenID provider is malformed")
	}
	status, raw, err := p.do(req)
	if err != nil {
		return nil, err
	}
	var m metadata
	if status != http.StatusOK || json.Unmarshal(raw, &m) != nil {
		return nil, fmt.Errorf("the metadata of the OpenID provider cannot be read: it answers %d", status)
	}
	if m.Issuer != p.cfg.Issuer {
		return nil, errors.New("the metadata of the OpenID provider name another issuer")
	}
	for _, endpoint := range []string{m.Authorize, m.Token} {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "https" && !strings.HasPrefix(p.cfg.Issuer, u.Scheme+"://") {
			return nil, errors.New("the metadata of the OpenID provider name an endpoint that is not safe")
		}
	}
	return &m, nil
}

// do sends a request. Errors name no URL, whose query may be nobody's business.
func (p *provider) do(req *http.Request) (status int, raw []byte, err error) {
	req.Header.Set("Accept", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(raw) > maxAnswer {
		err = fmt.Errorf("the answer of the OpenID provider is larger than %d bytes", maxAnswer)
	}
	return resp.StatusCode, raw, err
}

// start is the URL at which somebody signs in.
func (p *provider) start(ctx context.Context, l *login) (string, error) {
	m, err := p.metadata(ctx)
	if err != nil {
		return "", err
	}
	query := url.Values{
		"response_type": {"code"}, "client_id": {p.cfg.Client}, "redirect_uri": {p.redirect},
		"scope": {strings.Join(p.cfg.Scopes, " ")}, "state": {l.State}, "nonce": {l.Nonce},
		"code_challenge": {l.challenge()}, "code_challenge_method": {"S256"},
	}
	separator := "?"
	if strings.Contains(m.Authorize, "?") {
		separator = "&"
	}
	return m.Authorize + separator + query.Encode(), nil
}

// tokens are what the provider gives.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
	Type    string `json:"token_type"`
}

// denied is a refusal of the provider, by its code (RFC 6749, section 5.2).
type denied string

func (d denied) Error() string { return "the OpenID provider refuses it: " + string(d) }

// errorCode is a code of the provider, as far as it is one.
func errorCode(code string) denied {
	if code == "" || len(code) > maxErrorCode || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "unknown_error"
	}
	return denied(code)
}

// exchange gives a code for tokens.
func (p *provider) exchange(ctx context.Context, code, verifier string) (tokens, error) {
	return p.ask(ctx, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {p.redirect}, "code_verifier": {verifier},
	})
}

// refresh gives a refresh token for tokens.
func (p *provider) refresh(ctx context.Context, token string) (tokens, error) {
	t, err := p.ask(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
	var refusal denied
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed = (time.Time{}); err != nil && !errors.As(err, &refusal) {
		p.failed = p.now()
	}
	if err == nil && t.Refresh == "" {
		t.Refresh = token // it is good for another time
	}
	return t, err
}

// away reports whether the provider could not be reached a moment ago.
func (p *provider) away() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.now().Sub(p.failed)
	return !p.failed.IsZero() && since >= 0 && since < awayFor
}

// ask asks for tokens.
func (p *provider) ask(ctx context.Context, form url.Values) (t tokens, err error) {
	m, err := p.metadata(ctx)
	if err != nil {
		return t, err
	}
	basic := p.cfg.Secret != "" && (len(m.Methods) == 0 || slices.Contains(m.Methods, "client_secret_basic"))
	if !basic {
		form.Set("client_id", p.cfg.Client)
		if p.cfg.Secret != "" {
			form.Set("client_secret", p.cfg.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return t, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic { // RFC 6749, section 2.3.1
		req.SetBasicAuth(url.QueryEscape(p.cfg.Client), url.QueryEscape(p.cfg.Secret))
	}
	status, raw, err := p.do(req)
	if err != nil {
		return t, err
	}
	var failure struct {
		Error string `json:"error"`
	}
	switch {
	case status == http.StatusOK:
		if json.Unmarshal(raw, &t) != nil || t.Access == "" || !strings.EqualFold(t.Type, "Bearer") {
			return tokens{}, errors.New("the answer of the OpenID provider holds no bearer token")
		}
		return t, nil
	case status >= 400 && status < 500 && json.Unmarshal(raw, &failure) == nil && failure.Error != "":
		return t, errorCode(failure.Error)
	}
	return t, fmt.Errorf("the OpenID provider answers %d", status)
}
