package httpapi_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"renga.dev/renga/test/tier"
)

// PDC-12: section 12 of the document, line by line, and what goes with it.
func TestPDC12WhatBreaksARuleIsRefusedByName(t *testing.T) {
	s := newServer(t)
	s.enrol("a", "b")
	const rest = `"window":{"lookback_days":14},"reason":"manual"`
	many := func(n int) string {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprintf(`"s%d"`, i)
		}
		return strings.Join(ids, ",")
	}
	window := func(w string) string { return `{"strategies":["a"],"reason":"manual","window":` + w + `}` }
	reason := func(r string) string { return `{"strategies":["a"],"window":{"lookback_days":1},"reason":` + r + `}` }
	for _, tt := range []struct{ body, message string }{
		{``, "the body must be a JSON object"},
		{`[]`, "the body must be an object"},
		{`{` + rest + `}`, "strategies must be 1 to 50 ids"},
		{`{"strategies":[],` + rest + `}`, "strategies must be 1 to 50 ids"},
		{`{"strategies":[` + many(51) + `],` + rest + `}`, "strategies must be 1 to 50 ids"},
		{`{"strategies":["a","A"],` + rest + `}`, "strategies[1] must be 1 to 128 of a-z 0-9 . _ -"},
		{`{"strategies":["a b"],` + rest + `}`, "strategies[0] must be 1 to 128 of a-z 0-9 . _ -"},
		{`{"strategies":["戦略"],` + rest + `}`, "strategies[0] must be 1 to 128 of a-z 0-9 . _ -"},
		{`{"strategies":[""],` + rest + `}`, "strategies[0] must be 1 to 128 of a-z 0-9 . _ -"},
		{`{"strategies":["a","b","a"],` + rest + `}`, "strategies[2] is there twice"},
		{`{"strategies":"a",` + rest + `}`, "strategies must be an array"},
		{`{"strategies":[1],` + rest + `}`, "strategies[0] must be a string"},
		{`{"strategies":["a"],"reason":"manual"}`, "window is missing"},
		{window(`{}`), "window must have lookback_days, or from and to"},
		{window(`{"lookback_days":0}`), "window.lookback_days must be a whole number between 1 and 180"},
		{window(`{"lookback_days":181}`), "window.lookback_days must be a whole number between 1 and 180"},
		{window(`{"lookback_days":-1}`), "window.lookback_days must be a whole number between 1 and 180"},
		{window(`{"lookback_days":1.5}`), "window.lookback_days must be a whole number"},
		{window(`{"lookback_days":"14"}`), "window.lookback_days must be a whole number"},
		{
			window(`{"lookback_days":14,"from":"2026-01-01T00:00:00Z"}`),
			"window must have either lookback_days or from and to, not both",
		},
		{
			window(`{"lookback_days":14,"to":"2026-01-01T00:00:00Z"}`),
			"window must have either lookback_days or from and to, not both",
		},
		{window(`{"from":"2026-01-01T00:00:00Z"}`), "window.to is missing"},
		{window(`{"to":"2026-01-01T00:00:00Z"}`), "window.from is missing"},
		{
			window(`{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`),
			"window.from must not be after window.to",
		},
		{
			window(`{"from":"2026-01-01","to":"2026-01-02T00:00:00Z"}`),
			"window.from must be an RFC 3339 time, such as 2026-01-05T09:00:00Z",
		},
		{
			window(`{"from":"2026-01-01T00:00:00Z","to":"soon"}`),
			"window.to must be an RFC 3339 time, such as 2026-01-05T09:00:00Z",
		},
		{window(`{"days":14}`), "window.days is not a known field"},
		{window(`14`), "window must be an object"},
		{`{"strategies":["a"],"window":{"lookback_days":1}}`, "reason is missing"},
		{reason(`""`), "reason must be 1 to 64 characters without control characters"},
		{reason(`"` + strings.Repeat("x", 65) + `"`), "reason must be 1 to 64 characters without control characters"},
		{reason(`"` + strings.Repeat("検", 65) + `"`), "reason must be 1 to 64 characters without control characters"},
		{reason(`"a\nb"`), "reason must be 1 to 64 characters without control characters"},
		{reason(`"a\u0000"`), "reason must be 1 to 64 characters without control characters"},
		{reason(`null`), "reason must be a string"},
		{order(`"trace_id":""`, "a"), "trace_id must be 1 to 128 characters without control characters"},
		{
			order(`"trace_id":"`+strings.Repeat("x", 129)+`"`, "a"),
			"trace_id must be 1 to 128 characters without control characters",
		},
		{order(`"batch_size":0`, "a"), "batch_size must be a whole number between 1 and 100"},
		{order(`"batch_size":101`, "a"), "batch_size must be a whole number between 1 and 100"},
		{order(`"dry_run":"yes"`, "a"), "dry_run must be true or false"},
		{order(`"params":[]`, "a"), "params must be an object"},
		{order(`"params":null`, "a"), "params must be an object"},
		{order(`"params":{"x":"`+strings.Repeat("x", 16<<10)+`"}`, "a"), "params are larger than 16384 bytes"},
		{order(`"force":true`, "a"), "force is not a known field"},
		{order(`"reason":"again"`, "a"), "the body holds the member \"reason\" twice"},
	} {
		r := s.ask(recheckPath, tt.body).of(tt.body)
		if r.status != 400 || !strings.HasPrefix(r.text("message"), tt.message) {
			t.Errorf("%.120s: got %d %s, want 400 %s", tt.body, r.status, r.body, tt.message)
		}
	}
	filter := func(f string) string { return `{"filter":` + f + `,` + rest + `}` }
	for _, tt := range []struct{ body, message string }{
		{`{` + rest + `}`, "filter is missing; {} stands for all strategies"},
		{filter(`[]`), "filter must be an object"},
		{filter(`{"tags":["a"]}`), "filter.tags is not a known field"},
		{filter(`{"tags_any":[]}`), "filter.tags_any must be 1 to 16 tags"},
		{filter(`{"tags_any":["a,b"]}`), "filter.tags_any[0] must be 1 to 64 characters on one line"},
		{filter(`{"tags_any":"a"}`), "filter.tags_any must be an array"},
		{filter(`{"health":[]}`), "filter.health must be 1 to 3 of healthy, degraded, unknown"},
		{filter(`{"health":["fine"]}`), "filter.health[0] must be healthy, degraded or unknown"},
		{filter(`{"q":"` + strings.Repeat("x", 65) + `"}`), "filter.q must be at most 64 characters on one line"},
		{`{"strategies":["a"],"filter":{},` + rest + `}`, "strategies is not a known field"},
	} {
		r := s.ask(recheckAllPath, tt.body)
		if r.status != 400 || !strings.HasPrefix(r.text("message"), tt.message) {
			t.Errorf("%.120s: got %d %s, want 400 %s", tt.body, r.status, r.body, tt.message)
		}
	}
}

func TestPDC12WhatKeepsTheRulesIsAccepted(t *testing.T) {
	s := newServer(t)
	ids := make([]string, 50)
	for i := range ids {
		ids[i] = fmt.Sprintf("s.%d_x-y", i)
	}
	s.enrol(ids...)
	for _, body := range []string{
		order(`"dry_run":true`, ids...),
		`{"strategies":["s.0_x-y"],"window":{"lookback_days":1},"reason":"` + strings.Repeat("検", 64) +
			`","dry_run":true}`,
		`{"strategies":["s.0_x-y"],"window":{"lookback_days":180.0},"reason":"日次 再チェック","dry_run":true,"trace_id":"` +
			strings.Repeat("t", 128) + `"}`,
		`{"strategies":["s.0_x-y"],"window":{"from":"2026-01-01T00:00:00+09:00","to":"2025-12-31T15:00:00Z"},` +
			`"reason":"x","dry_run":true,"batch_size":100}`,
		// 65 code points that are 64 in Normalization Form C
		`{"strategies":["s.0_x-y"],"window":{"lookback_days":1},"reason":"` + strings.Repeat("x", 63) +
			`e\u0301","dry_run":true}`,
	} {
		s.ask(recheckPath, body).of(body).is(202).has("status", "succeeded").has("dry_run", "true")
	}
}

func TestPDC1UnknownStrategiesAreNamed(t *testing.T) {
	s := newServer(t)
	s.enrol("a")
	s.ask(recheckPath, order("", "a", "b")).flat(404, "NOT_FOUND",
		"there is no strategy b; register it with PUT /pdca/strategies/{id}")
	s.ask(recheckPath, order("", "b", "c", "d", "e", "f", "g", "h")).
		flat(404, "NOT_FOUND", "there is no strategy b, c, d, e, f and 2 more; register it with PUT "+
			"/pdca/strategies/{id}")
	s.elsewhere()
	s.ask(recheckPath, order("", "a")).flat(404, "NOT_FOUND",
		"there is no strategy a; register it with PUT /pdca/strategies/{id}")
}

func TestPDC1ARequestIsCheckedBatchAfterBatch(t *testing.T) {
	s := newServer(t)
	s.enrol("a", "b", "c")
	id := s.recheck(`"batch_size":2,"params":{"x":1}`, "c", "a", "b")
	s.progress(id).has("status", "queued").has("counts.queued", "3").has("items.0.strategy", "c")
	jobs := s.take(10)
	if len(jobs) != 2 || jobs[0].strategy != "c" || jobs[1].strategy != "a" {
		t.Fatalf("got %v, want c and a", jobs)
	}
	s.progress(id).has("status", "running").has("counts.running", "2").has("counts.queued", "1")
	s.found(jobs[0], `{"health":"healthy","metrics":{"sharpe":1.5},"note":"fine"}`).is(202)
	// Its result is there before the batch has ended; the strategy learns of it with the batch.
	s.progress(id).has("counts.succeeded", "1").has("items.0.result.note", "fine").has("items.1.status", "running")
	if got := s.strategy("c"); got.Health != "unknown" {
		t.Errorf("c is %s before its batch has ended", got.Health)
	}
	s.found(jobs[1], `{"health":"great"}`).is(202)
	last := s.take(10)
	if len(last) != 1 || last[0].strategy != "b" {
		t.Fatalf("got %v, want b", last)
	}
	if got := s.strategy("c"); got.Health != "healthy" || got.LastCheckedAt == nil || got.Metrics["sharpe"] != 1.5 {
		t.Errorf("c is %v", got)
	}
	s.found(last[0], `{}`).is(202)
	r := s.until(id, "partial")
	r.has("counts.succeeded", "2").has("counts.failed", "1").has("items.1.error.code", "BAD_RESULT").
		has("items.1.error.message", "health must be healthy, degraded or unknown").has("items.2.result", "{}")
	if got := s.strategy("a"); got.LastCheckedAt != nil {
		t.Errorf("a was checked at %v by a result that cannot be used", got.LastCheckedAt)
	}
	if got := s.strategy("b"); got.LastCheckedAt == nil || got.Health != "unknown" {
		t.Errorf("b is %v", got)
	}
	s.get(recheckPath+"/"+id+"?status=failed&page_size=10").is(200).has("matching", "1").has("items.0.strategy",
		"a").has("total", "3").has("page_size", "10")
	s.get(recheckPath + "/" + id + "?status=done").is(400)
}

func TestPDC1AnAttemptThatFailsIsTriedAgain(t *testing.T) {
	s := newServer(t)
	s.enrol("a")
	id := s.recheck("", "a")
	for attempt := 1; attempt <= 5; attempt++ {
		jobs := s.take(1)
		if len(jobs) != 1 {
			t.Fatalf("attempt %d: nothing to do", attempt)
		}
		s.failed(jobs[0], attempt).is(202)
		s.clock.ahead.Add(61e9) // the next attempt is due
	}
	s.until(id, "failed").has("items.0.error.code", "NO_DATA").has("items.0.error.message", "there is no data")
}

func TestPDC4ADryRunPutsThePlanDown(t *testing.T) {
	s := newServer(t)
	s.enrol("a", "b")
	r := s.ask(recheckAllPath,
		`{"filter":{"tags_any":["all"]},"window":{"lookback_days":7},"reason":"look","dry_run":true}`).is(202).has(
		"total", "2")
	s.progress(r.text("request_id")).has("status", "succeeded").has("counts.planned", "2").has("items.1.status",
		"planned").has("items.1.strategy", "b")
	if r.header.Get("Location") != recheckPath+"/"+r.text("request_id") {
		t.Errorf("Location is %q", r.header.Get("Location"))
	}
	s.post("/tasks/claim", `{"workerId":"w","queues":["pdca.recheck"]}`).is(200).has("tasks", "[]")
	s.ask(recheckAllPath, `{"filter":{"q":"zz"},"window":{"lookback_days":7},"reason":"look"}`).is(202).has("total",
		"0").has("status", "succeeded")
}

func TestPDC5KeysAreULIDsOrUUIDs(t *testing.T) {
	s := newServer(t)
	s.enrol("a")
	body := order(`"dry_run":true`, "a")
	for _, key := range []string{
		"k", "01J8TPZ7YJ1E1X4C5N9ZP3M3Q", "81J8TPZ7YJ1E1X4C5N9ZP3M3QJ",
		"01J8TPZ7YJ1E1X4C5N9ZP3M3QI", "{" + uuid.NewString() + "}", strings.ReplaceAll(uuid.NewString(), "-", ""),
	} {
		s.askOnce(key, recheckPath, body).flat(400, "BAD_REQUEST",
			"the header Idempotency-Key must be a ULID or a UUID")
	}
	for _, key := range []string{
		"01J8TPZ7YJ1E1X4C5N9ZP3M3QJ", "01j8tpz7yj1e1x4c5n9zp3m3qk", uuid.NewString(),
		strings.ToUpper(uuid.NewString()),
	} {
		s.askOnce(key, recheckPath, body).is(202)
	}
}

func TestPDC5ARepetitionGivesTheFirstAnswer(t *testing.T) {
	down := false
	s := newServerWith(t, options{down: func() bool { return down }})
	s.enrol("a", "b")
	key := uuid.NewString()
	first := s.askOnce(
		key,
		recheckPath,
		`{"strategies":["a"],"window":{"lookback_days":14},"reason":"caf\u00e9","params":{"x":1.0},"trace_id":"one"}`,
	).is(202)
	down = true
	for _, body := range []string{
		`{ "reason":"cafe\u0301", "trace_id":"two", "strategies":["a"], "params":{"x":1}, ` +
			`"window":{"lookback_days":1.4e1} }`,
		`{"params":{"x":1e0},"reason":"café","strategies":["a"],"window":{"lookback_days":14}}`,
	} {
		if again := s.askOnce(key, recheckPath, body).is(202); string(again.body) != string(first.body) {
			t.Errorf("got %s, want %s", again.body, first.body)
		}
	}
	r := s.askOnce(key, recheckPath,
		`{"strategies":["b"],"window":{"lookback_days":14},"reason":"café","dry_run":true}`).is(409).has("error",
		"IDEMPOTENCY_CONFLICT")
	if message := r.text("message"); !strings.HasPrefix(message,
		"the Idempotency-Key was used before with a body that differs in dry_run, params, strategies; ") {
		t.Errorf("the message does not name the members: %s", message)
	}
	// Another client's or tenant's key, and one on another path, is another key.
	dry := order(`"dry_run":true`, "a")
	other := s.askOnce(key, recheckPath, dry, "X-User-Id", "desk-2").is(202)
	s.askOnce(key, recheckPath, dry, "X-User-Id", "desk-2").is(202).has("request_id", other.text("request_id"))
	if third := s.askOnce(key, recheckPath, dry, "X-User-Id", "desk-3").is(202); third.text(
		"request_id",
	) == other.text(
		"request_id",
	) {
		t.Errorf("two clients have one request: %s", third.body)
	}
	s.ask(recheckPath, order("", "a")).flat(502, "AIRFLOW_DOWN",
		"Airflow does not answer; nothing was accepted, send it again with the same key")
	s.askOnce(key, recheckAllPath, `{"filter":{},"window":{"lookback_days":14},"reason":"x","dry_run":true}`).is(202)
	s.elsewhere()
	s.enrol("a")
	s.askOnce(key, recheckPath, order(`"dry_run":true`, "a")).is(202)
}

// TestPDC5SixtyFourClientsWithOneKeyMakeOneRequest sends the same request from many at
// once, and then others with the same key.
func TestPDC5SixtyFourClientsWithOneKeyMakeOneRequest(t *testing.T) {
	s := newServer(t)
	s.enrol("a", "b")
	key := uuid.NewString()
	var wg sync.WaitGroup
	answers := make([]string, 64)
	for i := range answers {
		wg.Go(func() {
			r := s.askOnce(key, recheckPath, order(fmt.Sprintf(`"trace_id":"t%d"`, i), "a", "b"))
			answers[i] = fmt.Sprint(r.status, " ", string(r.body))
		})
	}
	wg.Wait()
	for _, answer := range answers {
		if answer != answers[0] || !strings.HasPrefix(answer, "202 ") {
			t.Fatalf("got %s and %s", answers[0], answer)
		}
	}
	if jobs := s.take(10); len(jobs) != 2 {
		t.Errorf("got %d tasks, want 2: %v", len(jobs), jobs)
	}
	for i := range answers {
		wg.Go(func() {
			r := s.askOnce(key, recheckPath, order(fmt.Sprintf(`"batch_size":%d`, i+1), "a", "b"))
			answers[i] = fmt.Sprint(r.status, " ", r.text("error"))
		})
	}
	wg.Wait()
	for i, answer := range answers {
		if answer != "409 IDEMPOTENCY_CONFLICT" {
			t.Errorf("batch_size %d: got %s", i+1, answer)
		}
	}
}

func TestPDC1AtMost5000StrategiesAreCheckedAtOnce(t *testing.T) {
	tier.System(t)
	if testing.Short() {
		t.Skip("SKIP: thousands of strategies")
	}
	s := newServer(t)
	for i := range 5001 {
		if i == 5000 {
			r := s.ask(recheckAllPath, `{"filter":{},"window":{"lookback_days":7},"reason":"all","batch_size":100}`).
				is(
					202).
				has("total", "5000")
			s.get(recheckPath+"/"+r.text("request_id")+"?page=50&page_size=100").is(200).has("items.99.strategy",
				"s4999").has("counts.queued", "5000")
			s.ask(recheckPath+"/"+r.text("request_id")+"/cancel", "").is(202).has("status", "canceled")
			s.until(r.text("request_id"), "canceled").has("counts.canceled", "5000")
		}
		s.enrol(fmt.Sprintf("s%04d", i))
	}
	s.ask(recheckAllPath, `{"filter":{},"window":{"lookback_days":7},"reason":"all"}`).
		flat(400, "BAD_REQUEST", "filter matches 5001 strategies, and a request has at most 5000; make it narrower")
}

func TestPDC1CancelWins(t *testing.T) {
	s := newServer(t)
	s.enrol("a", "b", "c", "d")
	id := s.recheck(`"batch_size":2`, "a", "b", "c", "d")
	jobs := s.take(2)
	s.found(jobs[0], `{"health":"healthy"}`).is(202)
	key := uuid.NewString()
	first := s.askOnce(key, recheckPath+"/"+id+"/cancel", `{"reason":"wrong"}`).is(202).has("status", "canceled")
	s.found(jobs[1], `{"health":"degraded"}`).refusedBy("cancel_fence")
	r := s.until(id, "canceled")
	r.has("counts.succeeded", "1").has("counts.canceled", "3").has("items.1.status", "canceled").has(
		"items.0.result.health", "healthy")
	s.post("/tasks/claim", `{"workerId":"w","queues":["pdca.recheck"]}`).is(200).has("tasks", "[]")
	if again := s.askOnce(key, recheckPath+"/"+id+"/cancel", `{"reason":"wrong"}`); again.status != 202 ||
		string(again.body) != string(first.body) {
		t.Errorf("got %d %s, want %s", again.status, again.body, first.body)
	}
	s.askOnce(key, recheckPath+"/"+id+"/cancel", `{"reason":"right"}`).is(409).has("error", "IDEMPOTENCY_CONFLICT")
	s.ask(recheckPath+"/"+id+"/cancel", "").is(200).has("status", "canceled")
	s.ask(recheckPath+"/"+id+"/cancel", `{"why":"x"}`).flat(400, "BAD_REQUEST", "why is not a known field")
	s.ask(recheckPath+"/01J8TPZ7YJ1E1X4C5N9ZP3M3QJ/cancel", "").is(404)
	s.elsewhere()
	s.ask(recheckPath+"/"+id+"/cancel", "").is(404).has("error", "NOT_FOUND")
	s.get(recheckPath + "/" + id).is(404)
}

// TestPDC1WhoCancelsTheExecutionCancelsTheRequest goes by the executions' own API.
func TestPDC1WhoCancelsTheExecutionCancelsTheRequest(t *testing.T) {
	s := newServer(t)
	s.enrol("a", "b")
	id := s.recheck(`"batch_size":1`, "a", "b")
	s.post("/executions/"+s.take(1)[0].execution+"/cancel", `{}`).is(202)
	s.until(id, "canceled").has("counts.canceled", "2")
}

func TestPDC1ArtifactsAreDownloadedWithASignedURL(t *testing.T) {
	s := newServer(t)
	s.enrol("a")
	id := s.recheck("", "a")
	s.found(s.take(1)[0], `{"artifacts":[{"name":"résumé \"1\".html","media_type":"text/html; charset=utf-8",`+
		`"content":"PGI+aGk8L2I+"}]}`).
		is(202)
	artifact := s.until(id, "succeeded").has("items.0.result.artifacts.0.size", "9").text(
		"items.0.result.artifacts.0.artifact_id")
	link := s.get("/pdca/artifacts/" + artifact + "/download_url").is(200)
	path := link.text("url")
	if !strings.HasPrefix(path, "/pdca/artifacts/"+artifact+"/content?") {
		t.Fatalf("the URL has what the caller says that the host is: %s", link.body)
	}
	got := s.get(path).is(200)
	if string(got.body) != "<b>hi</b>" || got.header.Get("Content-Type") != "application/octet-stream" ||
		got.header.Get(
			"Content-Disposition",
		) != `attachment; filename="r_sum_ _1_.html"; filename*=UTF-8''r%C3%A9sum%C3%A9%20_1_.html` {
		t.Errorf("got %q, %v", got.body, got.header)
	}
	tampered := map[string]string{
		"another artifact":  strings.Replace(path, artifact, "01J8TPZ7YJ1E1X4C5N9ZP3M3QJ", 1),
		"another tenant":    strings.Replace(path, "tenant=0", "tenant=1", 1),
		"more time":         strings.Replace(path, "expires=", "expires=9", 1),
		"another signature": strings.Replace(path, "signature=", "signature=0", 1),
	}
	for name, path := range tampered {
		s.get(path).of(name).flat(403, "FORBIDDEN", "the signature does not belong to this URL; ask for a new one")
	}
	s.get(strings.Split(path, "?")[0]).is(400)
	s.get(path+"&x=1").flat(400, "BAD_REQUEST", "x is not a known query parameter")
	s.clock.ahead.Add(301e9)
	s.get(path).flat(403, "FORBIDDEN", "the URL has expired; ask for a new one")
	s.elsewhere()
	s.get("/pdca/artifacts/" + artifact + "/download_url").is(404)
	s.get("/pdca/artifacts/nothing/download_url").is(404)
}

func TestPDC1AnEmptyArtifactIsAFileToo(t *testing.T) {
	s := newServer(t)
	s.enrol("a")
	id := s.recheck("", "a")
	s.found(s.take(1)[0], `{"artifacts":[{"name":"orders.csv","media_type":"text/csv","content":""}]}`).is(202)
	artifact := s.until(id, "succeeded").text("items.0.result.artifacts.0.artifact_id")
	link := s.get("/pdca/artifacts/" + artifact + "/download_url").is(200)
	got := s.get(link.text("url")).is(200)
	if len(got.body) != 0 || got.header.Get("Content-Type") != "application/octet-stream" ||
		got.header.Get("Content-Disposition") != `attachment; filename="orders.csv"` {
		t.Errorf("got %q, %v", got.body, got.header)
	}
}

func TestPDC12AWindowMayBeginWith1970(t *testing.T) {
	s := newServer(t)
	s.enrol("a")
	for _, from := range []string{"1970-01-01T00:00:00Z", "1970-01-01t09:00:00.000+09:00", "1969-12-31T23:59:59.999Z"} {
		want := from
		if from[3] == '0' {
			want = "1970-01-01T00:00:00.000Z"
		}
		id := s.askOnce(uuid.NewString(), "/pdca/recheck",
			`{"strategies":["a"],"reason":"all of it","dry_run":true,"window":{"from":"`+from+
				`","to":"2026-01-05T09:00:00Z"}}`).
			is(202).text("request_id")
		s.get("/pdca/recheck/"+id).has("window.from", want).has("window.to", "2026-01-05T09:00:00.000Z")
	}
	s.askOnce(uuid.NewString(), "/pdca/recheck",
		`{"strategies":["a"],"reason":"x","window":{"from":"1970-01-01T00:00:00.001Z","to":"1970-01-01T00:00:00Z"}}`).
		flat(400, "BAD_REQUEST", "window.from must not be after window.to")
}

func TestPDC2ScopesAndAudiencesOfRequests(t *testing.T) {
	issuer, auth := newIssuer(t)
	s := newServerWith(t, options{auth: auth})
	const scopes = "pdca:admin pdca:read pdca:recheck pdca:recheck_all pdca:download"
	bearer := func(aud any, scope string) []string {
		return issuer.bearer(jwt.MapClaims{"aud": aud, "sub": "desk-1", "scope": scope})
	}
	s.do("PUT", strategiesPath+"a", `{"name":"n"}`, bearer("pdca", scopes)...).is(201)
	id := s.ask(recheckPath, order("", "a"), bearer("pdca", "pdca:recheck")...).is(202).text("request_id")
	all := `{"filter":{},"window":{"lookback_days":7},"reason":"all","dry_run":true}`
	for _, tt := range []struct {
		method, path, body, scope string
		gui                       bool
	}{
		{"POST", recheckPath, order("", "a"), "pdca:recheck", false},
		{"POST", recheckAllPath, all, "pdca:recheck_all", false},
		{"POST", recheckPath + "/" + id + "/cancel", "", "pdca:recheck", false},
		{"GET", recheckPath + "/" + id, "", "pdca:read", true},
		{"GET", "/pdca/artifacts/01J8TPZ7YJ1E1X4C5N9ZP3M3QJ/download_url", "", "pdca:download", true},
	} {
		send := func(header []string) reply {
			return s.do(tt.method, tt.path, tt.body, append([]string{"Idempotency-Key", uuid.NewString()},
				header...)...)
		}
		send(nil).is(401).has("error", "UNAUTHORIZED")
		send(bearer("renga", scopes)).is(401)
		others := strings.TrimSpace(strings.ReplaceAll(" "+scopes+" ", " "+tt.scope+" ", " "))
		send(bearer("pdca", others)).flat(403, "FORBIDDEN", "this needs the scope "+tt.scope)
		if r := send(bearer("pdca.gui", tt.scope)); (r.status == 401) == tt.gui {
			t.Errorf("%s with the audience pdca.gui: got %d", tt.path, r.status)
		}
		if r := send(bearer("pdca", tt.scope)); r.status == 401 || r.status == 403 {
			t.Errorf("%s: got %d %s", tt.path, r.status, r.body)
		}
	}
}

func TestPDC9BodiesAreAtMost64KiB(t *testing.T) {
	s := newServer(t)
	for _, path := range []string{recheckPath, recheckAllPath, recheckPath + "/01J8TPZ7YJ1E1X4C5N9ZP3M3QJ/cancel"} {
		s.ask(path, `{"reason":"`+strings.Repeat("x", 64<<10)+`"}`).is(413).has("error", "PAYLOAD_TOO_LARGE")
		s.ask(path, `{}`, "Content-Type", "text/plain").is(415).has("error", "UNSUPPORTED_MEDIA_TYPE")
	}
}
