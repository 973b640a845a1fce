package client

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// transport is what the parts of a Client send their requests through.
type transport struct {
	cfg     Config
	servers []string // base URLs without a slash at the end
	broken  error    // what is wrong with the Config; every call says so
	at      atomic.Int64
	own     *http.Transport // nil: the caller's
}

// newTransport fills in the defaults of a Config.
func newTransport(cfg Config) *transport {
	c := &transport{cfg: cfg}
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

// refuses is why a call cannot be sent: by the Config, or since an id of its path is empty.
func (c *transport) refuses(path string) error {
	if c.broken == nil && strings.Contains(path+"/", "//") {
		return fmt.Errorf("client: %s: an id is required", path)
	}
	return c.broken
}

// server is the process that requests go to now, and its place.
func (c *transport) server() (string, int64) {
	at := c.at.Load()
	return c.servers[at%int64(len(c.servers))], at
}

// leave lets the next request go to another process, when the one at a place did
// not answer. Of many requests that find that out, one moves on.
func (c *transport) leave(at int64) { c.at.CompareAndSwap(at, at+1) }
