package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Defaults of a Config.
const (
	DefaultURL      = "http://127.0.0.1:8080"
	DefaultTimeout  = 15 * time.Second // a server answers within 10 s, or with 503
	DefaultRetryFor = time.Minute
)

// Forever as Config.RetryFor repeats a request until its context ends.
const Forever time.Duration = -1

// Config is what a Client is made of. Zero values mean the documented default.
type Config struct {
	// URL is where the server is; default DefaultURL. Several, with commas between
	// them, are processes of one system: a request that one of them does not answer
	// goes to the next.
	URL string
	// Token gives the bearer token. It is asked for every try, so it may renew one
	// that expires. Default: none is sent.
	Token func(context.Context) (string, error)
	// EventToken is what workflow events and templates go by in place of Token.
	EventToken string
	// Tenant and User are who to act as, on servers with --auth none only.
	Tenant, User string
	// HTTP sends the requests. It should have no Timeout: long polls and streams take
	// as long as they take. Default: one of its own, which Close closes.
	HTTP *http.Client
	// UserAgent is the header of that name; default "renga-go".
	UserAgent string
	// Timeout is how long one try may take, beyond what a long poll waits.
	Timeout time.Duration
	// RetryFor is how long a request is repeated before its last error is given
	// back; default DefaultRetryFor, Forever until the context ends.
	RetryFor time.Duration
	// Log is told when a request has to be repeated; default: nobody.
	Log *slog.Logger
}

// Client sends requests to a server. It may be used by many goroutines at once.
type Client struct {
	cfg     Config
	servers []string // base URLs without a slash at the end
	broken  error    // what is wrong with the Config; every call says so
	at      atomic.Int64
	own     *http.Transport // nil: the caller's
}

// New makes a client. It does no I/O; what is wrong with the URL is told by every call.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg}
	if cfg.URL == "" {
		c.cfg.URL = DefaultURL
	}
	if cfg.Timeout <= 0 {
		c.cfg.Timeout = DefaultTimeout
	}
	if cfg.RetryFor == 0 {
		c.cfg.RetryFor = DefaultRetryFor
	}
	if cfg.UserAgent == "" {
		c.cfg.UserAgent = "renga-go"
	}
	if cfg.Log == nil {
		c.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.HTTP == nil {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		c.own.MaxIdleConnsPerHost = 64
		c.own.DisableCompression = true
		c.cfg.HTTP = &http.Client{Transport: c.own}
	}
	c.servers, c.broken = servers(c.cfg.URL)
	return c
}

// Close closes the connections that are not in use, when the client made them itself.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// servers splits a list of base URLs.
func servers(list string) ([]string, error) {
	var all []string
	for one := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil:
			return nil, fmt.Errorf("client: the URL of the server: %w", err)
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return nil, fmt.Errorf("client: the URL of the server must be like %s, not %q", DefaultURL, u.Redacted())
		case u.RawQuery != "" || u.Fragment != "":
			return nil, fmt.Errorf("client: the URL of the server has a query: %q", u.Redacted())
		}
		all = append(all, strings.TrimSuffix(u.String(), "/"))
	}
	return all, nil
}

// server is the process that requests go to now, and its place.
func (c *Client) server() (string, int64) {
	at := c.at.Load()
	return c.servers[at%int64(len(c.servers))], at
}

// leave lets the next request go to another process, when the one at a place did
// not answer. Of many requests that find that out, one moves on.
func (c *Client) leave(at int64) { c.at.CompareAndSwap(at, at+1) }

type correlationKey struct{}

// WithCorrelationID gives the requests under a context a correlation id, which
// travels into every event that they lead to.
func WithCorrelationID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, correlationKey{}, id)
}

func correlationID(ctx context.Context) string {
	id, _ := ctx.Value(correlationKey{}).(string)
	return id
}

var errNoExecution = errors.New("client: an execution id is required")
