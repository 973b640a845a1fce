package gate

import (
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/fault"
)

// Two surfaces as other APIs of the system have them, to prove that they are data.
var (
	detailed = &Surface{
		Name: "detailed", Prefixes: []string{"/api/"}, Invalid: 400, KeyHeader: "X-Idempotency-Key",
		Render: func(p Problem) []byte { return fmt.Appendf(nil, `{"detail":%q}`, p.Message) },
	}
	flat = &Surface{
		Name: "flat", Prefixes: []string{"/pdca/", "/api/special/"}, Invalid: 400, KeyHeader: "Idempotency-Key",
		Codes:    map[fault.Kind]string{fault.Invalid: "BAD_REQUEST"},
		Statuses: map[string]int{"AIRFLOW_DOWN": 502},
		Render: func(p Problem) []byte {
			return fmt.Appendf(nil, `{"error":%q,"message":%q}`, p.Code, p.Message)
		},
	}
)

func TestEverySurfaceHasItsOwnShape(t *testing.T) {
	d := openDoor(t, Config{},
		Route{Pattern: "POST /api/events", Surface: detailed, Do: ok},
		Route{Pattern: "POST /pdca/recheck", Surface: flat, Once: Required, Do: ok},
		Route{Pattern: "GET /pdca/down", Surface: flat, Do: do(Reply{}, fault.New(fault.Unavailable, "AIRFLOW_DOWN",
			"Airflow does not answer"))},
		Route{Pattern: "GET /pdca/bad", Surface: flat, Do: do(Reply{}, fault.New(fault.Invalid, "",
			"window is invalid"))},
		Route{Pattern: "GET /things", Do: ok},
	)
	for _, tc := range []struct {
		method, target string
		status         int
		body           string
	}{
		{"GET", "/api/nothing", 404, `{"detail":"there is nothing at this path"}`},
		{"GET", "/api/events", 405, `{"detail":"this path has only POST"}`},
		{"GET", "/api/special/nothing", 404, `{"error":"NOT_FOUND","message":"there is nothing at this path"}`},
		{"GET", "/pdca/nothing", 404, `{"error":"NOT_FOUND","message":"there is nothing at this path"}`},
		{"GET", "/pdca/down", 502, `{"error":"AIRFLOW_DOWN","message":"Airflow does not answer"}`},
		{"GET", "/pdca/bad", 400, `{"error":"BAD_REQUEST","message":"window is invalid"}`},
	} {
		w := d.ask(tc.method, tc.target, "")
		if w.Code != tc.status || w.Body.String() != tc.body {
			t.Errorf("%s %s: got %d %s, want %d %s", tc.method, tc.target, w.Code, w.Body, tc.status, tc.body)
		}
	}
	w := d.ask("POST", "/pdca/recheck", "{}")
	if w.Code != 400 || !strings.Contains(w.Body.String(), "Idempotency-Key is required") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := d.ask("POST", "/pdca/recheck", "{}", "Idempotency-Key: k"); w.Code != 200 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestEveryKindHasAStatusAndACode(t *testing.T) {
	for kind := fault.Internal; kind <= fault.Unavailable; kind++ {
		p := Core.Problem(fault.New(kind, "", "x"))
		if p.Status < 400 || p.Status > 599 || p.Code == "" || p.Reason.Class == "" || p.Reason.Code == "" ||
			p.Reason.Advice == "" {
			t.Errorf("%s: got %+v", kind, p)
		}
	}
	if p := Core.Problem(&fault.Error{Kind: fault.NotFound}); p.Message == "" {
		t.Error("a failure without a message shows none")
	}
}

func TestDetailsAreAlwaysAnObject(t *testing.T) {
	for name, details := range map[string]any{
		"none": nil, "a struct": struct{ A int }{1}, "a text": "x", "a list": []int{1},
		"a nil map":              map[string]any(nil),
		"what cannot be written": make(chan int), "bad UTF-8": map[string]string{"a": "\xff"},
	} {
		body := string(renderCore(Problem{
			Code: "C", Message: "m\xff", Details: details,
			Reason: fault.Reason{Class: "infra", Advice: "do_not_retry"},
		}))
		if !strings.Contains(body, `"details":{`) || !strings.Contains(body, `"reasonClass":"infra"`) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

func TestAFailureWithAReasonOfItsOwnIsShownWithIt(t *testing.T) {
	own := fault.New(fault.Conflict, "", "a run is active").Because(fault.RunActive)
	for _, tt := range []struct {
		err  error
		want fault.Reason
	}{
		{own, fault.RunActive},
		{fault.Wrap("somewhere", own), fault.RunActive},
		{fault.New(fault.Conflict, "", "no"), fault.Reason{
			Class: "run_conflict", Code: "http_409",
			Advice: "do_not_retry",
		}},
		{fault.New(fault.Unavailable, "AIRFLOW_DOWN", "no"), fault.Reason{
			Class: "infra", Code: "http_502",
			Advice: "retry_with_backoff",
		}},
		{(&fault.Error{Message: "ours"}).Because(fault.RunActive), fault.Reason{
			Class: "infra", Code: "http_500",
			Advice: "retry_with_backoff",
		}},
		{(&fault.Error{Message: "damaged"}).Because(fault.Damaged), fault.Reason{
			Class: "infra", Code: "http_500",
			Advice: "retry_after_fix",
		}},
	} {
		p := flat.Problem(tt.err)
		if p.Reason != tt.want {
			t.Errorf("%v: got %+v, want %+v", tt.err, p.Reason, tt.want)
		}
		if body := string(renderCore(p)); !strings.Contains(body, `"details":{"reasonClass":"`+string(tt.want.Class)+
			`","retryAdvice":"`+string(tt.want.Advice)+`"}`) {
			t.Errorf("%v: got %s", tt.err, body)
		}
	}
}
