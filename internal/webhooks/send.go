package webhooks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"renga.dev/renga/internal/platform/canonical"
)

// The bounds of an answer.
const (
	MaxAnswerHeaders = 16 << 10 // bytes of its headers
	mostDrained      = 64 << 10 // bytes of its body that are read so that the connection can be used again
	idleEach         = 16       // idle connections of an endpoint
	idleFor          = 30 * time.Second
)

// sender posts to endpoints.
type sender struct {
	client *http.Client
	agent  string
	within time.Duration
}

func newSender(cfg *Config) *sender {
	allowed := cfg.Allowed
	transport := &http.Transport{
		DialContext:            allowed.dial, // and no proxy: it would connect to what dial refuses
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: MaxAnswerHeaders,
		MaxIdleConnsPerHost:    idleEach,
		MaxIdleConns:           256,
		IdleConnTimeout:        idleFor,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
	}
	return &sender{agent: cfg.Agent, within: cfg.Timeout, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// close ends connections that are not in use.
func (s *sender) close() { s.client.CloseIdleConnections() }

// endpoint is where and how messages are posted.
type endpoint struct {
	url     string
	headers map[string]string
	secrets []secret
}

// endpoint is that of the webhook at an instant.
func (r *row) endpoint(now canonical.Stamp) endpoint {
	return endpoint{url: r.def.URL, headers: r.header, secrets: r.at(now)}
}

// try is what came of a request.
type try struct {
	at     time.Time
	took   time.Duration
	status int    // 0: there was no answer
	err    string // "": there was one
	answer string // the beginning of its body
}

func (t *try) attempt(number int64, at canonical.Stamp) Attempt {
	return Attempt{
		Number: number, TriedAt: at, Took: t.took.Milliseconds(), Status: int64(t.status), Error: t.err,
		Answer: t.answer,
	}
}

// what says in a few words what came of it.
func (t *try) what() string {
	if t.err != "" {
		return t.err
	}
	return strconv.Itoa(t.status) + " " + http.StatusText(t.status)
}

// post signs a message and posts it.
func (s *sender) post(ctx context.Context, to endpoint, id string, body []byte) (t try) {
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	t.at = time.Now()
	defer func() { t.took = time.Since(t.at) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		t.err = "the URL cannot be used"
		return t
	}
	for name, value := range to.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.agent)
	req.Header.Set(HeaderID, id)
	req.Header.Set(HeaderTimestamp, strconv.FormatInt(t.at.Unix(), 10))
	req.Header.Set(HeaderSignature, signature(to.secrets, id, t.at, body))
	resp, err := s.client.Do(req)
	if err != nil {
		t.err = s.explain(err)
		return t
	}
	defer resp.Body.Close()
	t.status = resp.StatusCode
	head := make([]byte, MaxAnswer)
	n, err := io.ReadFull(resp.Body, head)
	t.answer = clip(string(head[:n]), MaxAnswer)
	if err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, mostDrained)
	}
	return t
}

// explain says what went wrong, without the URL, which may hold credentials, and without addresses inside.
func (s *sender) explain(err error) string {
	var no *refusal
	var of *url.Error
	var name *net.DNSError
	switch {
	case errors.As(err, &no):
		return "nothing was sent: the address of the host is " + no.why
	case errors.As(err, &name):
		return "the name of the host cannot be resolved"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer within " + s.within.String()
	case errors.As(err, &of):
		err = of.Err
	}
	return clip(err.Error(), maxError)
}
