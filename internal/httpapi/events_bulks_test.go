package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/events"
)

func TestDeadLettersAreDecidedAboutInABulk(t *testing.T) {
	s := withConsumers(t)
	var batch []events.Event
	for i := range 12 {
		batch = append(batch, s.mail.Deleted(own, fmt.Sprint("x", i)))
	}
	ids := s.deadLetter("search", batch...)
	s.mail.Fail(batch[3].Key)
	r := s.post("/events/bulks",
		`{"command":"dlq.redrive","filter":{"consumer":"search","reasonClass":"infra"},"reason":"back"}`, "X-User-Id",
		"ann").
		is(202).has("status", "PREVIEW").has("total", "12")
	path := "/events/bulks/" + r.text("bulkId")
	late := s.deadLetter("search", s.mail.Deleted(own, "late"))[0] // not in the set
	s.get(path+"/items?page_size=10&page=2").is(200).has("total", "12").has("items.1.status", "PENDING").
		has("items.1.foreseen", `{"status":"OPEN","verdict":"WILL_APPLY"}`).has("items.1.result", "<none>")
	s.get(path).is(200).has("filter", `{"consumer":"search","reasonClass":"infra"}`).has("command", "dlq.redrive").has(
		"createdBy.id", "ann").has("reason", "back")
	s.post(path+"/start", "", "X-User-Id", "bob").is(202).has("status", "RUNNING")
	s.eventually(func() bool { return s.get(path).is(200).text("status") == "DONE" })
	s.get(path).counts(0, 11, 0, 0, 1)
	s.get(path+"/items?status=FAILED").is(200).has("total", "1").has("items.0.deadLetterId", ids[3]).has(
		"items.0.result.status", "OPEN").
		has("items.0.result.message", "it died again: the index is away")
	s.get(path+"/items?status=APPLIED").is(200).has("total", "11").has("items.0.result",
		`{"status":"APPLIED","verdict":"WILL_APPLY"}`).has("items.0.foreseen", "<none>")
	s.dead(ids[0], "APPLIED").has("decision.bulkId", r.text("bulkId")).has("decision.by.id", "bob")
	s.get("/events/dlq").is(200).has("total", "2")
	s.get("/audit?actor=bob").is(200).has("total", "12").has("items.0.reason", "back").has("items.0.detail.bulkId",
		r.text("bulkId"))

	skip := s.post("/events/bulks", `{"command":"dlq.skip","filter":{},"reason":"given up"}`).is(202).has("total",
		"2").text("bulkId")
	s.post("/events/bulks/"+skip+"/start", "").is(202)
	s.eventually(func() bool { return s.get("/events/bulks/"+skip).is(200).text("status") == "DONE" })
	s.get("/events/bulks/"+skip).counts(0, 2, 0, 0, 0)
	s.dead(late, "SKIPPED")
	s.get("/events/bulks").is(200).has("total", "2").has("items.0.bulkId", skip).has("items.1.command", "dlq.redrive")
}

func TestBulksOfOneSurfaceDoNotExistInTheOther(t *testing.T) {
	s := newServer(t)
	cancels := s.freeze(`{}`).id
	skips := s.post("/events/bulks", `{"command":"dlq.skip","filter":{},"reason":"r"}`).is(202).has("total", "0").text(
		"bulkId")
	for id, at := range map[string]string{cancels: "/events/bulks/", skips: "/bulks/"} {
		for _, path := range []string{"", "/items"} {
			s.get(at+id+path).is(404).has("error.code", "BULK_NOT_FOUND")
		}
		for _, path := range []string{"/start", "/stop"} {
			s.post(at+id+path, "").is(404).has("error.code", "BULK_NOT_FOUND")
		}
	}
	s.get("/bulks").is(200).has("total", "1").has("items.0.bulkId", cancels)
	s.get("/events/bulks").is(200).has("total", "1").has("items.0.bulkId", skips)
	s.get("/events/bulks", "X-Tenant-Id", other).is(200).has("total", "0")
	s.get("/events/bulks/"+skips, "X-Tenant-Id", other).is(404)
}

func TestTheBodyOfABulkAboutDeadLettersIsChecked(t *testing.T) {
	s := newServer(t)
	for body, word := range map[string]string{
		``:                                   "command must be dlq.redrive or dlq.skip",
		`{"command":"cancel"}`:               "command must be dlq.redrive or dlq.skip",
		`{"command":"dlq.skip"}`:             "filter is required",
		`{"command":"dlq.skip","filter":{}}`: "a skip needs a reason",
		`{"command":"dlq.skip","filter":{},"reason":" "}`:       "a skip needs a reason",
		`{"command":"dlq.redrive","filter":{},"reason":"a\nb"}`: "reason must be at most 500 characters on one line",
		`{"command":"dlq.redrive","filter":{},"reason":"` + strings.Repeat("x", 501) +
			`"}`: "reason must be at most 500",
		`{"command":"dlq.redrive","filter":{"status":["OPEN"]}}`:    "filter.status is not a known field",
		`{"command":"dlq.redrive","filter":{"consumer":""}}`:        "filter.consumer must be",
		`{"command":"dlq.redrive","filter":{"eventType":"a b"}}`:    "filter.eventType must be",
		`{"command":"dlq.redrive","filter":{"key":"\u0000"}}`:       "filter.key must be",
		`{"command":"dlq.redrive","filter":{"reasonClass":"none"}}`: "filter.reasonClass must be one of",
		`{"command":"dlq.redrive","filter":{"deadFrom":"1h"}}`:      "filter.deadFrom must be",
		`{"command":"dlq.redrive","filter":{"deadTo":null}}`:        "filter.deadTo",
	} {
		s.post("/events/bulks", body).invalid(word)
	}
	s.do("POST", "/events/bulks", `{"command":"dlq.redrive","filter":{}}`).is(422).has("error.code",
		"IDEMPOTENCY_KEY_REQUIRED")
	first := s.postOnce("k", "/events/bulks", `{"command":"dlq.redrive","filter":{}}`).is(202)
	again := s.postOnce("k", "/events/bulks", `{"filter":{},"command":"dlq.redrive"}`).is(200)
	if string(first.body) != string(again.body) {
		t.Errorf("answered %s, and then %s", first.body, again.body)
	}
	s.postOnce("k", "/events/bulks", `{"command":"dlq.redrive","filter":{"consumer":"c"}}`).is(409).has("error.code",
		"IDEMPOTENCY_CONFLICT")
}
