package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

const (
	firstPause = 50 * time.Millisecond // before the second try
	maxPause   = 2 * time.Second       // between later ones, unless the server asks for more
	maxAnswer  = 64 << 20              // bytes
	mediaJSON  = "application/json"
)

// call is one request as its caller means it. It may be sent several times, always
// with the same key and body, so that it happens once.
type call struct {
	method, path string
	query        url.Values
	key          string // none on reads
	media        string // of the body; default JSON
	body         []byte
	wait         time.Duration // that the server may take before it answers
	retryFor     time.Duration // default that of the Config
	match        string        // the version that what is changed must have; "": any
	secret       string        // it goes by this in place of a token
	event        bool          // it goes by Config.EventToken, where there is one, in place of Token
}

// keyedOperation is an operation of the contract that takes an idempotency key.
type keyedOperation struct{ method, path, header string }

// matches reports whether a call is one of this operation.
func (o *keyedOperation) matches(method, path string) bool {
	if o.method != method {
		return false
	}
	want, got, more := o.path, path, true
	for more {
		var segment, other string
		var longer bool
		segment, want, more = strings.Cut(want, "/")
		other, got, longer = strings.Cut(got, "/")
		if longer != more || segment != other && !strings.HasPrefix(segment, "{") {
			return false
		}
	}
	return true
}

// keyHeader is what the key is called where the call goes.
func (q *call) keyHeader() string {
	for i := range keyed {
		if keyed[i].matches(q.method, q.path) {
			return keyed[i].header
		}
	}
	return "X-Idempotency-Key"
}

// reply is an answer with a status under 300.
type reply struct {
	status int
	body   []byte
	etag   string // the header of that name
}

// newKey makes an idempotency key.
func newKey() string { return rand.Text() }

// do sends a call until it is answered, its context ends, or the time for repeating
// it is over. An answer that says no is an *Error.
func (c *transport) do(ctx context.Context, q call) (r reply, err error) {
	err = c.repeat(ctx, &q, func(server string) (err error) { r, err = c.try(ctx, server, &q); return err })
	return r, err
}

// repeat tries a call until it is answered, its context ends, or the time for repeating
// it is over.
func (c *transport) repeat(ctx context.Context, q *call, attempt func(server string) error) error {
	if err := c.refuses(q.path); err != nil {
		return err
	}
	patience := q.retryFor
	if patience == 0 {
		patience = c.cfg.RetryFor
	}
	began := time.Now()
	var before error // of the try before
	for try := 1; ; try++ {
		server, at := c.server()
		err := attempt(server)
		if err == nil {
			return nil
		}
		refusal, answered := errors.AsType[*Error](err)
		if answered && !refusal.repeatable() {
			return refusal
		}
		if _, begun := errors.AsType[brokenOff](err); begun {
			return err
		}
		if ctx.Err() != nil {
			return ended(ctx, cmp.Or(before, err))
		}
		before = err
		if !answered || passing(refusal.Status) {
			c.leave(at)
		}
		wait := pause(try, refusal, len(c.servers) > 1)
		if patience >= 0 && time.Since(began)+wait > patience {
			return fmt.Errorf("client: %s %s: given up after %d tries in %v: %w", q.method, q.path, try,
				time.Since(began).Round(time.Millisecond), err)
		}
		c.cfg.Log.WarnContext(ctx, "request repeated", "method", q.method, "address", shown(server), "error", err)
		if !sleep(ctx, wait) {
			return ended(ctx, err)
		}
	}
}

// shown is the URL of a server without a password.
func shown(server string) string {
	u, err := url.Parse(server)
	if err != nil { // servers has read it before
		return ""
	}
	return u.Redacted()
}

// ended is the error of a call whose context ended while it was repeated.
func ended(ctx context.Context, last error) error {
	cause := context.Cause(ctx)
	if errors.Is(last, cause) {
		return cause
	}
	return fmt.Errorf("client: %w; the last try: %w", cause, last)
}

// pause is how long to wait after a try: longer each time, never the same for two
// clients, and as long as the server asks for when there is no other to ask.
func pause(try int, refusal *Error, others bool) time.Duration {
	most := maxPause
	if try < 8 {
		most = min(maxPause, firstPause<<(try-1))
	}
	wait := most/2 + mathrand.N(most/2)
	if refusal != nil && (refusal.Status == http.StatusTooManyRequests || !others) {
		wait = max(wait, refusal.RetryAfter)
	}
	return wait
}

// sleep waits and reports whether the context is still there.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// noAnswer is a try that got no answer, or not all of it.
type noAnswer struct{ cause error }

func (e noAnswer) Error() string        { return "no answer: " + e.cause.Error() }
func (e noAnswer) Unwrap() error        { return e.cause }
func (e noAnswer) Is(target error) bool { return target == ErrUnavailable }

// try sends a call once and reads the whole answer.
func (c *transport) try(ctx context.Context, server string, q *call) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout+q.wait)
	defer cancel()
	resp, err := c.send(ctx, server, q, nil)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return reply{}, noAnswer{err}
	case len(body) > maxAnswer:
		return reply{}, &Error{Status: resp.StatusCode, Message: fmt.Sprintf("the answer has more than %d bytes",
			maxAnswer)}
	case resp.StatusCode >= 300:
		return reply{}, readError(resp.StatusCode, resp.Header, body)
	}
	return reply{resp.StatusCode, body, resp.Header.Get("ETag")}, nil
}

// send sends a call once and gives the answer with its body unread.
func (c *transport) send(ctx context.Context, server string, q *call, header http.Header) (*http.Response, error) {
	target := server + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, q.method, target, bytes.NewReader(q.body))
	if err != nil {
		return nil, &Error{Message: err.Error()}
	}
	if header != nil {
		req.Header = header
	}
	if len(q.body) > 0 {
		req.Header.Set("Content-Type", cmp.Or(q.media, mediaJSON))
	}
	for name, value := range map[string]string{
		"User-Agent": c.cfg.UserAgent, q.keyHeader(): q.key, "X-Tenant-Id": c.cfg.Tenant, "X-User-Id": c.cfg.User,
		"X-Correlation-Id": correlationID(ctx),
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	switch q.match {
	case "":
	case AnyVersion:
		req.Header.Set("If-Match", AnyVersion)
	default:
		req.Header.Set("If-Match", `"`+q.match+`"`)
	}
	secret := q.secret
	if q.event {
		secret = c.cfg.EventToken
	}
	if secret != "" {
		req.Header.Set("X-Workflow-Event-Token", secret)
	} else if c.cfg.Token != nil {
		token, err := c.cfg.Token(ctx)
		if err != nil {
			return nil, noAnswer{fmt.Errorf("the token: %w", err)}
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for name, values := range req.Header {
		if strings.ContainsFunc(values[0], unicode.IsControl) { // no server would ever see it
			return nil, &Error{Message: "the header " + name + " would hold a control character"}
		}
	}
	resp, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, noAnswer{err}
	}
	return resp, nil
}

// pathOf is a path of the contract with ids in it, in their order.
func pathOf(template string, ids ...string) string {
	var b strings.Builder
	for _, id := range ids {
		before, rest, _ := strings.Cut(template, "{")
		_, template, _ = strings.Cut(rest, "}")
		b.WriteString(before + url.PathEscape(id))
	}
	return b.String() + template
}

// exchange sends a call with a body, which may be JSON already ([]byte), and reads its answer.
func exchange[T any](ctx context.Context, c *transport, q call, body any) (answer T, r reply, err error) {
	switch body := body.(type) {
	case nil:
	case []byte:
		q.body = body
	default:
		if q.body, err = json.Marshal(body); err != nil {
			return answer, r, fmt.Errorf("client: %s %s: %w", q.method, q.path, err)
		}
	}
	if r, err = c.do(ctx, q); err != nil {
		return answer, r, err
	}
	if err := json.Unmarshal(r.body, &answer); err != nil {
		return answer, r, fmt.Errorf("client: the answer to %s %s: %w", q.method, q.path, err)
	}
	return answer, r, nil
}

// pointer is a value that could be had, nil with an error.
func pointer[T any](v T, _ reply, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// get reads what a path has.
func get[T any](ctx context.Context, c *transport, path string, query url.Values) (*T, error) {
	return pointer(exchange[T](ctx, c, call{method: http.MethodGet, path: path, query: query}, nil))
}

// put stores something and reads what is stored; created says that there was nothing before.
func put[T any](ctx context.Context, c *transport, path string, body any) (stored *T, created bool, err error) {
	v, r, err := exchange[T](ctx, c, call{method: http.MethodPut, path: path}, body)
	stored, err = pointer(v, r, err)
	return stored, r.status == http.StatusCreated, err
}

// post sends a command under a key, "" for a new one; replay says that the key was answered before.
func post[T any](ctx context.Context, c *transport, path, key string, body any) (answer T, replay bool, err error) {
	q := call{method: http.MethodPost, path: path, key: cmp.Or(key, newKey())}
	answer, r, err := exchange[T](ctx, c, q, body)
	return answer, r.status == http.StatusOK, err
}

// remove sends a DELETE, for a version ("": any).
func (c *transport) remove(ctx context.Context, path, version string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path, match: version})
	return err
}

// given is a query of the values that are not empty.
func given(values map[string]string) url.Values {
	query := url.Values{}
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// joined are words of a query, with commas between them.
func joined[T ~string](words []T) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = string(word)
	}
	return strings.Join(all, ",")
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// number is a number of a query; 0 is none.
func number[T int | int64 | uint64](n T) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func when(yes bool, word string) string {
	if yes {
		return word
	}
	return ""
}
