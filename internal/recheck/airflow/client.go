package airflow

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// The endpoints, as they are called in metrics, spans and errors.
const (
	endTrigger = "trigger" // POST …/dagRuns
	endRun     = "run"     // GET …/dagRuns/{id}
	endRuns    = "runs"    // GET …/dagRuns
	endCancel  = "cancel"  // PATCH …/dagRuns/{id}
	endResult  = "result"  // GET …/xcomEntries/return_value
	endDAG     = "dag"     // GET /dags/{id}
	endToken   = "token"   // POST /auth/token
	endVersion = "version" // GET /version
)

// client speaks Airflow's REST API. Every call is bounded in time and size; none is
// repeated here but for a new login, so whoever calls decides when to try again.
type client struct {
	cfg     Config
	base    *url.URL
	http    *http.Client
	login   login
	circuit *circuit
	tell    *teller
	api     atomic.Value // string: the version in use; "" not known yet
	strings atomic.Bool  // results come as texts only: Airflow is older than 2.10
}

func newClient(cfg Config, circuit *circuit, tell *teller) (*client, error) {
	base, err := parseBase(cfg.URL)
	if err != nil {
		return nil, err
	}
	c := &client{cfg: cfg, base: base, login: newLogin(), circuit: circuit, tell: tell}
	c.unlearn()
	dialer := &net.Dialer{Timeout: cfg.ConnectTimeout, KeepAlive: 30 * time.Second}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
			TLSHandshakeTimeout: cfg.ConnectTimeout, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:     true,
			ResponseHeaderTimeout: cfg.ReadTimeout, MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost: cfg.Calls, MaxConnsPerHost: cfg.Calls + 2, IdleConnTimeout: 30 * time.Second,
		},
		// Where a redirect leads is not where the credentials should go.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// unlearn forgets which version of the API answers: Airflow may come back as another.
func (c *client) unlearn() {
	if c.cfg.API == Auto {
		c.api.Store("")
	} else {
		c.api.Store(c.cfg.API)
	}
	c.strings.Store(false)
}

func (c *client) close() { c.http.CloseIdleConnections() }

// exchange is one request and its answer.
type exchange struct {
	endpoint string
	method   string
	path     string // escaped, below the URL of Airflow
	query    url.Values
	body     any // nil: none
}

// do makes a call of the versioned API, if the circuit lets it. path is below its root.
// A pass that is refused is renewed once.
func (c *client) do(ctx context.Context, in exchange, into any) error {
	end, err := c.circuit.ask()
	if err != nil {
		return err
	}
	err = c.attempt(ctx, in, into)
	end(outcomeOf(err).health())
	return err
}

func (c *client) attempt(ctx context.Context, in exchange, into any) error {
	api, err := c.version(ctx)
	if err != nil {
		return err
	}
	in.path = "/api/" + api + in.path
	for again := false; ; again = true {
		p, err := c.pass(ctx, api)
		if err != nil {
			return err
		}
		err = c.exchange(ctx, in, p, into)
		if outcomeOf(err) != unauthorized {
			return err
		}
		c.login.drop(p)
		if again {
			return err
		}
	}
}

// version is the version of the API in use; with Auto the newest that answers.
func (c *client) version(ctx context.Context) (string, error) {
	if known := c.api.Load().(string); known != "" {
		return known, nil
	}
	var last error
	for _, api := range []string{V2, V1} {
		var got struct {
			Version string `json:"version"`
		}
		last = c.exchange(ctx, exchange{endpoint: endVersion, method: http.MethodGet, path: "/api/" + api + "/version"},
			&pass{}, &got)
		switch outcomeOf(last) {
		case ok:
			if got.Version != "" {
				c.api.Store(api)
				return api, nil
			}
			last = &callError{endpoint: endVersion, outcome: badAnswer}
		case notFound, refused, unauthorized, badAnswer: // something else answers there
		default:
			return "", last
		}
	}
	e, _ := last.(*callError)
	return "", &callError{
		endpoint: endVersion, outcome: badAnswer, status: e.status,
		detail: "neither /api/v2 nor /api/v1 is there: is --airflow-url right?",
	}
}

// exchange sends a request and reads its answer into a value. It is the only place
// where bytes go out.
func (c *client) exchange(ctx context.Context, in exchange, p *pass, into any) (err error) {
	ctx, done := c.tell.begin(ctx, in.endpoint)
	status := 0
	defer func() { done(status, err) }()
	call, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout+c.cfg.ReadTimeout)
	defer cancel()
	request, err := c.request(call, in)
	if err != nil {
		return &callError{endpoint: in.endpoint, outcome: refused, detail: "the request cannot be made"}
	}
	p.put(request)
	answer, err := c.http.Do(request)
	if err != nil {
		return broken(ctx, in.endpoint, err)
	}
	defer answer.Body.Close()
	status = answer.StatusCode
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return broken(ctx, in.endpoint, err)
	case status < 200 || status > 299:
		return refusal(in.endpoint, status, body)
	case len(body) > MaxAnswer:
		return &callError{endpoint: in.endpoint, outcome: tooLarge, status: status}
	}
	if media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err != nil ||
		media != "application/json" {
		return &callError{endpoint: in.endpoint, outcome: badAnswer, status: status, detail: "it is not JSON"}
	}
	if err := json.Unmarshal(body, into); err != nil {
		e := &callError{
			endpoint: in.endpoint, outcome: badAnswer, status: status,
			detail: "it is not the JSON that was expected",
		}
		if in.endpoint == endResult { // the DAG has written it, so it says nothing of Airflow
			e.outcome = unreadable
		}
		return e
	}
	return nil
}

func (c *client) request(ctx context.Context, in exchange) (*http.Request, error) {
	target := *c.base
	full, err := target.Parse(c.base.EscapedPath() + in.path)
	if err != nil {
		return nil, err
	}
	full.RawQuery = in.query.Encode()
	var body io.Reader
	if in.body != nil {
		raw, err := json.Marshal(in.body, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, in.method, full.String(), body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "renga")
	if in.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}
