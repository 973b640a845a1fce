package gate

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"renga.dev/renga/internal/platform/fault"
)

const (
	eventTenant = "00000000-0000-0000-0000-00000000000e"
	headTenant  = "00000000-0000-0000-0000-00000000000a"
)

func eventToken(t *testing.T, token, tenant string) *EventToken {
	t.Helper()
	e, err := NewEventToken(token, tenant, token == "")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// jwtAuth is mode jwt with a key that nobody needs here.
func jwtAuth(t *testing.T) *Auth {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.pem")
	writeKeys(t, path, publicPEM(t, rsaKey(t, 2048).Public()))
	auth, err := OpenAuth(AuthConfig{Mode: ModeJWT, Keys: path})
	if err != nil {
		t.Fatal(err)
	}
	return auth
}

func TestAnEventTokenIsTheFirstOfThreeSources(t *testing.T) {
	const query, head, bearer = "?token=", "X-Workflow-Event-Token: ", "Authorization: Bearer "
	for _, tc := range []struct {
		name, query string
		headers     []string
		status      int
	}{
		{"none", "", nil, 401},
		{"in the query", query + "s3cret", nil, 200},
		{"in the query, escaped", query + "s%33cret", nil, 200},
		{"in the header", "", []string{head + "s3cret"}, 200},
		{"as a bearer", "", []string{bearer + "s3cret"}, 200},
		{"as a bearer, in another case", "", []string{"Authorization: bearer s3cret"}, 200},
		{"as a password", "", []string{"Authorization: Basic s3cret"}, 401},
		{"wrong", query + "s3cres", nil, 401},
		{"a part of it", query + "s3cre", nil, 401},
		{"more than it", query + "s3crett", nil, 401},
		{"in another case", query + "S3cret", nil, 401},
		{"the query goes before the header", query + "wrong", []string{head + "s3cret"}, 401},
		{"the query goes before the bearer", query + "wrong", []string{bearer + "s3cret"}, 401},
		{"the header goes before the bearer", "", []string{head + "wrong", bearer + "s3cret"}, 401},
		{"the query goes before all", query + "s3cret", []string{head + "wrong", bearer + "wrong"}, 200},
		{"an empty query counts as none", query, []string{head + "s3cret"}, 200},
		{"an empty header counts as none", query, []string{head, bearer + "s3cret"}, 200},
		{"the first of two in the query", query + "s3cret&token=wrong", nil, 200},
		{"the second of two in the query", query + "wrong&token=s3cret", nil, 401},
	} {
		for mode, auth := range map[string]*Auth{"none": nil, "jwt": jwtAuth(t)} {
			d := openDoor(t, Config{Auth: auth}, Route{
				Pattern: "POST /api/workflow-events", Surface: Workflow, Pass: eventToken(t, "s3cret", ""), Do: ok,
			})
			w := d.ask("POST", "/api/workflow-events"+tc.query, "", tc.headers...)
			if w.Code != tc.status {
				t.Errorf("%s, mode %s: got %d, want %d", tc.name, mode, w.Code, tc.status)
			}
			if want := `{"detail":"Invalid workflow event token."}`; w.Code == 401 && w.Body.String() != want {
				t.Errorf("%s, mode %s: got %s, want %s", tc.name, mode, w.Body, want)
			}
		}
	}
}

func TestWhereWorkflowEventsAreOpenEverybodyIsLetIn(t *testing.T) {
	d := openDoor(t, Config{Auth: jwtAuth(t)}, Route{
		Pattern: "GET /api/workflow-x", Surface: Workflow, Pass: eventToken(t, "", ""), Do: ok,
	}, Route{Pattern: "GET /things", Do: ok})
	for _, header := range []string{
		"Authorization: Bearer whatever", "X-Workflow-Event-Token: whatever",
		"Accept: */*",
	} {
		if w := d.ask("GET", "/api/workflow-x?token=any", "", header); w.Code != 200 {
			t.Errorf("%s: got %d %s", header, w.Code, w.Body)
		}
	}
	if w := d.ask("GET", "/things", ""); w.Code != 401 {
		t.Errorf("another route: got %d", w.Code)
	}
}

func TestWorkflowEventsCannotHaveATokenAndBeOpen(t *testing.T) {
	if _, err := NewEventToken("s3cret", "", true); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

func TestATokenThatCannotWorkIsRefusedAtTheStart(t *testing.T) {
	for _, tc := range []struct{ token, tenant string }{
		{" ", ""},
		{"s3cret\n", ""},
		{" s3cret", ""},
		{"s3\x00cret", ""},
		{strings.Repeat("s", 1025), ""},
		{"s3cret", "acme"},
		{"s3cret", "{" + eventTenant + "}"},
	} {
		_, err := NewEventToken(tc.token, tc.tenant, false)
		if err == nil {
			t.Errorf("%q, %q: it was taken", tc.token, tc.tenant)
		} else if strings.Contains(err.Error(), "s3") {
			t.Errorf("the token is in the error: %v", err)
		}
	}
}

func TestWorkflowEventsBelongToTheConfiguredTenantOrInModeNoneToTheOneNamed(t *testing.T) {
	for _, tc := range []struct {
		mode, header string
		want         string
	}{
		{"none", "Accept: */*", defaultTenant},
		{"none", "X-Tenant-Id: " + headTenant, headTenant},
		{"jwt", "Accept: */*", eventTenant},
		{"jwt", "X-Tenant-Id: " + headTenant, eventTenant},
	} {
		var auth *Auth
		if tc.mode == "jwt" {
			auth = jwtAuth(t)
		}
		var got Principal
		d := openDoor(t, Config{Auth: auth}, Route{
			Pattern: "GET /api/workflow-x", Surface: Workflow, Pass: eventToken(t, "", eventTenant), Do: noting(&got),
		})
		if d.ask("GET", "/api/workflow-x", "", tc.header); got.Tenant != tc.want {
			t.Errorf("mode %s, %s: got tenant %q, want %q", tc.mode, tc.header, got.Tenant, tc.want)
		}
	}
}

// refusal is what a route learns of a request that ended early.
type refusal struct {
	Tenant string
	Kind   fault.Kind
}

// TestARouteGetsEveryRequestThatEndedBeforeItsHandler sends requests that end in every way
// before their handler. Only what foreign pages send is refused without a word to the route.
func TestARouteGetsEveryRequestThatEndedBeforeItsHandler(t *testing.T) {
	var got []refusal
	now := time.Now()
	d := openDoor(t, Config{Now: func() time.Time { return now }, Rates: map[string]Rate{
		"few": {Limit: 100, Per: time.Minute}, "none": {Limit: 1, Per: time.Hour},
	}},
		delivery(t, "POST /api/workflow-events", "few", &got), delivery(t, "POST /api/workflow-rare", "none", &got))
	const token = "X-Workflow-Event-Token: s3cret"
	d.ask("POST", "/api/workflow-rare", "", token)
	for _, tc := range []struct {
		name, target, body string
		headers            []string
		status             int
		want               refusal
	}{
		{
			"a wrong token", "/api/workflow-events", "{}",
			[]string{"X-Tenant-Id: " + headTenant},
			401,
			refusal{headTenant, fault.Unauthorized},
		},
		{
			"a wrong token and no tenant", "/api/workflow-events", "{}",
			[]string{"X-Tenant-Id: acme"},
			401,
			refusal{defaultTenant, fault.Unauthorized},
		},
		{"no tenant", "/api/workflow-events", "{}", []string{token, "X-Tenant-Id: acme"}, 400, refusal{
			defaultTenant,
			fault.Invalid,
		}},
		{
			"a form", "/api/workflow-events", "a=b",
			[]string{token, "Content-Type: text/plain"},
			415,
			refusal{defaultTenant, fault.Unsupported},
		},
		{"a large body", "/api/workflow-events", strings.Repeat(" ", 65), []string{token}, 413, refusal{
			defaultTenant,
			fault.TooLarge,
		}},
		{"a malformed query", "/api/workflow-events?a=%zz", "{}", []string{token}, 400, refusal{
			defaultTenant,
			fault.Invalid,
		}},
		{
			"a bad correlation id", "/api/workflow-events", "{}",
			[]string{token, "X-Correlation-Id: é"},
			400,
			refusal{defaultTenant, fault.Invalid},
		},
		{"too many calls", "/api/workflow-rare", "", []string{token}, 429, refusal{defaultTenant, fault.RateLimited}},
	} {
		got = nil
		w := d.ask("POST", tc.target, tc.body, tc.headers...)
		if w.Code != tc.status {
			t.Errorf("%s: got %d %s, want %d", tc.name, w.Code, w.Body, tc.status)
		}
		if diff := cmp.Diff([]refusal{tc.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if code := w.Header().Get("X-Reason-Code"); code != fmt.Sprintf("http_%d", tc.status) ||
			w.Header().Get("X-Reason-Class") == "" || w.Header().Get("X-Retry-Advice") == "" {
			t.Errorf("%s: got the reason %v", tc.name, w.Header())
		}
	}
	got = nil
	for _, place := range []string{"Host: example.org", "Sec-Fetch-Site: cross-site", "Origin: https://evil.example"} {
		// A page that somebody visits could have a row written for each request, before any limit.
		for _, header := range []string{token, "X-Correlation-Id: é"} {
			w := d.ask("POST", "/api/workflow-events", "{}", header, place)
			if w.Code != 403 || got != nil || w.Header().Get("X-Reason-Code") != "http_403" {
				t.Errorf("%s: got %d and %v", place, w.Code, got)
			}
		}
	}
	if w := d.ask("POST", "/api/workflow-events", `{"fail":1}`, token); w.Code != 409 || got != nil {
		t.Errorf("a refusal of the handler: got %d and %v", w.Code, got)
	}
	if w := d.ask("POST", "/api/workflow-events", "", token); w.Code != 200 || got != nil {
		t.Errorf("an answer: got %d and %v", w.Code, got)
	}
}

// delivery is a route that notes the calls that it gets.
func delivery(t *testing.T, pattern, rate string, got *[]refusal) Route {
	t.Helper()
	return Route{
		Pattern: pattern, Surface: Workflow, Rate: rate, MaxBody: 64, Pass: eventToken(t, "s3cret", ""),
		Refused: func(_ context.Context, c *Call, err error) error {
			*got = append(*got, refusal{c.Principal.Tenant, fault.KindOf(err)})
			return nil
		},
		Do: func(_ context.Context, c *Call) (Reply, error) {
			if len(c.Body) > 2 {
				return Reply{}, fault.New(fault.Conflict, "", "no")
			}
			return Reply{}, nil
		},
	}
}

func TestWhatARouteMakesOfARefusalIsAnswered(t *testing.T) {
	d := openDoor(t, Config{}, Route{
		Pattern: "POST /api/workflow-events", Surface: Workflow, Pass: eventToken(t, "s3cret", ""), Do: ok,
		Refused: func(context.Context, *Call, error) error { return fault.New(fault.Unavailable, "", "not now") },
	})
	if w := d.ask("POST", "/api/workflow-events", ""); w.Code != 503 || w.Body.String() != `{"detail":"not now"}` ||
		w.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// Whatever becomes of a request, its token is in nothing that somebody else reads.
func TestAnEventTokenReachesNoLogNoSpanAndNoAnswer(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	tel := telemetry(t)
	tel.Tracer, tel.Tracing = provider.Tracer("test"), true
	out := &logbook{}
	look := func(c *Call) { fmt.Fprintf(out, "%v %v %v\n", c.Request.URL, c.Request.RequestURI, c.Query()) }
	route := Route{
		Surface: Workflow, MaxBody: 64, Pass: eventToken(t, "s3cret", ""),
		Refused: func(_ context.Context, c *Call, err error) error { look(c); return err },
		Do: func(_ context.Context, c *Call) (Reply, error) {
			look(c)
			switch string(c.Body) {
			case "1":
				return Reply{}, fmt.Errorf("%v failed", c.Request.URL)
			case "2":
				panic(fmt.Sprint(c.Request.URL))
			}
			return Reply{}, fault.New(fault.Invalid, "", "%v is wrong", c.Request.URL)
		},
	}
	post, get := route, route
	post.Pattern, get.Pattern = "POST /api/workflow-events", "GET /api/workflow-events/summary"
	d := openDoor(t, Config{Telemetry: tel}, post, get)
	n := 0
	for _, token := range []string{"s3cret", "s3cret-wrong"} {
		for _, query := range []string{"?token=" + token, "?a=b&token=" + token, "?tok%65n=" + token, "?%zz&token=" +
			token, "?token=" + token + "%zz", "?a;token=" + token} {
			for _, body := range []string{"", "1", "2", "3", strings.Repeat("x", 65)} {
				n++
				fmt.Fprintln(out, answered(d.ask("POST", "/api/workflow-events"+query, body)))
			}
			n += 5
			fmt.Fprintln(out, answered(d.ask("POST", "/api/workflow-events"+query, "{}", "Content-Type: text/plain")))
			fmt.Fprintln(out, answered(d.ask("POST", "/api/workflow-events"+query, "{}", "Host: example.org")))
			fmt.Fprintln(out, answered(d.ask("GET", "/api/workflow-events/summary"+query, "")))
			fmt.Fprintln(out, answered(d.ask("GET", "/api/workflow-events"+query, "")))
			fmt.Fprintln(out, answered(d.ask("GET", "/api/workflow-nothing"+query, "")))
		}
	}
	ended := spans.Ended()
	if len(ended) != n || strings.Count(d.log.String(), "\n") < n {
		t.Fatalf("%d requests made %d spans and %d lines", n, len(ended), strings.Count(d.log.String(), "\n"))
	}
	for _, span := range ended {
		fmt.Fprintln(out, span.Name(), span.Attributes(), span.Status(), span.Events(), span.Links())
	}
	for name, text := range map[string]string{"the log": d.log.String(), "answers and spans": out.String()} {
		if at := strings.Index(text, "s3cret"); at >= 0 {
			t.Errorf("the token is in %s: …%s…", name, text[max(0, at-200):min(len(text), at+50)])
		}
	}
}

// answered is everything that a caller gets.
func answered(w *httptest.ResponseRecorder) string {
	raw, _ := io.ReadAll(w.Body)
	return fmt.Sprint(w.Code, w.Header(), string(raw))
}

func TestNothingUnderThePrefixOfWorkflowEventsHasAnotherShape(t *testing.T) {
	d := openDoor(t, Config{}, Route{Pattern: "POST /api/workflow-events", Surface: Workflow, Pass: eventToken(t, "",
		""), Do: ok})
	for _, tc := range []struct {
		method, target string
		status         int
		body           string
	}{
		{"GET", "/api/workflow-nothing", 404, `{"detail":"there is nothing at this path"}`},
		{"GET", "/api/workflow-events", 405, `{"detail":"this path has only POST"}`},
		{"POST", "/api/workflow-events/", 404, `{"detail":"there is nothing at this path"}`},
	} {
		w := d.ask(tc.method, tc.target, "")
		if w.Code != tc.status || w.Body.String() != tc.body || w.Header().Get("X-Retry-Advice") != "retry_after_fix" {
			t.Errorf("%s %s: got %d %s %v, want %d %s", tc.method, tc.target, w.Code, w.Body, w.Header(), tc.status,
				tc.body)
		}
	}
}
