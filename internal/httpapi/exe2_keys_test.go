package httpapi_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/gate"
)

// EXE-2, EXE-3: idempotency keys, correlation ids, actors and causes.

// onlyRead are the paths of posts that change nothing.
var onlyRead = []string{"/names", "/graphs/check", "/graphs/simulate"}

func TestEveryPostNeedsAKey(t *testing.T) {
	s := newServer(t)
	e := s.create(linear("default", "a"))
	before := e.events()
	seen := 0
	for _, route := range tokenRoutes() {
		path, ok := strings.CutPrefix(route.Pattern, "POST ")
		if !ok || path == "/commands" || slices.Contains(onlyRead, path) { // the one has keys inside
			continue
		}
		if route.Surface == gate.CRM || route.Foreign { // their keys are optional
			if route.Once != gate.Optional {
				t.Errorf("%s takes no key", route.Pattern)
			}
			continue
		}
		if route.Once != gate.Required {
			t.Errorf("%s takes no key", route.Pattern)
		}
		seen++
		if route.Surface == gate.Recheck {
			s.do("POST", path, "").flat(400, "BAD_REQUEST",
				"the header Idempotency-Key is required: repeat a request with the key of its first try")
			continue
		}
		path = strings.NewReplacer("{executionId}", e.id, "{nodeId}", "a").Replace(path)
		s.do("POST", path, "").is(422).has("error.code", "IDEMPOTENCY_KEY_REQUIRED")
		s.do("POST", path, "", "X-Idempotency-Key", "").is(422).has("error.code", "IDEMPOTENCY_KEY_REQUIRED")
	}
	if seen != 37 {
		t.Errorf("looked at %d endpoints, want 37", seen)
	}
	if after := e.events(); len(after) != len(before) {
		t.Errorf("%d events were written", len(after)-len(before))
	}
}

func TestAKeyIs1To255PrintableCharacters(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	for _, key := range []string{strings.Repeat("k", 256), "schlüssel", "鍵", "a\tb"} {
		s.postOnce(key, "/executions", `{"graphId":"g"}`).is(422).has("error.code", "IDEMPOTENCY_KEY_INVALID")
	}
	for _, key := range []string{"k", strings.Repeat("k", 255), `"quoted" \ and spaced`} {
		s.postOnce(key, "/executions", `{"graphId":"g"}`).is(202).has("idempotencyKey", key)
	}
}

func TestTheSameBodyInAnotherSpellingIsARepetition(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	first := s.postOnce("k", "/executions", `{"graphId":"g","input":{"a":14,"b":"é","c":[1,2]}}`).is(202)
	for _, body := range []string{
		`{"input":{"c":[1,2],"b":"é","a":14.0},"graphId":"g"}`,
		"{\n \"graphId\": \"g\",\n \"input\": {\"a\": 1.4e1, \"b\": \"e\u0301\", \"c\": [1.0, 2]}}",
		`{"graphId":"\u0067","input":{"a":14,"b":"\u00e9","c":[1,2]}}`,
	} {
		if again := s.postOnce("k", "/executions", body).is(200); !bytes.Equal(first.body, again.body) {
			t.Errorf("%s: got %s, want %s", body, again.body, first.body)
		}
	}
	s.get("/executions").has("total", "1")
}

func TestAnEmptyBodyIsAnEmptyObject(t *testing.T) {
	e := newServer(t).create(linear("default", "a"))
	e.sendOnce("k", "start", "").is(202)
	e.sendOnce("k", "start", "{}").is(200)
	e.sendOnce("k", "start", " { } ").is(200)
}

func TestTheSameKeyWithAnotherBodyIsAConflictThatSaysWhatDiffers(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	e.sendOnce("k", "a/start", `{"attempt":1,"workerId":"w"}`).is(202)
	before := e.log()
	for _, c := range []struct{ body, differs string }{
		{`{"attempt":2,"workerId":"w"}`, `["attempt"]`},
		{`{"attempt":1}`, `["workerId"]`},
		{`{"attempt":3,"workerId":"v"}`, `["attempt","workerId"]`},
	} {
		e.sendOnce("k", "a/start", c.body).is(409).has("error.code", "IDEMPOTENCY_CONFLICT").has(
			"error.details.differs", c.differs)
	}
	e.grew(before)
	s.register("h", linear("default", "a"))
	s.postOnce("k", "/executions", `{"graphId":"g","input":{"n":1}}`).is(202)
	for range 20 {
		s.postOnce("k", "/executions", `{"graphId":"h","input":{"n":1}}`).is(409).has("error.details.differs",
			`["graphId"]`)
	}
}

func TestAConflictSaysWhenTheKeyWasFirstUsedAndWhenItExpires(t *testing.T) {
	s := newServer(t)
	e := s.create(linear("default", "a"))
	e.sendOnce("k", "cancel", `{"reason":"a"}`).is(202)
	requested := e.view().text("cancelRequestedAt")
	r := e.sendOnce("k", "cancel", `{"reason":"b"}`).is(409).has("error.details.firstUsedAt", requested)
	first, err := time.Parse(time.RFC3339, requested)
	if err != nil {
		t.Fatal(err)
	}
	expires, err := time.Parse(time.RFC3339, r.text("error.details.expiresAt"))
	if err != nil || expires.Sub(first) != 30*24*time.Hour {
		t.Errorf("the key expires %v after its first use (%v), want 30 days", expires.Sub(first), err)
	}
}

func TestAKeyIsScopedToTenantMethodAndPath(t *testing.T) {
	s := newServer(t)
	one, two := s.create(linear("default", "a")), s.create(linear("default", "a"))
	one.sendOnce("k", "start", "").is(202)
	two.sendOnce("k", "start", "").is(202)
	one.sendOnce("k", "a/start", `{"attempt":1}`).is(202)
	one.sendOnce("k", "cancel", "").is(202)
	s.postOnce("k", "/executions", `{"graphId":"g"}`).is(202)
	const other = "11111111-1111-4111-8111-111111111111"
	s.do("PUT", "/graphs/g", linear("default", "a"), "X-Tenant-Id", other).is(201)
	s.postOnce("k", "/executions", `{"graphId":"g","input":{"of":"another tenant"}}`, "X-Tenant-Id", other).is(202)
}

func TestAnIDInUpperCaseIsTheSamePath(t *testing.T) {
	e := newServer(t).create(linear("default", "a"))
	upper := execution{e.server, strings.ToUpper(e.id)}
	first := e.sendOnce("k", "start", "").is(202)
	if again := upper.sendOnce("k", "start", "").is(200); !bytes.Equal(first.body, again.body) {
		t.Errorf("got %s, want %s", again.body, first.body)
	}
}

func TestAKeyExpiresAfterThirtyDays(t *testing.T) {
	s := newServer(t)
	e := s.create(linear("default", "a"))
	create := s.postOnce("k", "/executions", `{"graphId":"g"}`).is(202)
	e.sendOnce("k", "start", "").is(202)
	s.advance(30*24*time.Hour - time.Minute)
	s.postOnce("k", "/executions", `{"graphId":"g"}`).is(200)
	e.sendOnce("k", "start", "").is(200)
	s.advance(2 * time.Minute)
	if r := s.postOnce("k", "/executions", `{"graphId":"g"}`).is(202); r.text("executionId") == create.text(
		"executionId") {
		t.Error("the key was still remembered")
	}
	e.sendOnce("k", "start", "").refusedBy("not_started")
}

func TestARefusalIsRememberedWithItsKey(t *testing.T) {
	e := newServer(t).create(linear("default", "a"))
	first := e.sendOnce("k", "a/start", `{"attempt":1}`).refusedBy("started")
	e.send("start", "").is(202)
	again := e.sendOnce("k", "a/start", `{"attempt":1}`).refusedBy("started")
	if !bytes.Equal(first.body, again.body) {
		t.Errorf("got %s, want %s", again.body, first.body)
	}
	e.send("a/start", `{"attempt":1}`).is(202)
}

func TestWhatIsNotADecisionIsNotRemembered(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	e.sendOnce("k", "a/start", `{"attempt":0}`).is(422)
	e.sendOnce("k", "a/start", `{"attempt":`).is(422)
	e.sendOnce("k", "a/start", `{"attempt":1}`, "Content-Type", "text/plain").is(415)
	e.sendOnce("k", "a/start", `{"attempt":1,"workerId":"`+strings.Repeat("x", 1<<20)+`"}`).is(413)
	e.sendOnce("k", "a/start", `{"attempt":1}`).is(202)
	s.postOnce("k", "/executions", `{"graphId":"later"}`).is(404)
	s.register("later", linear("default", "a"))
	s.postOnce("k", "/executions", `{"graphId":"later"}`).is(202)
}

func TestOfManyRequestsWithOneKeyOneTakesEffect(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	const many = 32
	answers := make([]reply, many)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() { answers[i] = s.postOnce("k", "/executions", `{"graphId":"g"}`) })
	}
	wait.Wait()
	accepted := 0
	for _, r := range answers {
		if r.status == 202 {
			accepted++
		} else {
			r.is(200)
		}
		if !bytes.Equal(r.body, answers[0].body) {
			t.Errorf("two answers: %s and %s", answers[0].body, r.body)
		}
	}
	if accepted != 1 {
		t.Errorf("%d requests were accepted, want 1", accepted)
	}
	s.get("/executions").has("total", "1")
}

func TestTheCorrelationIDIsEchoedAndTravelsIntoEveryEvent(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	r := s.post("/executions", `{"graphId":"g"}`, "X-Correlation-Id", "from-the-shop").is(202)
	e := execution{s, r.text("executionId")}
	e.send("start", "", "X-Correlation-Id", "second call").is(202)
	for _, ev := range e.events() {
		want := "from-the-shop"
		if ev.Seq > 4 {
			want = "second call"
		}
		if ev.CorrelationID != want {
			t.Errorf("event %d %v has the correlation id %q, want %q", ev.Seq, ev, ev.CorrelationID, want)
		}
	}
	if got := r.header.Get("X-Correlation-Id"); got != "from-the-shop" {
		t.Errorf("the header is %q", got)
	}
	r.has("correlationId", "from-the-shop")
}

func TestTheServerMakesACorrelationIDWhenThereIsNone(t *testing.T) {
	s := newServer(t)
	e := s.create(linear("default", "a"))
	r := e.send("start", "").is(202)
	made := r.header.Get("X-Correlation-Id")
	if made == "" || r.text("correlationId") != made {
		t.Errorf("header %q, body %s", made, r.body)
	}
	if last := e.events(); last[len(last)-1].CorrelationID != made {
		t.Errorf("the event has %q, want %q", last[len(last)-1].CorrelationID, made)
	}
	s.get("/executions/"+e.id, "X-Correlation-Id", strings.Repeat("c", 129)).is(422)
	s.get("/executions/"+e.id, "X-Correlation-Id", "bad\tid").is(422)
	if got := s.get("/nothing", "X-Correlation-Id", "mine").is(404).header.Get("X-Correlation-Id"); got != "mine" {
		t.Errorf("a refusal has the correlation id %q", got)
	}
}

func TestTheFirstEventOfACommandHasItsCallerTheOthersTheSystem(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	r := s.post("/executions", `{"graphId":"g"}`, "X-User-Id", "mika").is(202)
	e := execution{s, r.text("executionId")}
	e.send("start", "").is(202)
	s.post("/tasks/claim", `{"workerId":"robot"}`).is(200)
	e.send("a/success", `{}`).is(202)
	var got []string
	for _, ev := range e.events() {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%v: %s %s", ev, ev.Actor.Kind, ev.Actor.ID)))
	}
	want := []string{
		"EXECUTION_CREATED: user mika", "NODE_CREATED start: system", "NODE_CREATED a: system",
		"NODE_CREATED done: system",
		"EXECUTION_STARTED: user", "NODE_SUCCEEDED start: system", "NODE_READY a: system",
		"NODE_STARTED a: external robot",
		"NODE_SUCCEEDED a: external robot", "NODE_SUCCEEDED done: system", "EXECUTION_COMPLETED: system",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestADeadlineIsCausedByTheScheduler(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	s.post("/tasks/claim", `{"workerId":"w","leaseSeconds":1}`).is(200)
	s.advance(2 * time.Second)
	if ev := e.await("NODE_FAIL_REPORTED a", 0); ev.Actor.Kind != "scheduler" {
		t.Errorf("the actor is %+v", ev.Actor)
	}
}

func TestCausesFormAChain(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/success", `{}`).is(202)
	events := e.events()
	byType := map[string]event{}
	for i, ev := range events {
		byType[ev.String()] = ev
		switch ev.String() {
		case "EXECUTION_CREATED":
			if ev.CausationID != "" {
				t.Errorf("the first event has the cause %s", ev.CausationID)
			}
		case "EXECUTION_STARTED":
			if ev.CausationID != events[0].EventID {
				t.Errorf("the start is caused by %s", ev.CausationID)
			}
		case "NODE_STARTED a":
			if ev.CausationID != byType["NODE_READY a"].EventID {
				t.Errorf("the start of a is caused by %s, not by its being ready", ev.CausationID)
			}
		case "NODE_SUCCEEDED a":
			if ev.CausationID != byType["NODE_STARTED a"].EventID {
				t.Errorf("the success of a is caused by %s, not by its start", ev.CausationID)
			}
		default:
			if ev.CausationID != events[i-1].EventID {
				t.Errorf("%v is not caused by the event before", ev)
			}
		}
	}
}
