package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/platform/canonical"
)

// retryFor is how long a request is repeated: long enough for a server that is restarted, short for who waits.
const retryFor = 2 * time.Second

// remote is the program with a client and a copy of what the server last answered.
type remote struct {
	*App
	*client.Client
	heard *recorder
	token string
}

// connect makes a client as the flags say. The first request reports what is wrong with them (App.flaw), so that a
// command refuses its own flags before. Whoever may be waiting for as long as a server is away gives a longer patience.
func (a *App) connect(patience time.Duration) *remote {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	r := &remote{App: a, heard: &recorder{next: transport}}
	cfg := client.Config{
		URL: a.Server, Tenant: a.Tenant, User: a.As, EventToken: a.eventToken, UserAgent: "renga-cli",
		RetryFor: patience,
		HTTP:     &http.Client{Transport: r.heard},
	}
	if r.token, a.flaw = a.credentials(); a.flaw == nil {
		a.flaw = a.trust(transport)
	}
	if a.flaw != nil {
		cfg.URL = "none" // lets the client refuse every request
	}
	if r.token != "" {
		cfg.Token = func(context.Context) (string, error) { return r.token, nil }
	}
	r.Client = client.New(cfg)
	return r
}

// trust lets those sign the server's certificate whom --ca-file names.
func (a *App) trust(transport *http.Transport) error {
	if a.CAFile == "" {
		return nil
	}
	text, err := a.read(a.CAFile)
	if err != nil {
		return err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // this machine trusts nobody
	}
	if !pool.AppendCertsFromPEM(text) {
		return usage("--ca-file (or RENGA_CA_FILE): there is no PEM certificate in %s", a.CAFile)
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	return nil
}

// patient is a remote for who waits for something that may take longer than a server is away.
func (r *remote) patient() *remote { return r.connect(watchPatience) }

// credentials checks the flags that say where to connect and as whom, and reads the token.
func (a *App) credentials() (token string, err error) {
	for one := range strings.SplitSeq(a.Server, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", usage("--server (or RENGA_SERVER) must be like %s, not %q", client.DefaultURL, one)
		}
	}
	token = a.Token
	if a.TokenFile != "" {
		raw, err := a.read(a.TokenFile)
		if err != nil {
			return "", err
		}
		token = strings.TrimSpace(string(raw))
	}
	for _, given := range []struct{ what, value string }{
		{"the token", token},
		{"--tenant (or RENGA_TENANT)", a.Tenant},
		{"--as (or RENGA_USER)", a.As},
		{"--event-token (or AX_WORKFLOW_EVENT_TOKEN)", a.eventToken},
	} {
		if strings.ContainsFunc(given.value, unicode.IsControl) {
			return "", usage("%s holds a character that no header can", given.what)
		}
	}
	return token, nil
}

// shownServer is --server as it may be printed: without passwords.
func (a *App) shownServer() string {
	all := strings.Split(a.Server, ",")
	for i, one := range all {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil { // connect has refused what is no URL
			all[i] = u.Redacted()
		}
	}
	return strings.Join(all, ",")
}

// answer prints what the server answered: its JSON, or as people read it.
func (r *remote) answer(people func(*printer)) error {
	raw := r.heard.last()
	if r.Output == "json" && raw == nil {
		return errors.New("the server answered without JSON")
	}
	if r.Output != "json" {
		r.learn(people)
	}
	return r.print(raw, people)
}

// show prints what a call of the client gave, or gives its error back.
func show[T any](r *remote, people func(*printer, T)) func(T, error) error {
	return func(got T, err error) error {
		if err != nil {
			return err
		}
		return r.answer(func(p *printer) { people(p, got) })
	}
}

// showAll is show for a list.
func showAll[T any](r *remote, t table[T]) func([]T, error) error { return show(r, t.print) }

// tabulate is show for a page.
func tabulate[T any](r *remote, at *paging, t table[T]) func(*client.Page[T], error) error {
	return show(r, func(p *printer, page *client.Page[T]) {
		t.print(p, page.Items)
		r.more(at, len(page.Items), page.Total)
	})
}

// recorder keeps the last JSON of a status under 300, so that scripts also get members that this build does not know.
type recorder struct {
	next http.RoundTripper
	mu   sync.Mutex
	body jsontext.Value
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices ||
		!strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.body = body
	return resp, nil
}

func (r *recorder) last() jsontext.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body
}

// sending are the flags of commands that change something.
type sending struct {
	IdempotencyKey string `placeholder:"KEY"`
	CorrelationID  string `placeholder:"ID"`
}

const maxCorrelation = 128

func (s *sending) Validate() error {
	for _, given := range []struct {
		flag, value string
		limit       int
	}{
		{"--idempotency-key", s.IdempotencyKey, canonical.MaxKey},
		{"--correlation-id", s.CorrelationID, maxCorrelation},
	} {
		if given.value != "" && !canonical.Printable(given.value, given.limit) {
			return fmt.Errorf("%s must be 1 to %d printable ASCII characters", given.flag, given.limit)
		}
	}
	return nil
}

func (s *sending) context(ctx context.Context) context.Context {
	if s.CorrelationID == "" {
		return ctx
	}
	return client.WithCorrelationID(ctx, s.CorrelationID)
}

type paging struct {
	Page     int `default:"1" placeholder:"N" help:"Page (${default})."`
	PageSize int `default:"50" placeholder:"N" help:"Items on a page, 10 to 100 (${default})."`
}

func (p *paging) Validate() error {
	switch {
	case p.Page < 1:
		return errors.New("--page must be 1 or more")
	case p.PageSize < client.MinPageSize || p.PageSize > client.MaxPageSize:
		return fmt.Errorf("--page-size must be %d to %d", client.MinPageSize, client.MaxPageSize)
	}
	return nil
}

func (p *paging) at() client.Paging { return client.Paging{Page: p.Page, Size: p.PageSize} }

// more says, below a page, how to see the next.
func (a *App) more(p *paging, shown, total int) {
	if seen := (p.Page-1)*p.PageSize + shown; shown > 0 && seen < total {
		a.say("%d of %d; the next page: --page %d", seen, total, p.Page+1)
	}
}

// instant is a time as the server writes it; nothing for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
