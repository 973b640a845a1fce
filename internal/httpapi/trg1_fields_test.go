package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// TRG-1, TRG-3: spellings, precedence, and bad input.

func TestEveryFieldHasItsSpellings(t *testing.T) {
	s := newServer(t)
	for _, c := range []struct {
		name, body string
		header     []string
		path, want string // in the summary's newest delivery
	}{
		{"template_id", `{"template_id":"a"}`, nil, "template_id", "a"},
		{"templateId", `{"templateId":"a"}`, nil, "template_id", "a"},
		{"template_id goes before templateId", `{"templateId":"x","template_id":"a"}`, nil, "template_id", "a"},
		{"an empty template_id does not", `{"templateId":"a","template_id":""}`, nil, "template_id", "a"},
		{"a template_id of null does not", `{"templateId":"a","template_id":null}`, nil, "template_id", "a"},
		{"event_name", `{"event_name":"preflight"}`, nil, "event_name", "preflight"},
		{"eventName", `{"eventName":"preflight"}`, nil, "event_name", "preflight"},
		{
			"event_name goes before eventName", `{"eventName":"x","event_name":"preflight"}`, nil, "event_name",
			"preflight",
		},
		{"an empty event_name does not", `{"eventName":"preflight","event_name":""}`, nil, "event_name", "preflight"},
		{"source", `{"source":"bank"}`, nil, "source", "bank"},
		{"event_source", `{"event_source":"bank"}`, nil, "source", "bank"},
		{"source goes before event_source", `{"event_source":"x","source":"bank"}`, nil, "source", "bank"},
		{"an empty source does not", `{"event_source":"bank","source":""}`, nil, "source", "bank"},
		{"eventSource is no spelling", `{"eventSource":"bank"}`, nil, "source", "null"},
		{"mfcloudUrl is no spelling", `{"mfcloudUrl":5}`, nil, "status", "success"},
		{"what nobody knows is ignored", `{"amount":1,"lines":[{}],"Template_ID":"x"}`, nil, "status", "success"},
		{"idempotency_key", `{"idempotency_key":"k"}`, nil, "idempotency_key", "k"},
		{"idempotencyKey", `{"idempotencyKey":"k"}`, nil, "idempotency_key", "k"},
		{"event_id", `{"event_id":"k"}`, nil, "idempotency_key", "k"},
		{"eventId", `{"eventId":"k"}`, nil, "idempotency_key", "k"},
		{"the header", `{}`, []string{"x-idempotency-key", "k"}, "idempotency_key", "k"},
		{"no key", `{}`, nil, "idempotency_key", "null"},
	} {
		s.elsewhere()
		s.template("a", "", "preflight external_event")
		s.event(c.body, c.header...).of(c.name).ran(false)
		s.summary("").of(c.name).has("recent.0."+c.path, c.want)
	}
}

func TestTheFirstKeyThatIsNotEmptyCounts(t *testing.T) {
	sources := []string{"idempotency_key", "idempotencyKey", "event_id", "eventId", "x-idempotency-key"}
	s := newServer(t)
	s.template("a", "", "preflight external_event")
	month := 0
	// send delivers an event for a month of its own that has these keys.
	send := func(keys map[string]string) reply {
		month++
		body, header := fmt.Sprintf(`{"year":%d,"month":1`, 2000+month), []string(nil)
		for source, key := range keys {
			if source == "x-idempotency-key" {
				header = []string{source, key}
				continue
			}
			body += fmt.Sprintf(`,%q:%q`, source, key)
		}
		return s.event(body+"}", header...)
	}
	for i, first := range sources {
		for _, second := range sources[i+1:] {
			key := first + ":" + second
			send(map[string]string{first: key, second: "other-" + key}).has("idempotency_key", key).ran(false)
			send(map[string]string{first: "", second: key + ":2"}).has("idempotency_key", key+":2").ran(false)
			// A key that is none hides those behind it: it is the first that is not empty.
			r := send(map[string]string{first: "not a key", second: key + ":3"})
			r.has("idempotency_key", "<none>").ran(false)
		}
	}
}

func TestAKeyThatIsNoneCountsAsNone(t *testing.T) {
	long := strings.Repeat("k", 128)
	s := newServer(t)
	s.template("a", "", "preflight external_event")
	for i, c := range []struct {
		key   string
		valid bool
	}{
		{"k", true},
		{long, true},
		{"AZaz09._:@-", true},
		{long + "k", false},
		{"a b", false},
		{" a", false},
		{"a/b", false},
		{"a+b", false},
		{"鍵", false},
		{"é", false},
		{"a\u2028b", false},
		{"a\x00b", false},
		{"a\nb", false},
	} {
		send := func(month int) reply {
			return s.event(fmt.Sprintf(`{"year":%d,"month":%d,"event_id":%s}`, 2026+i, month, quote(c.key)))
		}
		first, second := send(1), send(2)
		run := first.ran(false)
		if !c.valid {
			first.has("idempotency_key", "<none>")
			second.ran(false)
			continue
		}
		first.has("idempotency_key", c.key)
		if got := second.ran(true); got != run {
			t.Errorf("%q: got run %s, want %s", c.key, got, run)
		}
	}
}

func TestBadInputIsRefusedWithAMessageThatNamesTheField(t *testing.T) {
	s := newServer(t)
	s.template("a", "", "preflight external_event")
	text := func(n int) string { return `"` + strings.Repeat("語", n) + `"` }
	for _, c := range []struct{ body, detail string }{
		{`[]`, "the body must be an object"},
		{`"x"`, "the body must be an object"},
		{`null`, "the body must be an object"},
		{`{`, ""},
		{`{"a":1,"a":2}`, ""},
		{`{"template_id":"a"} {}`, ""},
		{"{\"notes\":\"\xff\"}", ""},
		{`{"notes":"\ud800"}`, ""},
		{strings.Repeat("[", 100_000), ""},
		{`{"template_id":5}`, "template_id must be a string"},
		{`{"templateId":[]}`, "templateId must be a string"},
		{`{"template_id":"a","templateId":{}}`, "templateId must be a string"},
		{`{"event_name":true}`, "event_name must be a string"},
		{`{"eventName":1}`, "eventName must be a string"},
		{`{"source":{}}`, "source must be a string"},
		{`{"event_source":[]}`, "event_source must be a string"},
		{`{"idempotency_key":5}`, "idempotency_key must be a string"},
		{`{"idempotencyKey":5}`, "idempotencyKey must be a string"},
		{`{"event_id":5}`, "event_id must be a string"},
		{`{"eventId":false}`, "eventId must be a string"},
		{`{"mfcloud_url":5}`, "mfcloud_url must be a string"},
		{`{"notes":[]}`, "notes must be a string"},
		{`{"year":true}`, "year must be a whole number"},
		{`{"year":[2026]}`, "year must be a whole number"},
		{`{"month":{}}`, "month must be a whole number"},
		{`{"template_id":` + text(256) + `}`, "template_id is longer than 255 characters"},
		{`{"event_name":` + text(256) + `}`, "event_name is longer than 255 characters"},
		{`{"source":` + text(256) + `}`, "source is longer than 255 characters"},
		{`{"mfcloud_url":` + text(2049) + `}`, "mfcloud_url is longer than 2048 characters"},
		{`{"notes":` + text(2731) + `}`, "notes are longer than 8192 bytes"},
	} {
		r := s.event(c.body)
		shown := fmt.Sprintf("%.60s", c.body)
		if c.detail != "" {
			r.refused(400, c.detail, badField)
		} else if r.is(400).because(badField); r.text("detail") == "" {
			t.Errorf("%s: there is no message", shown)
		}
		s.get("/audit?action=workflow_event").has("items.0.outcome", "refused").has("items.0.reasonCode",
			"http_400").has("items.0.reason", r.text("detail"))
	}
	s.get("/executions").has("total", "0")
	// The largest that are taken.
	s.event(`{"source":` + text(255) + `,"mfcloud_url":` + text(2048) + `,"notes":` + text(2730) + `}`).ran(false)
	s.summary("").has("recent.0.source", strings.Repeat("語", 255))
}

func TestAnUnreadableDeliveryIsRefusedAndAudited(t *testing.T) {
	s := newServer(t)
	s.template("a", "", "preflight external_event")
	for _, c := range []struct {
		path, body string
		header     []string
		status     int
		reason     string
	}{
		{
			eventsPath, "a=b",
			[]string{"Content-Type", "application/x-www-form-urlencoded"},
			415,
			"validation http_415 retry_after_fix",
		},
		{
			eventsPath, "{}",
			[]string{"Content-Type", "application/json; charset=latin1"},
			415,
			"validation http_415 retry_after_fix",
		},
		{eventsPath, strings.Repeat(" ", 1<<20+1), nil, 413, "validation http_413 retry_after_fix"},
		{eventsPath + "?a=%zz", "{}", nil, 400, badField},
		{eventsPath, "{}", []string{"X-Tenant-Id", "acme"}, 400, badField},
		{eventsPath, "{}", []string{"X-Correlation-Id", "é"}, 400, badField},
	} {
		r := s.do("POST", c.path, c.body, c.header...).is(c.status).because(c.reason)
		words := strings.Fields(c.reason)
		s.get("/audit?action=workflow_event").has("items.0.outcome", "refused").has("items.0.reasonClass",
			words[0]).has("items.0.reasonCode", words[1]).
			has("items.0.retryAdvice", words[2]).has("items.0.reason", r.text("detail"))
	}
	s.summary("").has("total", "6").has("by_status.rejected", "6")
	s.event("{}", "Content-Type", "application/json; charset=utf-8").ran(false)
	s.do("POST", eventsPath+"?utm=1", `{"month":3}`).ran(false)
}

func TestNothingElseIsAtThePathsOfWorkflowEvents(t *testing.T) {
	s := newServer(t)
	s.get(eventsPath).refused(405, "this path has only POST", "validation http_405 retry_after_fix")
	s.get(eventsPath+"/nothing").refused(404, "there is nothing at this path", "validation http_404 retry_after_fix")
	s.do("POST", templatesPath+"a", "{}").refused(405, "this path has only DELETE, GET, HEAD, PUT",
		"validation http_405 retry_after_fix")
	s.get("/audit?action=workflow_event").has("total", "0")
}

// quote is a JSON text.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' || r == '\u2028' {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String() + `"`
}
