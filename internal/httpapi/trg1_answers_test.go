package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// TRG-1, TRG-2a: every answer of the document, with its message and its reason.

const (
	templateMissing = "template_conflict http_404 retry_after_fix"
	templateUnfit   = "template_conflict http_409 retry_after_fix"
	badField        = "validation http_400 retry_after_fix"
	badMonth        = "validation invalid_year_month retry_after_fix"
	badAction       = "unsupported_action http_409 retry_after_fix"
	runActive       = "run_conflict http_409 retry_with_backoff"

	msgYearMonth = "Workflow event requires valid year/month."
	msgActive    = "A run is already active for this template and month."
)

func TestAnEventStartsARunOfItsTemplate(t *testing.T) {
	s := newServer(t)
	s.template("close", "", "mf_reconcile external_event", "month_close after_previous")
	r := s.event(`{"template_id":"close","event_id":"e-1","source":"bank"}`, "X-Correlation-Id", "corr-1")
	run := r.ran(false)
	want := fmt.Sprintf(
		`{"status":"ok","duplicate":false,"triggered":true,"template_id":"close","template_name":"The close",`+
			`"action_key":"mf_reconcile","idempotency_key":"e-1","run_id":%q}`,
		run,
	)
	if string(r.body) != want {
		t.Errorf("got  %s\nwant %s", r.body, want)
	}
	again := s.event(`{"template_id":"close","event_id":"e-1","source":"bank"}`)
	if got := again.ran(true); got != run {
		t.Errorf("the duplicate has the run %s, want %s", got, run)
	}
	again.has("template_id", "close").has("template_name", "The close").has("action_key", "mf_reconcile").has(
		"idempotency_key", "e-1")

	s.get("/executions/"+run).
		is(200).
		has("status", "ACTIVE").
		has("graphId", "template:close").
		has("graphVersion", "1")
	s.get("/executions/"+run+"/events").is(200).has("items.0.correlationId", "corr-1").has("items.0.actor",
		`{"id":"bank","kind":"external"}`).
		has("items.0.payload.input",
			`{"month":2,"source":"bank","template_id":"close","template_name":"The close","year":2026}`)
	task := s.post("/tasks/claim", `{"workerId":"w","queues":["mf_reconcile"]}`).is(200)
	task.has("tasks.0.executionId", run).has("tasks.0.nodeId", "step-1").has("tasks.0.graphId", "template:close")
	s.get("/executions?graphId=template:close").is(200).has("total", "1")
	s.get("/graphs/template:close").is(200).has("graphId", "template:close")
	s.get("/graphs").is(200).has("total", "0")
	s.do("PUT", "/graphs/template:close", linear("default", "a")).is(422)
	s.post("/executions", `{"graphId":"template:close"}`).is(422)
}

func TestARunKnowsWhatTheEventSaid(t *testing.T) {
	s := newServer(t)
	s.template("close", `"year":2026,"month":2,"mfcloud_url":"https://t.example","notes":"of the template"`,
		"mf_reconcile external_event")
	for _, c := range []struct{ body, want string }{
		{
			`{"event_name":"mf_reconcile","month":3}`,
			`{"event_name":"mf_reconcile","mfcloud_url":"https://t.example","month":3,"notes":"of the template",` +
				`"template_id":"close","template_name":"The close","year":2026}`,
		},
		{
			`{"year":2027,"mfcloud_url":"https://e.example","notes":"領収書\u2028\u0000と\ncsv","source":"a\u0000b\u2028"}`,
			`{"mfcloud_url":"https://e.example","month":2,"notes":"領収書\u2028\u0000と\ncsv",` +
				`"source":"a\u0000b\u2028","template_id":"close","template_name":"The close","year":2027}`,
		},
		{
			`{"year":"2028","month":"04","mfcloud_url":"","notes":null}`,
			`{"mfcloud_url":"https://t.example","month":4,"notes":"of the template","template_id":"close",` +
				`"template_name":"The close","year":2028}`,
		},
	} {
		run := s.event(c.body).ran(false)
		s.get("/executions/"+run+"/events").is(200).has("items.0.payload.input", c.want)
	}
}

func TestTemplatesAreFoundAsTheDocumentSays(t *testing.T) {
	type stored struct{ id, first string }
	s := newServer(t)
	for _, c := range []struct {
		name      string
		templates []stored
		body      string
		status    int
		detail    string
		reason    string
	}{
		{
			"an id that does not exist",
			[]stored{{"a", "preflight external_event"}},
			`{"template_id":"x"}`, 404,
			"Workflow template not found.", templateMissing,
		},
		{
			"an id that cannot exist",
			[]stored{{"a", "preflight external_event"}},
			`{"template_id":"a\u2028b"}`, 404,
			"Workflow template not found.", templateMissing,
		},
		{
			"an id that exists and a name that does not match",
			[]stored{{"a", "preflight external_event"}},
			`{"template_id":"a","event_name":"other"}`, 200, "", "",
		},
		{
			"an id of another first step",
			[]stored{{"a", "preflight manual"}},
			`{"template_id":"a"}`, 409,
			"Template step 1 must use trigger_kind=external_event.", templateUnfit,
		},
		{
			"an id of another first step, with its name",
			[]stored{{"a", "preflight after_previous"}},
			`{"template_id":"a","event_name":"preflight"}`, 409,
			"Template step 1 must use trigger_kind=external_event.", templateUnfit,
		},
		{
			"a name that matches none",
			[]stored{{"a", "preflight external_event"}},
			`{"event_name":"other"}`, 404,
			"No external_event workflow template matched event_name.", templateMissing,
		},
		{
			"a name that cannot be one",
			[]stored{{"a", "preflight external_event"}},
			`{"event_name":"a b"}`, 404,
			"No external_event workflow template matched event_name.", templateMissing,
		},
		{
			"a name in another case",
			[]stored{{"a", "preflight external_event"}},
			`{"event_name":"Preflight"}`, 404,
			"No external_event workflow template matched event_name.", templateMissing,
		},
		{
			"a name of another kind of step",
			[]stored{{"a", "preflight manual"}},
			`{"event_name":"preflight"}`, 404,
			"No external_event workflow template matched event_name.", templateMissing,
		},
		{
			"a name that matches two",
			[]stored{{"a", "preflight external_event"}, {"b", "preflight external_event"}},
			`{"event_name":"preflight"}`, 409, "Multiple templates matched event_name. Specify template_id.",
			templateUnfit,
		},
		{"a name that matches one of two", []stored{
			{"a", "preflight external_event"},
			{"b", "month_close external_event"},
		}, `{"event_name":"month_close"}`, 200, "", ""},
		{
			"a name that matches one of each kind",
			[]stored{{"a", "preflight external_event"}, {"b", "preflight manual"}},
			`{"event_name":"preflight"}`, 200, "", "",
		},
		{
			"neither, and there is none", nil, `{}`, 404, "No external_event workflow template was found.",
			templateMissing,
		},
		{
			"neither, and none fits",
			[]stored{{"a", "preflight manual"}},
			``, 404,
			"No external_event workflow template was found.", templateMissing,
		},
		{
			"neither, and one fits",
			[]stored{{"a", "preflight external_event"}, {"b", "preflight manual"}},
			``, 200, "",
			"",
		},
		{
			"neither, and two fit",
			[]stored{{"a", "preflight external_event"}, {"b", "month_close external_event"}},
			`{"template_id":"","event_name":null}`, 409,
			"Multiple external_event templates found. Specify template_id.", templateUnfit,
		},
		{
			"an action that is not executable",
			[]stored{{"a", "send_mail external_event"}},
			`{"template_id":"a"}`, 409,
			"external_event action is not executable in MVP: send_mail", badAction,
		},
		{
			"an action that is not executable, before the month",
			[]stored{{"a", "send_mail external_event"}},
			`{"month":13}`, 409, "external_event action is not executable in MVP: send_mail", badAction,
		},
		{
			"no template, before the month",
			[]stored{{"a", "preflight external_event"}},
			`{"template_id":"x","month":13}`,
			404, "Workflow template not found.", templateMissing,
		},
	} {
		s.elsewhere()
		for _, stored := range c.templates {
			s.template(stored.id, "", stored.first)
		}
		r := s.event(c.body).of(c.name)
		if c.status == 200 {
			r.ran(false)
			continue
		}
		r.refused(c.status, c.detail, c.reason)
		s.get("/executions").of(c.name).has("total", "0")
		s.get("/audit?action=workflow_event").of(c.name).has("total", "1").has("items.0.outcome", "refused").has(
			"items.0.reason", c.detail).
			has("items.0.reasonCode", strings.Fields(c.reason)[1])
	}
}

func TestAnyExecutableActionCanBeConfigured(t *testing.T) {
	o := options{}
	o.trigger.Actions = []string{"send_mail"}
	s := newServerWith(t, o)
	s.template("a", "", "send_mail external_event")
	s.template("b", "", "preflight external_event")
	s.event(`{"template_id":"a"}`).ran(false)
	s.event(`{"template_id":"b"}`).
		refused(409, "external_event action is not executable in MVP: preflight", badAction)
}

func TestYearAndMonthFallBackFieldByField(t *testing.T) {
	s := newServer(t)
	for _, c := range []struct {
		template, body string
		want           string // "year month", "" when it is refused
	}{
		{`"year":2026,"month":2`, `{}`, "2026 2"},
		{`"year":2026,"month":2`, `{"year":2027}`, "2027 2"},
		{`"year":2026,"month":2`, `{"month":3}`, "2026 3"},
		{`"year":2026,"month":2`, `{"year":2027,"month":3}`, "2027 3"},
		{`"year":2026,"month":2`, `{"year":null,"month":""}`, "2026 2"},
		{`"year":2026,"month":2`, `{"year":"2027","month":"12"}`, "2027 12"},
		{`"year":2026,"month":2`, `{"year":2027.0,"month":1e0}`, "2027 1"},
		{`"year":2026`, `{"month":1}`, "2026 1"},
		{`"month":1`, `{"year":2000}`, "2000 1"},
		{`"notes":""`, `{"year":9999,"month":12}`, "9999 12"},
		{`"notes":""`, `{}`, ""},
		{`"year":2026`, `{}`, ""},
		{`"month":2`, `{}`, ""},
		{`"year":2026,"month":2`, `{"year":1999}`, ""},
		{`"year":2026,"month":2`, `{"year":0}`, ""},
		{`"year":2026,"month":2`, `{"year":-2026}`, ""},
		{`"year":2026,"month":2`, `{"month":0}`, ""},
		{`"year":2026,"month":2`, `{"month":13}`, ""},
		{`"year":2026,"month":2`, `{"month":1.5}`, ""},
		{`"year":2026,"month":2`, `{"year":"abc"}`, ""},
		{`"year":2026,"month":2`, `{"year":"2026年"}`, ""},
		{`"year":2026,"month":2`, `{"year":" 2026"}`, ""},
		{`"year":2026,"month":2`, `{"month":"二"}`, ""},
		{`"year":2026,"month":2`, `{"year":1e400}`, ""},
		{`"year":2026,"month":2`, `{"year":99999999999999999999}`, ""},
	} {
		s.elsewhere()
		s.template("a", c.template, "preflight external_event")
		r := s.event(c.body).of(c.template + " with " + c.body)
		if c.want == "" {
			r.refused(400, msgYearMonth, badMonth)
			continue
		}
		run := r.ran(false)
		in := s.get("/executions/" + run + "/events").is(200)
		if got := in.text("items.0.payload.input.year") + " " + in.text("items.0.payload.input.month"); got != c.want {
			t.Errorf("%s with %s: got %s, want %s", c.template, c.body, got, c.want)
		}
	}
}
