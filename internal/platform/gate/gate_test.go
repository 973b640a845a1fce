package gate

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"renga.dev/renga/internal/platform/fault"
)

func table() []Route {
	busy := fault.New(fault.Unavailable, "", "the queue is full")
	busy.RetryAfter = 2500 * time.Millisecond
	return []Route{
		{Pattern: "GET /things", Do: ok},
		{Pattern: "POST /things/{id}/go", Once: Required, Do: ok},
		{Pattern: "POST /notes", Once: Optional, MaxBody: 16, Do: ok},
		{Pattern: "PUT /graphs/{id}", Media: []string{"application/json", "application/yaml", "text/yaml"}, Do: ok},
		{Pattern: "GET /fails/invalid", Do: do(Reply{}, fault.New(fault.Invalid, "", "page must be 1 or more"))},
		{Pattern: "GET /fails/missing", Do: do(Reply{}, fault.Wrap("store.load", fault.New(fault.NotFound,
			"EXECUTION_NOT_FOUND", "there is no such execution")))},
		{Pattern: "GET /fails/conflict", Do: do(Reply{}, fault.New(fault.Conflict, "COMMAND_REJECTED", "no").With(
			map[string]any{"guard": "cancel_fence", "retryAdvice": "retry_after_fix"}))},
		{Pattern: "GET /fails/busy", Do: do(Reply{}, busy)},
		{Pattern: "GET /fails/limited", Do: do(Reply{}, fault.New(fault.RateLimited, "", "slow down"))},
		{Pattern: "GET /fails/secret", Do: do(Reply{}, errors.New("disk /secret/path is gone"))},
		{Pattern: "GET /fails/internal", Do: do(Reply{}, &fault.Error{
			Kind: fault.Internal, Message: "seq 7 is /secret",
			Code: "SECRET",
		})},
		{Pattern: "GET /fails/body", Do: do(Reply{Body: make(chan int)}, nil)},
		{Pattern: "GET /panics", Do: func(context.Context, *Call) (Reply, error) { panic("secret state") }},
	}
}

func TestEveryRefusalHasItsStatusAndShape(t *testing.T) {
	d := openDoor(t, Config{}, table()...)
	key := "X-Idempotency-Key: k1"
	for _, tc := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		code                       string
		advice                     string
	}{
		{"unknown path", "GET", "/nothing", "", nil, 404, "NOT_FOUND", "retry_after_fix"},
		{"unknown path below a known one", "GET", "/things/1/go/on", "", nil, 404, "NOT_FOUND", "retry_after_fix"},
		{"a path that is not clean", "GET", "//things", "", nil, 404, "NOT_FOUND", "retry_after_fix"},
		{"a trailing slash", "GET", "/things/", "", nil, 404, "NOT_FOUND", "retry_after_fix"},
		{"an empty wildcard", "POST", "/things//go", "", []string{key}, 404, "NOT_FOUND", "retry_after_fix"},
		{"wrong method", "POST", "/things", "{}", nil, 405, "METHOD_NOT_ALLOWED", "retry_after_fix"},
		{"a preflight", "OPTIONS", "/things", "", nil, 405, "METHOD_NOT_ALLOWED", "retry_after_fix"},
		{"no key", "POST", "/things/1/go", "{}", nil, 422, "IDEMPOTENCY_KEY_REQUIRED", "retry_after_fix"},
		{
			"an empty key", "POST", "/things/1/go", "{}",
			[]string{"X-Idempotency-Key: "},
			422, "IDEMPOTENCY_KEY_REQUIRED",
			"retry_after_fix",
		},
		{
			"a key in an unknown header", "POST", "/things/1/go", "{}",
			[]string{"Acme-Idempotency-Key: k1"},
			422,
			"IDEMPOTENCY_KEY_INVALID", "retry_after_fix",
		},
		{"a key that is too long", "POST", "/things/1/go", "{}", []string{"X-Idempotency-Key: " + strings.Repeat("k",
			256)}, 422, "IDEMPOTENCY_KEY_INVALID", "retry_after_fix"},
		{
			"a key that is not ASCII", "POST", "/things/1/go", "{}",
			[]string{"X-Idempotency-Key: é"},
			422,
			"IDEMPOTENCY_KEY_INVALID", "retry_after_fix",
		},
		{
			"two keys", "POST", "/things/1/go", "{}",
			[]string{key, key},
			422, "IDEMPOTENCY_KEY_INVALID",
			"retry_after_fix",
		},
		{
			"an optional key that is bad", "POST", "/notes", "{}",
			[]string{"X-Idempotency-Key: \x01"},
			422,
			"IDEMPOTENCY_KEY_INVALID", "retry_after_fix",
		},
		{
			"a body that is too large", "POST", "/notes", strings.Repeat(" ", 17), nil, 413, "PAYLOAD_TOO_LARGE",
			"retry_after_fix",
		},
		{
			"a form", "POST", "/notes", "a=b",
			[]string{"Content-Type: application/x-www-form-urlencoded"},
			415,
			"UNSUPPORTED_MEDIA_TYPE", "retry_after_fix",
		},
		{
			"plain text", "POST", "/notes", "{}",
			[]string{"Content-Type: text/plain"},
			415, "UNSUPPORTED_MEDIA_TYPE",
			"retry_after_fix",
		},
		{
			"no media type", "POST", "/notes", "{}",
			[]string{"Content-Type: "},
			415, "UNSUPPORTED_MEDIA_TYPE",
			"retry_after_fix",
		},
		{
			"another charset", "POST", "/notes", "{}",
			[]string{"Content-Type: application/json; charset=latin1"},
			415,
			"UNSUPPORTED_MEDIA_TYPE", "retry_after_fix",
		},
		{
			"a compressed body", "POST", "/notes", "{}",
			[]string{"Content-Encoding: gzip"},
			415, "UNSUPPORTED_MEDIA_TYPE",
			"retry_after_fix",
		},
		{
			"YAML where only JSON is spoken", "POST", "/notes", "{}",
			[]string{"Content-Type: application/yaml"},
			415,
			"UNSUPPORTED_MEDIA_TYPE", "retry_after_fix",
		},
		{"a malformed query", "GET", "/things?a=%zz", "", nil, 422, "INVALID_INPUT", "retry_after_fix"},
		{"a correlation id that is too long", "GET", "/things", "", []string{"X-Correlation-Id: " + strings.Repeat("c",
			129)}, 422, "INVALID_INPUT", "retry_after_fix"},
		{
			"a correlation id that is not ASCII", "GET", "/things", "",
			[]string{"X-Correlation-Id: é"},
			422,
			"INVALID_INPUT", "retry_after_fix",
		},
		{
			"a tenant that is no UUID", "GET", "/things", "",
			[]string{"X-Tenant-Id: acme"},
			422, "INVALID_INPUT",
			"retry_after_fix",
		},
		{
			"a tenant in braces", "GET", "/things", "",
			[]string{"X-Tenant-Id: {00000000-0000-0000-0000-000000000001}"},
			422, "INVALID_INPUT", "retry_after_fix",
		},
		{"two tenants", "GET", "/things", "", []string{"X-Tenant-Id: " + defaultTenant, "X-Tenant-Id: " +
			defaultTenant}, 422, "INVALID_INPUT", "retry_after_fix"},
		{"a handler's invalid input", "GET", "/fails/invalid", "", nil, 422, "INVALID_INPUT", "retry_after_fix"},
		{"a handler's missing thing", "GET", "/fails/missing", "", nil, 404, "EXECUTION_NOT_FOUND", "retry_after_fix"},
		{
			"a handler's conflict with its own advice", "GET", "/fails/conflict", "", nil, 409, "COMMAND_REJECTED",
			"retry_after_fix",
		},
		{"a full queue", "GET", "/fails/busy", "", nil, 503, "UNAVAILABLE", "retry_with_backoff"},
		{"too many calls", "GET", "/fails/limited", "", nil, 429, "RATE_LIMITED", "retry_with_backoff"},
		{"an unclassified error", "GET", "/fails/secret", "", nil, 500, "INTERNAL_ERROR", "retry_with_backoff"},
		{
			"an internal error with a message", "GET", "/fails/internal", "", nil, 500, "INTERNAL_ERROR",
			"retry_with_backoff",
		},
		{"a reply that cannot be written", "GET", "/fails/body", "", nil, 500, "INTERNAL_ERROR", "retry_with_backoff"},
		{"a panic", "GET", "/panics", "", nil, 500, "INTERNAL_ERROR", "retry_with_backoff"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := d.ask(tc.method, tc.target, tc.body, tc.headers...)
			got := decodeError(t, w)
			if w.Code != tc.status || got.Error.Code != tc.code || got.Error.Message == "" {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, tc.status, tc.code)
			}
			if advice := got.Error.Details["retryAdvice"]; advice != tc.advice {
				t.Errorf("got advice %v, want %v", advice, tc.advice)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the cause leaked: %s", w.Body)
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("got content type %q", got)
			}
		})
	}
}

func TestRefusalsCarryTheirHeaders(t *testing.T) {
	d := openDoor(t, Config{}, table()...)
	for _, tc := range []struct{ method, target, name, want string }{
		{"POST", "/things", "Allow", "GET, HEAD"},
		{"GET", "/notes", "Allow", "POST"},
		{"GET", "/fails/busy", "Retry-After", "3"},
		{"GET", "/fails/limited", "Retry-After", "1"},
		{"GET", "/fails/secret", "Retry-After", ""},
	} {
		if got := d.ask(tc.method, tc.target, "").Header().Get(tc.name); got != tc.want {
			t.Errorf("%s %s: %s is %q, want %q", tc.method, tc.target, tc.name, got, tc.want)
		}
	}
	if got := d.ask("POST", "/notes", strings.Repeat("x", 17)).Header().Get("Connection"); got != "close" {
		t.Errorf("a body that was not read leaves the connection %q", got)
	}
}

func TestInternalFailuresAreLoggedWithTheirCause(t *testing.T) {
	d := openDoor(t, Config{}, table()...)
	w := d.ask("GET", "/fails/secret", "", "X-Correlation-Id: corr-7")
	if got := decodeError(t, w).Error.Details["correlationId"]; got != "corr-7" {
		t.Errorf("the answer does not say how to find its line: %v", got)
	}
	for _, want := range []string{
		`"level":"ERROR"`, `disk /secret/path is gone`, `"correlationId":"corr-7"`,
		`"route":"GET /fails/secret"`,
	} {
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, d.log)
		}
	}
}

func TestPanicsAreLoggedAndTheGateGoesOn(t *testing.T) {
	d := openDoor(t, Config{}, table()...)
	d.ask("GET", "/panics", "")
	if log := d.log.String(); !strings.Contains(log, "panic: secret state") || !strings.Contains(log, "gate_test.go") {
		t.Errorf("the log lacks the panic or its stack: %s", log)
	}
	if got := d.ask("GET", "/things", "").Code; got != 200 {
		t.Errorf("after a panic: %d", got)
	}
}

func TestEveryAnswerHasTheCommonHeaders(t *testing.T) {
	d := openDoor(t, Config{}, table()...)
	for _, target := range []string{"/things", "/nothing", "/panics"} {
		h := d.ask("GET", target, "", "Origin: http://evil.example").Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %v", target, h)
		}
		for name := range h {
			if strings.HasPrefix(name, "Access-Control") {
				t.Errorf("%s: there is a CORS header: %s", target, name)
			}
		}
		id, err := uuid.Parse(h.Get("X-Correlation-Id"))
		if err != nil || id.Version() != 7 {
			t.Errorf("%s: correlation id %q", target, h.Get("X-Correlation-Id"))
		}
	}
	if got := d.ask("GET", "/things", "", "X-Correlation-Id: mine").Header()["X-Correlation-Id"]; !cmp.Equal(got,
		[]string{"mine"}) {
		t.Errorf("the correlation id came back as %q", got)
	}
}

func TestEveryAnswerHasARequestIDOfItsOwn(t *testing.T) {
	var called string
	at := time.UnixMilli(1700000000123)
	d := openDoor(t, Config{Now: func() time.Time { return at }}, append(table(), Route{
		Pattern: "GET /noted",
		Do: func(_ context.Context, c *Call) (Reply, error) {
			called = c.RequestID
			return Reply{Header: http.Header{"X-Other": {"1"}}}, nil
		},
	})...)
	seen := map[string]bool{}
	for _, target := range []string{
		"/noted", "/things", "/nothing", "/fails/invalid", "/fails/secret", "/panics",
		"/things?a=%zz",
	} {
		for range 2 {
			w := d.ask("GET", target, "", "X-Request-Id: 01ARZ3NDEKTSV4RRFFQ69G5FAV")
			got := w.Header()["X-Request-Id"]
			if len(got) != 1 {
				t.Fatalf("%s: got %v", target, got)
			}
			id, err := ulid.ParseStrict(got[0])
			if err != nil || id.Time() != uint64(at.UnixMilli()) {
				t.Errorf("%s: %q is no ULID of this instant: %v", target, got[0], err)
			}
			if seen[got[0]] {
				t.Errorf("%s: %s was given twice", target, got[0])
			}
			seen[got[0]] = true
			if !strings.Contains(d.log.String(), `"x_request_id":"`+got[0]+`"`) {
				t.Errorf("%s: %s is not in the log", target, got[0])
			}
			if target == "/noted" && called != got[0] {
				t.Errorf("the handler saw %q, the caller %q", called, got[0])
			}
		}
	}
	at = time.Unix(-1, 0)
	if _, err := ulid.ParseStrict(d.ask("GET", "/things", "").Header().Get("X-Request-Id")); err != nil {
		t.Errorf("a clock before 1970: %v", err)
	}
}

func TestRoutesThatGoAwaySaySo(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 9*3600))
	d := openDoor(t, Config{},
		Route{Pattern: "GET /old", Deprecated: since, Sunset: since.Add(MinNotice), Do: ok},
		Route{Pattern: "GET /older", Deprecated: since, Do: do(Reply{}, fault.New(fault.NotFound, "", "no"))},
		Route{Pattern: "GET /new", Do: ok})
	for _, tc := range []struct{ target, deprecation, sunset string }{
		{"/old", "@1767290645", "Wed, 01 Apr 2026 18:04:05 GMT"},
		{"/old?a=%zz", "@1767290645", "Wed, 01 Apr 2026 18:04:05 GMT"},
		{"/older", "@1767290645", ""},
		{"/new", "", ""},
		{"/nothing", "", ""},
	} {
		h := d.ask("GET", tc.target, "").Header()
		if h.Get("Deprecation") != tc.deprecation || h.Get("Sunset") != tc.sunset {
			t.Errorf("%s: got %q and %q", tc.target, h.Get("Deprecation"), h.Get("Sunset"))
		}
	}
	auth, err := OpenAuth(AuthConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for name, route := range map[string]Route{
		"a sunset without a deprecation": {Pattern: "GET /a", Sunset: since, Do: ok},
		"a sunset too soon": {
			Pattern: "GET /a", Deprecated: since,
			Sunset: since.Add(MinNotice - time.Second), Do: ok,
		},
	} {
		if _, err := New(Config{Auth: auth}, []Route{route}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestCallCarriesWhatWasSent(t *testing.T) {
	var got *Call
	d := openDoor(t, Config{}, Route{Pattern: "POST /a/{id}/b/{rest...}", Once: Required, Do: func(_ context.Context,
		c *Call,
	) (Reply, error) {
		got = c
		return Reply{Status: 202, Header: http.Header{"X-More": {"1"}}}, nil
	}})
	w := d.ask("POST", "/a/x%2Fy/b/c/d%20e?q=1", `{"n":1.0}`, "X-Idempotency-Key: k 1", "X-Correlation-Id: c1",
		"X-Tenant-Id: AAAAAAAA-0000-0000-0000-000000000001", "X-User-Id: ada",
		"Content-Type: application/json; charset=UTF-8", "Authorization: Bearer nonsense")
	if w.Code != 202 || w.Header().Get("X-More") != "1" || w.Body.Len() != 0 {
		t.Fatalf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
	if got.Path("id") != "x/y" || got.Path("rest") != "c/d e" || got.Path("none") != "" || got.Query().Get("q") != "1" {
		t.Errorf("path %q %q, query %v", got.Path("id"), got.Path("rest"), got.Query())
	}
	if string(got.Body) != `{"n":1.0}` || got.Media != "application/json" || got.Key != "k 1" ||
		got.CorrelationID != "c1" {
		t.Errorf("got %+v", got)
	}
	if p := got.Principal; p.Tenant != "aaaaaaaa-0000-0000-0000-000000000001" || p.Subject != "ada" ||
		!p.Has("anything") {
		t.Errorf("got %+v", p)
	}
	key, err := got.IdempotencyKey()
	if err != nil || key.Key != "k 1" || key.Endpoint != "POST /a/x%2Fy/b/c/d%20e" || len(key.Members) != 1 {
		t.Errorf("got %+v, %v", key, err)
	}
	var body struct {
		N int `json:"n"`
	}
	if err := got.Decode(&body); err != nil || body.N != 1 {
		t.Errorf("got %+v, %v", body, err)
	}
}

func TestAnEndpointHasOneSpelling(t *testing.T) {
	var got string
	d := openDoor(t, Config{}, Route{Pattern: "POST /a/{id}", Do: func(_ context.Context, c *Call) (Reply, error) {
		got = c.Endpoint()
		return Reply{}, nil
	}})
	for path, want := range map[string]string{
		"/a/x.y-1":       "POST /a/x.y-1",
		"/a/x%2Ey%2d1":   "POST /a/x.y-1",
		"/%61/x.y-1":     "POST /a/x.y-1",
		"/a/x%2fy":       "POST /a/x%2Fy",
		"/a/x%2Fy":       "POST /a/x%2Fy",
		"/a/%E9%80%A3;b": "POST /a/%E9%80%A3%3Bb",
		"/a/連%3bb?q=1":   "POST /a/%E9%80%A3%3Bb",
	} {
		if w := d.ask("POST", path, ""); w.Code != 200 || got != want {
			t.Errorf("%s: got %d %q, want %q", path, w.Code, got, want)
		}
	}
}

func TestBodiesOfEveryLength(t *testing.T) {
	d := openDoor(t, Config{}, Route{Pattern: "POST /echo", MaxBody: 200_000, Do: func(_ context.Context, c *Call) (
		Reply, error,
	) {
		return Reply{Raw: c.Body, Type: "application/octet-stream"}, nil
	}})
	for _, size := range []int{0, 1, smallBody, smallBody + 1, 200_000} {
		body := strings.Repeat("x", size)
		if w := d.ask("POST", "/echo", body); w.Code != 200 || w.Body.String() != body {
			t.Errorf("%d bytes: got %d and %d bytes", size, w.Code, w.Body.Len())
		}
	}
	if w := d.ask("POST", "/echo", strings.Repeat("x", 200_001)); w.Code != 413 {
		t.Errorf("got %d", w.Code)
	}
}

func TestScratchIsUsedForTheReply(t *testing.T) {
	d := openDoor(t, Config{}, Route{Pattern: "GET /raw", Do: func(_ context.Context, c *Call) (Reply, error) {
		return c.Built(201, append(c.Scratch(), `{"raw":true}`...)), nil
	}})
	for range 3 {
		if w := d.ask("GET", "/raw", ""); w.Code != 201 || w.Body.String() != `{"raw":true}` ||
			w.Header().Get("Content-Length") != "12" {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
}

func TestTimeRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context, _ *Call) (Reply, error) {
			<-ctx.Done()
			return Reply{}, ctx.Err()
		}
		d := openDoor(t, Config{}, Route{Pattern: "GET /slow", Do: wait}, Route{
			Pattern: "GET /poll",
			Timeout: NoTimeout, Do: wait,
		})
		start := time.Now()
		w := d.ask("GET", "/slow", "")
		if got := decodeError(t, w).Error.Code; w.Code != 503 || got != "TIMEOUT" ||
			time.Since(start) >= DefaultTimeout {
			t.Errorf("got %d %s after %s", w.Code, got, time.Since(start))
		}
		time.AfterFunc(time.Hour, d.Drain)
		w = d.ask("GET", "/poll", "")
		if got := decodeError(t, w).Error.Code; w.Code != 503 || got != "SHUTTING_DOWN" {
			t.Errorf("a long poll ended with %d %s", w.Code, got)
		}
	})
}

func TestACallerThatWentAwayIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDoor(t, Config{}, Route{Pattern: "GET /slow", Do: func(ctx context.Context, c *Call) (Reply, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return Reply{}, ctx.Err()
		}})
		if got := d.ask("GET", "/slow", "").Code; got != 500 {
			t.Errorf("a handler that cancels itself: got %d, want 500", got)
		}
		x := &exchange{gate: d.Gate, route: &entry{}}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := x.timely(ctx, ctx.Err()); !errors.Is(err, errGone) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTablesThatContradictThemselvesAreRefused(t *testing.T) {
	auth, err := OpenAuth(AuthConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for name, routes := range map[string][]Route{
		"no method":            {{Pattern: "/a", Do: ok}},
		"no path":              {{Pattern: "GET", Do: ok}},
		"a relative path":      {{Pattern: "GET a", Do: ok}},
		"no handler":           {{Pattern: "GET /a"}},
		"public with a scope":  {{Pattern: "GET /a", Public: true, Scope: "x", Do: ok}},
		"the same route twice": {{Pattern: "GET /a/{b}", Do: ok}, {Pattern: "GET /a/{c}", Do: ok}},
		"one wildcard twice":   {{Pattern: "GET /a/{b}/{b}", Do: ok}},
		"a rest in the middle": {{Pattern: "GET /a/{b...}/c", Do: ok}},
		"a key without header": {{Pattern: "POST /a", Once: Required, Surface: &Surface{}, Do: ok}},
		"a path without end":   {{Pattern: "GET /" + strings.Repeat("a/", 20), Do: ok}},
	} {
		if _, err := New(Config{Auth: auth}, routes); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := New(Config{}, nil); err == nil {
		t.Error("a gate without Auth was made")
	}
	for name, rates := range map[string]map[string]Rate{
		"a limit below nothing":    {"pdca.read": {Limit: -1, Per: time.Minute}},
		"a limit without a period": {"pdca.read": {Limit: 1}},
		"a class that nobody has":  {"pdca.raed": {Limit: 1, Per: time.Minute}},
	} {
		if _, err := New(Config{Auth: auth, Rates: rates}, nil); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
