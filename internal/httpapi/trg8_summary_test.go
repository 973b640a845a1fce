package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TRG-8, TRG-8a: the audit log of deliveries and the month's summary.

func TestAnEmptyMonthHasAllItsMembers(t *testing.T) {
	s := newServer(t)
	got := s.get(eventsPath + "/summary?ym=2026-02").is(200)
	want := `{"status":"ok","ym":"2026-02","event_type":"workflow_event","total":0,` +
		`"by_status":{"success":0,"skipped":0,"rejected":0,"failed":0,"unknown":0},"by_reason_class":{},` +
		`"by_reason_code":{},"by_retry_advice":{},` +
		`"duplicate":{"true":0,"false":0,"unknown":0},"recent":[],"receipt_retention":{"ttl_days":90,` +
		`"max_receipts":1000}}`
	if string(got.body) != want {
		t.Errorf("got  %s\nwant %s", got.body, want)
	}
}

// Section 7: the details say what a delivery was about, also one whose fields were refused.
func TestADeliveryWithABadFieldIsInTheLogWithItsOthers(t *testing.T) {
	s := newServer(t)
	s.event(`{"template_id":"a","eventName":"b","event_source":"bank","event_id":"k","notes":"` + strings.Repeat("x",
		8193) + `"}`).is(400)
	s.summary("").has("recent.0.template_id", "a").has("recent.0.event_name", "b").has("recent.0.source", "bank").has(
		"recent.0.idempotency_key", "k").
		has("recent.0.reason", "notes are longer than 8192 bytes").has("recent.0.reason_code", "http_400").has(
		"recent.0.duplicate", "false")
	s.get("/audit?action=workflow_event&actor=bank").is(200).has("total", "1")
}

func TestASummaryCountsWhatBecameOfEachDelivery(t *testing.T) {
	s := newServer(t)
	s.template("a", "", "preflight external_event")
	s.template("b", "", "send_mail external_event")
	for _, body := range []string{
		`{"template_id":"a","event_id":"k","source":"bank"}`, // success
		`{"template_id":"a","event_id":"k"}`,                 // skipped
		`{"template_id":"a","event_id":"k"}`,                 // skipped
		`{"template_id":"a","event_id":"l"}`,                 // run_conflict
		`{"template_id":"x"}`, `{}`,                          // template_conflict, twice
		`{"template_id":"b"}`,                                // unsupported_action
		`{`, `{"year":{}}`, `{"template_id":"a","month":13}`, // validation, three times
	} {
		s.event(body)
	}
	r := s.summary("")
	for _, want := range []string{
		`"total":10,`,
		`"by_status":{"success":1,"skipped":2,"rejected":7,"failed":0,"unknown":0}`,
		`"by_reason_class":{"validation":3,"template_conflict":2,"run_conflict":1,"unsupported_action":1}`,
		`"by_reason_code":{"http_409":3,"duplicate_idempotency_key":2,"http_400":2,"http_404":1,` +
			`"invalid_year_month":1}`,
		`"by_retry_advice":{"retry_after_fix":6,"do_not_retry":2,"retry_with_backoff":1}`,
		`"duplicate":{"true":2,"false":8,"unknown":0}`,
	} {
		if !strings.Contains(string(r.body), want) {
			t.Errorf("the summary lacks %s:\n%s", want, r.body)
		}
	}
	r.has("recent.9.status", "success").
		has("recent.9.action", "preflight").
		has("recent.9.template_name", "The a").
		has(
			"recent.9.source", "bank").
		has("recent.9.reason", "null").
		has("recent.9.reason_class", "null").
		has("recent.9.reason_code", "null").
		has(
			"recent.9.retry_advice", "null").
		has("recent.9.duplicate", "false")
	r.has("recent.8.status", "skipped").has("recent.8.run_id", r.text("recent.9.run_id")).has("recent.8.duplicate",
		"true").has("recent.8.reason_class", "null").
		has("recent.8.reason_code", "duplicate_idempotency_key").has("recent.8.retry_advice", "do_not_retry")
	r.has("recent.6.status", "rejected").has("recent.6.reason", msgActive).has("recent.6.reason_class",
		"run_conflict").has("recent.6.idempotency_key", "l").has("recent.6.run_id", "null")
	r.has("recent.0.reason", msgYearMonth).has("recent.0.template_id", "a").has("recent.0.action", "preflight")
	r.has("recent.10", "<none>")

	log := s.get("/audit?action=workflow_event").is(200).has("total", "10")
	for i := range 10 {
		at := fmt.Sprintf("%d", i)
		if log.text("items."+at+".at") != r.text("recent."+at+".at") || log.text("items."+at+".reason") == "<none>" &&
			r.text("recent."+at+".reason") != "null" {
			t.Errorf("the audit log and the summary differ at %d:\n%s\n%s", i, log.body, r.body)
		}
	}
	log.has("items.9.outcome", "accepted").has("items.9.subject", r.text("recent.9.run_id")).has(
		"items.9.detail.template_id", "a").has("items.9.detail.template_name", "The a").
		has("items.9.detail.source", "bank").
		has("items.9.detail.idempotency_key", "k").has("items.9.detail.event_name",
		"null").has("items.9.detail.duplicate", "false")
	log.has("items.9.actor", `{"id":"bank","kind":"external"}`).has("items.8.actor", `{"kind":"external"}`)
	log.has("items.8.outcome", "skipped").has("items.8.detail.duplicate", "true")
	s.get(eventsPath+"/summary?ym="+s.month(), "X-Tenant-Id", other).is(200).has("total", "0")
}

func TestRecentIsNewestFirstAndLimited(t *testing.T) {
	s := newServer(t)
	for i := range 25 {
		s.event(fmt.Sprintf(`{"template_id":"t-%d"}`, i)).is(404)
	}
	s.summary("").has("recent.0.template_id", "t-24").has("recent.19.template_id", "t-5").has("recent.20",
		"<none>").has("total", "25")
	s.summary("&recent_limit=1").has("recent.0.template_id", "t-24").has("recent.1", "<none>")
	s.summary("&recent_limit=200").has("recent.24.template_id", "t-0").has("recent.25", "<none>")
}

func TestAMonthIsThatOfTheDeliveryInUTC(t *testing.T) {
	s := newServer(t)
	now := s.clock.Now().UTC()
	next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	s.advance(next.Sub(s.clock.Now()) - time.Minute)
	s.event(`{"template_id":"before"}`).is(404)
	s.advance(2 * time.Minute)
	s.event(`{"template_id":"after"}`).is(404)
	for month, want := range map[string]string{now.Format("2006-01"): "before", next.Format("2006-01"): "after"} {
		s.get(eventsPath+"/summary?ym="+month).is(200).has("total", "1").has("recent.0.template_id", want).has(
			"recent.1", "<none>").has("ym", month)
	}
}

func TestASummaryRefusesAQueryThatBreaksARule(t *testing.T) {
	s := newServer(t)
	for _, c := range []struct{ query, detail string }{
		{"", "ym is required: the month as YYYY-MM, such as 2026-01"},
		{"?ym=", "ym must be a month as YYYY-MM, such as 2026-01"},
		{"?ym=2026", "ym must be a month as YYYY-MM, such as 2026-01"},
		{"?ym=2026-1", "ym must be a month as YYYY-MM, such as 2026-01"},
		{"?ym=2026-13", "ym must be a month as YYYY-MM, such as 2026-01"},
		{"?ym=2026-00", "ym must be a month as YYYY-MM, such as 2026-01"},
		{"?ym=0000-01", "ym must be a month as YYYY-MM, such as 2026-01"},
		{"?ym=2026-01-01", "ym must be a month as YYYY-MM, such as 2026-01"},
		{"?ym=%EF%BC%92026-01", "ym must be a month as YYYY-MM, such as 2026-01"},
		{"?ym=2026-01&ym=2026-02", "ym is there twice"},
		{"?ym=2026-01&recent_limit=0", "recent_limit must be a whole number between 1 and 200"},
		{"?ym=2026-01&recent_limit=201", "recent_limit must be a whole number between 1 and 200"},
		{"?ym=2026-01&recent_limit=", "recent_limit must be a whole number between 1 and 200"},
		{"?ym=2026-01&recent_limit=x", "recent_limit must be a whole number between 1 and 200"},
		{"?ym=2026-01&limit=5", "limit is not a known query parameter"},
		{"?ym=%zz", "the query string is malformed"},
	} {
		s.get(eventsPath+"/summary"+c.query).refused(400, c.detail, badField)
	}
	s.get("/audit?action=workflow_event").has("total", "0")
}
