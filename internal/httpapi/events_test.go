package httpapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
)

// BUS-6, BUS-7: what operators see of events and decide about dead letters.

// withConsumers is a server with one consumer that blocks keys and one that goes on.
func withConsumers(t *testing.T) *server {
	t.Helper()
	return newServerWith(t, options{heartbeat: 50 * time.Millisecond, consumers: []bus.Consumer{
		{Name: "search", Types: []string{"RecordDeleted"}}, {
			Name: "mailer", Types: []string{"OwnerChanged"},
			Continue: true,
		},
	}})
}

func TestSchemasOfEventsAreServed(t *testing.T) {
	s := newServer(t)
	r := s.get("/events/schemas").is(200).has("items.0.eventType", "RecordCreated").has("items.0.href",
		"/events/schemas/RecordCreated").
		has("items.20.eventType", "ExecutionChanged").has("items.21", "<none>")
	for i := range 21 {
		path := r.text(fmt.Sprintf("items.%d.href", i))
		one := s.get(path).is(200)
		if got := one.header.Get("Content-Type"); got != "application/schema+json" {
			t.Errorf("%s is %s", path, got)
		}
		one.has("$schema", "https://json-schema.org/draft/2020-12/schema")
		tag := one.header.Get("Etag")
		for _, same := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			if r := s.get(path, "If-None-Match", same).is(304); len(r.body) > 0 || r.header.Get("Etag") != tag {
				t.Errorf("%s with %s: %s %s", path, same, r.header.Get("Etag"), r.body)
			}
		}
		s.get(path, "If-None-Match", `"other"`).is(200)
	}
	for _, typ := range []string{"recordcreated", "..%2F..%2Fopenapi", "RecordCreated.json", strings.Repeat("x", 300)} {
		s.get("/events/schemas/"+typ).is(404).has("error.code", "EVENT_TYPE_UNKNOWN")
	}
	s.get("/events/schemas?page=1").invalid("page")
}

func TestADeadLetterIsDrivenAgain(t *testing.T) {
	s := withConsumers(t)
	e, behind := s.mail.Deleted(own, "x"), s.mail.Deleted(own, "x")
	id := s.deadLetter("search", e)[0]
	path := "/events/dlq/" + id
	s.mail.Fail(e.Key)
	s.mail.Publish(behind)
	s.eventually(func() bool { return s.get(path).is(200).text("waiting.count") == "1" })
	s.get("/events/dlq?consumer=search").
		is(200).
		has("total", "1").
		has("items.0.deadLetterId", id).
		has("items.0.error",
			"the index is away")
	s.get(path).has("verdict", "WILL_APPLY").has("event.eventId", e.ID).has("waiting.first.0.eventId", behind.ID)
	s.post(path+"/redrive", `{"dryRun":true}`).is(200).has("verdict", "WILL_APPLY").has("dryRun", "true").has(
		"accepted", "<none>")
	s.get("/events/consumers").is(200).has("items.1.consumer", "search").has("items.0.continue", "true").
		has(fmt.Sprintf("items.1.partitions.%d.deadLetters", events.Partition(e.Key)), "1").
		has(fmt.Sprintf("items.1.partitions.%d.waitingKeys.blocked", events.Partition(e.Key)), "1")

	first := s.postOnce("k", path+"/redrive", "", "X-User-Id", "ann", "X-Correlation-Id", "c-1").is(202).has("status",
		"REDRIVING")
	var r reply
	// it died again
	s.eventually(func() bool { r = s.get(path).is(200); return r.text("failures.1.error") == "the index is away" })
	r.has("status", "OPEN").has("attempts", "2").has("decision.by.id", "ann")
	// its first answer, and nothing happens
	again := s.postOnce("k", "/events/dlq/"+strings.ToUpper(id)+"/redrive", " {} ").is(200)
	if string(again.body) != string(first.body) {
		t.Errorf("answered %s, and then %s", first.body, again.body)
	}
	s.get(path).is(200).has("status", "OPEN").has("attempts", "2")
	s.mail.Recover(e.Key)
	s.post(path+"/redrive", `{"reason":"直った"}`, "X-User-Id", "bob").is(202)
	s.dead(id, "APPLIED").has("decision.by.id", "bob").has("decision.reason", "直った").has("verdict", "<none>").has(
		"waiting.count", "0")
	s.post(path+"/redrive", "").is(202).has("status", "APPLIED").has("verdict", "<none>")
	s.post(path+"/redrive", `{"dryRun":true}`).is(200).has("status", "APPLIED").has("verdict", "<none>")
	s.post(path+"/skip", `{"reason":"r"}`).refusedBy("dead_letter_open").has("error.details.state.deadLetter",
		"APPLIED").
		has("error.message", "SkipDeadLetter rejected because the dead letter is APPLIED")
	s.get("/events/dlq").is(200).has("total", "0")
	s.get("/events/dlq?status=APPLIED,OPEN").is(200).has("total", "1")
	s.postOnce("k", path+"/redrive", `{"reason":"another"}`).is(409).has("error.code", "IDEMPOTENCY_CONFLICT").has(
		"error.details.differs", `["reason"]`)
	s.get("/audit?action=dlq.redrive").is(200).has("total", "2").has("items.0.actor.id", "bob").has("items.0.reason",
		"直った").
		has("items.1.actor.id", "ann").has("items.1.correlationId", "c-1").has("items.1.detail.eventId", e.ID)
	s.get("/audit?actor=ann&subject="+id).is(200).has("total", "1")
}

func TestADeadLetterIsSkippedWithAReason(t *testing.T) {
	s := withConsumers(t)
	id := s.deadLetter("search", s.mail.Deleted(own, "x"))[0]
	path := "/events/dlq/" + id + "/skip"
	for body, words := range map[string][]string{
		``:                              {"a skip needs a reason"},
		`{}`:                            {"a skip needs a reason"},
		`{"reason":""}`:                 {"a skip needs a reason"},
		`{"reason":"   "}`:              {"a skip needs a reason"},
		`{"reason":null}`:               {"reason"},
		`{"reason":7}`:                  {"reason"},
		`{"reason":"a\nb"}`:             {"on one line"},
		`{"reason":"` + `\u0000` + `"}`: {"on one line"},
		`{"reason":"\u001b[2J"}`:        {"on one line"},
		`{"reason":"a\u2028b"}`:         {"on one line"},
		`{"reason":"` + strings.Repeat("理", 501) + `"}`: {"1 to 500 characters"},
		`{"reason":"r","force":true}`:                   {"force is not a known field"},
		`{"reason":"r","reason":"s"}`:                   {"reason"},
		"{\"reason\":\"\xff\"}":                         {"UTF-8"},
	} {
		s.post(path, body).invalid(words...)
	}
	s.do("POST", path, `{"reason":"r"}`).is(422).has("error.code", "IDEMPOTENCY_KEY_REQUIRED")
	s.post(path+"?really=1", `{"reason":"r"}`).invalid("really")
	s.get("/events/dlq/"+id).is(200).has("status", "OPEN").has("decision", "<none>")
	s.post(path, `{"reason":"`+strings.Repeat("理", 500)+`"}`).
		is(202).
		has("status", "SKIPPING").
		has("verdict", "<none>")
	s.dead(id, "SKIPPED")
	s.post(path, `{"reason":"again"}`).is(202).has("status", "SKIPPED")
	s.post("/events/dlq/"+id+"/redrive", "").refusedBy("dead_letter_open").has("error.details.retryAdvice",
		"do_not_retry")
	s.get("/audit").is(200).has("total", "2").has("items.0.outcome", "refused").has("items.0.reasonCode",
		"dead_letter_open").has("items.1.action", "dlq.skip")
}

func TestARedriveThatBreaksTheOrderIsRefused(t *testing.T) {
	s := withConsumers(t)
	batch := []events.Event{s.mail.OwnerChanged(own, "x"), s.mail.OwnerChanged(own, "x")}
	ids := s.deadLetter("mailer", batch...)
	s.post("/events/dlq/"+ids[1]+"/redrive", `{"dryRun":true}`).is(200).has("verdict", "BREAKS_ORDER")
	s.post("/events/dlq/"+ids[1]+"/redrive", "").refusedBy("key_order").has("error.details.state",
		`{"deadLetter":"OPEN","verdict":"BREAKS_ORDER"}`).
		has("error.message", "RedriveDeadLetter rejected because an older event of its key is still open or waits").
		has(
			"error.details.retryAdvice", "retry_after_fix")
	s.post("/events/dlq/"+ids[0]+"/redrive", "").is(202)
	s.dead(ids[0], "APPLIED")
	s.post("/events/dlq/"+ids[1]+"/redrive", "").is(202).has("verdict", "WILL_APPLY")
	s.dead(ids[1], "APPLIED")
}

func TestNobodySeesWhatIsOfAnotherTenant(t *testing.T) {
	s := withConsumers(t)
	mine, theirs := s.mail.Deleted(own, "x"), s.mail.Deleted(other, "x")
	id := s.deadLetter("search", mine, theirs)[0]
	replay := s.post("/events/replays", `{"consumer":"search","from":"2020-01-01T00:00:00Z"}`).
		is(202).
		text("replayId")
	as := []string{"X-Tenant-Id", other}
	for _, path := range []string{"/events/dlq/" + id, "/events/replays/" + replay} {
		s.get(path).is(200)
		s.get(path, as...).is(404)
	}
	for _, path := range []string{"/events/dlq/" + id + "/redrive", "/events/dlq/" + id + "/skip", "/events/replays/" +
		replay + "/stop"} {
		body := ""
		if strings.HasSuffix(path, "skip") {
			body = `{"reason":"mine?"}`
		}
		s.post(path, body, as...).is(404)
	}
	s.post("/events/dlq/"+id+"/redrive", `{"dryRun":true}`, as...).is(404).has("error.code", "DEAD_LETTER_NOT_FOUND")
	s.get("/events/dlq", as...).is(200).has("total", "1").has("items.0.eventId", theirs.ID)
	s.get("/events/dlq?key="+url.QueryEscape(mine.Key), as...).is(200).has("total", "0")
	s.get("/events/replays", as...).is(200).has("total", "0")
	s.get("/audit", as...).is(200).has("total", "0")
	s.get("/events/outbox", as...).is(200).has("items.0.eventId", theirs.ID).has("items.1", "<none>")
	s.get("/events/outbox?after=0&key="+url.QueryEscape(mine.Key), as...).is(200).has("items", "[]")
	more := s.mail.Deleted(other, "y")
	s.mail.Publish(s.mail.Deleted(own, "y"), more)
	if r := s.frames(3, "/events/stream?lastEventId=0", as...).is(200); !strings.Contains(string(r.body), theirs.ID) ||
		!strings.Contains(string(r.body), more.ID) ||
		strings.Contains(string(r.body), mine.ID) {
		t.Errorf("the stream has %s", r.body)
	}
	for _, bad := range []string{"x", "00000000-0000-0000-0000-00000000000", id + "0"} {
		s.get("/events/dlq/"+bad).is(404).has("error.code", "DEAD_LETTER_NOT_FOUND")
		s.get("/events/replays/"+bad).is(404).has("error.code", "REPLAY_NOT_FOUND")
		s.post("/events/dlq/"+bad+"/redrive", "").is(404)
	}
	s.get("/events/dlq/"+id).is(200).has("status", "OPEN")
}

func TestFiltersOfEventsAreChecked(t *testing.T) {
	s := newServer(t)
	long := strings.Repeat("k", 513)
	for path, word := range map[string]string{
		"/events/dlq?status=open": "status must be a list of OPEN, REDRIVING, SKIPPING, " +
			"APPLIED, SKIPPED, STALE, DUPLICATE",
		"/events/dlq?status=":                                "status must be a list",
		"/events/dlq?status=OPEN&status=STALE":               "status is there twice",
		"/events/dlq?consumer=a%20b":                         "consumer must be",
		"/events/dlq?consumer=":                              "consumer must be",
		"/events/dlq?eventType=%00":                          "eventType must be",
		"/events/dlq?key=":                                   "key must be 1 to 512 characters on one line",
		"/events/dlq?key=a%0Ab":                              "key must be",
		"/events/dlq?key=%00":                                "key must be",
		"/events/dlq?key=%FF":                                "key must be",
		"/events/dlq?key=" + long:                            "key must be",
		"/events/dlq?reasonClass=bad":                        "reasonClass must be",
		"/events/dlq?reasonClass=infra,auth":                 "reasonClass must be one of",
		"/events/dlq?deadFrom=yesterday":                     "deadFrom must be an RFC 3339 time",
		"/events/dlq?deadTo=":                                "deadTo must be an RFC 3339 time",
		"/events/dlq?olderThan=1h":                           "olderThan is not a known query parameter",
		"/events/dlq?page_size=9":                            "page_size must be",
		"/events/dlq/00000000-0000-7000-8000-000000000000?x": "x is not a known query parameter",
		"/events/outbox?after=-1":                            "after must be",
		"/events/outbox?after=99999999999999999999":          "after must be",
		"/events/outbox?page=2":                              "page is not a known",
		"/events/consumers?consumer=x":                       "consumer is not a known",
		"/events/stream?from=now":                            "from must be",
		"/events/stream?lastEventId=x":                       "lastEventId must be the position",
		"/events/stream?lastEventId=9223372036854775807":     "lastEventId must be the position",
		"/events/stream?lastEventId=%2B1":                    "lastEventId must be the position",
		"/events/stream?eventType=a%0Db":                     "eventType must be",
		"/events/replays?status=DONE":                        "status is not a known",
		"/audit?from=1":                                      "from must be",
		"/audit?action=a%20b":                                "action must be",
		"/audit?actor=":                                      "actor must be",
		"/audit?subject=%1B":                                 "subject must be",
		"/audit?page=10000&page_size=100":                    "a list goes back 50000 entries",
	} {
		s.get(path).invalid(word)
	}
	s.get("/events/stream", "Last-Event-ID", "-1").invalid("Last-Event-ID must be the position")
	for body, word := range map[string]string{
		``: "consumer", `{"consumer":"search"}`: "from is required",
		`{"consumer":"a b","from":"2026-01-01T00:00:00Z"}`:                           "consumer must be",
		`{"consumer":"c","from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:00Z"}`: "to must be after from",
		`{"consumer":"c","from":"soon"}`:                                             "from must be",
		`{"consumer":"c","from":"2026-01-01T00:00:00Z","to":""}`:                     "to must be",
		`{"consumer":"c","from":"2026-01-01T00:00:00Z","tenant":"x"}`:                "tenant is not a known field",
	} {
		s.post("/events/replays", body).invalid(word)
	}
	s.post("/events/replays", `{"consumer":"nobody","from":"2026-01-01T00:00:00Z"}`).is(404).has("error.code",
		"CONSUMER_NOT_FOUND")
	id := "/events/dlq/00000000-0000-7000-8000-000000000000/redrive"
	s.post(id, `{"dryRun":"yes"}`).invalid("dryRun")
	s.post(id, `{"reason":"a\u0007"}`).invalid("reason must be at most 500 characters on one line")
	s.post(id, `{"dryRun":true}`).is(404)
}

func TestAReplayIsAskedForAndStopped(t *testing.T) {
	s := withConsumers(t)
	body := `{"consumer":"search","from":"2026-01-01T00:00:00+09:00","to":"2026-01-02T00:00:00Z"}`
	first := s.postOnce("k", "/events/replays", body, "X-User-Id", "ann").is(202).has("status", "RUNNING")
	path := "/events/replays/" + first.text("replayId")
	again := s.postOnce("k", "/events/replays", body).is(200)
	if string(again.body) != string(first.body) {
		t.Errorf("answered %s, and then %s", first.body, again.body)
	}
	s.eventually(func() bool { return s.get(path).is(200).text("status") == "DONE" })
	s.get(path).has("from", "2025-12-31T15:00:00.000Z").has("counts",
		`{"applied":0,"duplicate":0,"failed":0,"stale":0}`).has("createdBy.id", "ann")
	s.post(path+"/stop", "").refusedBy("replay_running").has("error.details.state.replay", "DONE")
	s.get("/events/replays").is(200).has("total", "1")
	s.get("/audit?action=events.replay").is(200).has("total", "1").has("items.0.detail.consumer", "search").has(
		"items.0.detail.from", "2025-12-31T15:00:00.000Z")
}

func TestTheStreamOfEventsGoesOnFromAPlace(t *testing.T) {
	s := withConsumers(t)
	batch := []events.Event{s.mail.Deleted(own, "a"), s.mail.OwnerChanged(own, "b"), s.mail.Deleted(own, "c")}
	s.mail.Publish(batch...)
	whole := string(s.frames(4, "/events/stream?lastEventId=0").is(200).body)
	for i, e := range batch {
		want := fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", s.position(own, int64(i+1)), e.Type, e.AppendJSON(nil))
		if !strings.Contains(whole, want) {
			t.Errorf("there is no %s in %s", want, whole)
		}
	}
	if rest := string(s.frames(2, "/events/stream", "Last-Event-ID", s.position(own,
		2)).is(200).body); !strings.HasSuffix(whole, strings.TrimPrefix(rest, ": events\n\n")) || strings.Contains(rest,
		batch[1].ID) {
		t.Errorf("behind 2: %s", rest)
	}
	for path, e := range map[string]events.Event{
		"?lastEventId=0&eventType=OwnerChanged":                           batch[1],
		"?lastEventId=0&key=" + url.QueryEscape(batch[2].Key):             batch[2],
		"?from=2026-01-01T00:00:00Z&key=" + url.QueryEscape(batch[0].Key): batch[0],
	} {
		if r := s.frames(2, "/events/stream"+path).is(200); !strings.Contains(string(r.body), e.ID) {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	// What comes later comes, and a silent stream says where it is.
	later := s.mail.Deleted(own, "d")
	if r := s.framesOf(2, "/events/stream?lastEventId="+s.position(own, 3)+"&eventType=RecordDeleted",
		func() { s.mail.Publish(later) }).is(200); !strings.Contains(string(r.body), later.ID) &&
		!strings.Contains(string(r.body), ": still here\nid: ") {
		t.Errorf("got %s", r.body)
	}
	if r := s.frames(3, "/events/stream?lastEventId=0&eventType=LeadConverted").is(200); !strings.Contains(
		string(r.body), ": still here\nid: ") {
		t.Errorf("a silent stream: %s", r.body)
	}
}

func TestAStreamThatBeginsNowHasWhatComes(t *testing.T) {
	s := newServerWith(t, options{consumers: []bus.Consumer{{Name: "search"}}})
	s.mail.Publish(s.mail.Deleted(own, "before"))
	later := s.mail.Deleted(own, "later")
	r := s.framesOf(2, "/events/stream", func() { s.mail.Publish(later) }).is(200)
	if !strings.Contains(string(r.body), later.ID) || strings.Count(string(r.body), "data: ") != 1 {
		t.Errorf("got %s", r.body)
	}
}
