package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// TRG-4: templates.

func TestATemplateIsStoredReadListedAndDeleted(t *testing.T) {
	s := newServer(t)
	body := `{"name":"月次締め","year":2026,"month":2,"mfcloud_url":"https://m.example","notes":"a\nb","steps":[` +
		`{"action":"mf_reconcile","trigger_kind":"external_event","title":"Reconcile","timeout":"90s",` +
		`"retry":{"maxAttempts":3}},{"action":"month_close","trigger_kind":"manual"}]}`
	first := s.do("PUT", templatesPath+"close", body).is(201)
	first.has("id", "close").has("name", "月次締め").has("year", "2026").has("month", "2").has("graph_version", "1").
		has("steps.0.title", "Reconcile").has("steps.0.timeout", "1m30s").has("steps.0.retry.maxAttempts", "3").has(
		"steps.1.trigger_kind", "manual")
	if again := s.do("PUT", templatesPath+"close", body).is(200); string(again.body) != string(first.body) {
		t.Errorf("the same again: got %s, want %s", again.body, first.body)
	}
	if read := s.get(templatesPath + "close").is(200); string(read.body) != string(first.body) {
		t.Errorf("read: got %s, want %s", read.body, first.body)
	}
	s.do("PUT", templatesPath+"close", strings.Replace(body, "90s", "2m", 1)).is(200).has("graph_version", "2").has(
		"created_at", first.text("created_at"))
	for i := range 11 {
		s.template(fmt.Sprintf("t-%02d", i), "", "preflight manual")
	}
	s.get("/api/workflow-templates?page_size=10").is(200).has("total", "12").has("page", "1").has("page_size",
		"10").has("items.0.id", "close").has("items.9.id", "t-08")
	s.get("/api/workflow-templates?page_size=10&page=2").is(200).has("items.1.id", "t-10").has("items.2", "<none>")
	s.get("/api/workflow-templates", "X-Tenant-Id", other).is(200).has("total", "0").has("items", "[]")
	s.get(templatesPath+"close", "X-Tenant-Id", other).refused(404, "Workflow template not found.", templateMissing)
	s.do("DELETE", templatesPath+"close", "", "X-Tenant-Id", other).refused(404, "Workflow template not found.",
		templateMissing)

	run := s.event(`{"template_id":"close"}`).ran(false)
	if r := s.do("DELETE", templatesPath+"close", "").is(204); len(r.body) > 0 {
		t.Errorf("got %s", r.body)
	}
	s.do("DELETE", templatesPath+"close", "").refused(404, "Workflow template not found.", templateMissing)
	s.get(templatesPath+"close").refused(404, "Workflow template not found.", templateMissing)
	s.event(`{"template_id":"close"}`).refused(404, "Workflow template not found.", templateMissing)
	s.get("/executions/"+run).is(200).has("status", "ACTIVE")
}

func TestARunGoesThroughTheStepsOfItsTemplate(t *testing.T) {
	s := newServer(t)
	s.template("close", "", "mf_reconcile external_event", "amazon_print after_previous", "month_close manual")
	run := s.event("{}").ran(false)
	work := func(queue, node string) {
		t.Helper()
		s.post("/tasks/claim", fmt.Sprintf(`{"workerId":"w","queues":[%q]}`, queue)).
			is(200).
			has("tasks.0.nodeId", node)
		s.post("/executions/"+run+"/nodes/"+node+"/success", `{"workerId":"w","attempt":1}`).is(202)
	}
	work("mf_reconcile", "step-1")
	work("amazon_print", "step-2")
	s.post("/tasks/claim", `{"workerId":"w","queues":["month_close"]}`).is(200).has("tasks", "[]")
	s.post("/executions/"+run+"/nodes/step-3-wait/resume", `{"resumeKey":"step-3"}`).is(202)
	work("month_close", "step-3")
	s.get("/executions/"+run).is(200).has("status", "COMPLETED")
	s.event("{}").ran(false) // the month is free again
}

func TestARunKeepsTheGraphThatItWasStartedWith(t *testing.T) {
	s := newServer(t)
	s.template("a", "", "preflight external_event")
	old := s.event(`{"month":1}`).ran(false)
	s.template("a", "", "preflight external_event", "month_close after_previous")
	s.get("/executions/"+old).is(200).has("graphVersion", "1")
	s.get("/executions/"+s.event(`{"month":2}`).ran(false)).is(200).has("graphVersion", "2")
	s.template("a", "", "preflight external_event") // as it was at first
	s.get("/executions/"+s.event(`{"month":3}`).ran(false)).is(200).has("graphVersion", s.get(templatesPath+"a").text(
		"graph_version"))
}

func TestATemplateThatBreaksARuleIsRefusedAndNamesTheMember(t *testing.T) {
	s := newServer(t)
	steps := `[{"action":"preflight","trigger_kind":"external_event"}]`
	for _, c := range []struct{ body, words string }{
		{``, ""},
		{`[]`, ""},
		{`{"name":"A","steps":` + steps + `,"name":"B"}`, "name"},
		{`{"steps":` + steps + `}`, "name"},
		{`{"name":"","steps":` + steps + `}`, "name"},
		{`{"name":5,"steps":` + steps + `}`, "name"},
		{`{"name":"a\nb","steps":` + steps + `}`, "name"},
		{`{"name":"a\u2028b","steps":` + steps + `}`, "name"},
		{`{"name":"` + strings.Repeat("名", 256) + `","steps":` + steps + `}`, "name"},
		{`{"name":"A"}`, "steps"},
		{`{"name":"A","steps":[]}`, "steps"},
		{`{"name":"A","steps":{}}`, "steps"},
		{`{"name":"A","steps":[` + strings.TrimSuffix(strings.Repeat(`{"action":"a","trigger_kind":"manual"},`, 101),
			",") + `]}`, "steps"},
		{`{"name":"A","Year":2026,"steps":` + steps + `}`, "Year"},
		{`{"name":"A","year":1999,"steps":` + steps + `}`, "year"},
		{`{"name":"A","year":"2026","steps":` + steps + `}`, "year"},
		{`{"name":"A","month":0,"steps":` + steps + `}`, "month"},
		{`{"name":"A","month":13,"steps":` + steps + `}`, "month"},
		{`{"name":"A","mfcloud_url":"` + strings.Repeat("u", 2049) + `","steps":` + steps + `}`, "mfcloud_url"},
		{`{"name":"A","notes":"` + strings.Repeat("n", 8193) + `","steps":` + steps + `}`, "notes"},
		{`{"name":"A","steps":[{"trigger_kind":"manual"}]}`, "steps[0].action"},
		{`{"name":"A","steps":[{"action":"a b","trigger_kind":"manual"}]}`, "steps[0].action"},
		{`{"name":"A","steps":[{"action":"a"}]}`, "steps[0].trigger_kind"},
		{`{"name":"A","steps":[{"action":"a","trigger_kind":"cron"}]}`, "steps[0].trigger_kind"},
		{
			`{"name":"A","steps":[{"action":"a","trigger_kind":"manual"},{"action":"b",` +
				`"trigger_kind":"external_event"}]}`,
			"steps[1].trigger_kind",
		},
		{`{"name":"A","steps":[{"action":"a","trigger_kind":"manual","x":1}]}`, "x"},
		{`{"name":"A","steps":[{"action":"a","trigger_kind":"manual","timeout":"1y"}]}`, "timeout"},
		{`{"name":"A","steps":[{"action":"a","trigger_kind":"manual","retry":{"maxAttempts":0}}]}`, "maxAttempts"},
	} {
		r := s.do("PUT", templatesPath+"a", c.body).is(400).because(badField)
		if !strings.Contains(r.text("detail"), c.words) {
			t.Errorf("%.80s: the message %q does not name %s", c.body, r.text("detail"), c.words)
		}
	}
	good := `{"name":"A","steps":` + steps + `}`
	s.do("PUT", templatesPath+"a%20b", good).is(400).because(badField)
	s.do("PUT", templatesPath+strings.Repeat("a", 129), good).is(400).because(badField)
	s.do("PUT", templatesPath+strings.Repeat("a", 128), good).is(201)
	s.do("PUT", templatesPath+"a?x=1", good).is(400).because(badField)
	s.do("PUT", templatesPath+"a", good, "Content-Type", "application/yaml").is(415)
	s.get(templatesPath+"a%20b").refused(404, "Workflow template not found.", templateMissing)
	s.get(templatesPath+"a?x=1").refused(400, "x is not a known query parameter", badField)
	for _, query := range []string{"page=0", "page_size=9", "page_size=101", "page=x", "x=1"} {
		s.get("/api/workflow-templates?" + query).is(400).because(badField)
	}
	s.get("/audit?action=workflow_event").has("total", "0")
}
