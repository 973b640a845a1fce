package httpapi_test

import (
	"strings"
	"testing"
)

// CRM-5: rules over HTTP.

// TestValidationRulesRefuseOverHTTP defines a rule and breaks it, alone and in bulks.
func TestValidationRulesRefuseOverHTTP(t *testing.T) {
	s := newServer(t)
	const rule = "/metadata/validation-rules/0199c1a4-0000-7000-8000-0000000000c1"
	s.do("PUT", rule, `{"name":"VR-ACC-01","object":"Account","condition":"record.AnnualRevenue < 0",`+
		`"message":"Revenue is not negative.","field":"AnnualRevenue"}`).
		is(201)
	refused := s.do("POST", "/records/Account", `{"fields":{"Name":"Acme","AnnualRevenue":-1}}`).is(422)
	for _, want := range []string{
		`"code":"VALIDATION_FAILED"`, `"message":"Revenue is not negative."`, `"field":"AnnualRevenue"`,
		`"rules":[{"id":"0199c1a4-0000-7000-8000-0000000000c1","name":"VR-ACC-01",` +
			`"message":"Revenue is not negative.","field":"AnnualRevenue"}]`,
	} {
		if !strings.Contains(string(refused.body), want) {
			t.Errorf("%s is not in %s", want, refused.body)
		}
	}
	some := s.do(
		"POST",
		"/records/Account/bulk",
		`{"operations":[{"op":"create","fields":{"Name":"A"}},{"op":"create","fields":{"Name":"B",`+
			`"AnnualRevenue":-2}}]}`,
	).is(200)
	if !strings.Contains(string(some.body), `"status":422`) || !strings.Contains(string(some.body),
		"VALIDATION_FAILED") || strings.Count(string(some.body), `"status":201`) != 1 {
		t.Errorf("a bulk: %s", some.body)
	}
	s.do(
		"POST",
		"/records/Account/bulk",
		`{"allOrNone":true,"operations":[{"op":"create","fields":{"Name":"A"}},{"op":"create",`+
			`"fields":{"Name":"B","AnnualRevenue":-2}}]}`,
	).is(422)
	if list := s.get("/records/Account").is(200); !strings.Contains(string(list.body), `"total":1`) {
		t.Errorf("what was refused is there: %s", list.body)
	}
	s.do("PUT", rule, `{"name":"VR-ACC-01","object":"Account","condition":"record.AnnualRevenue < 0",`+
		`"message":"Revenue is not negative.","isActive":false}`).
		is(200)
	s.do("POST", "/records/Account", `{"fields":{"Name":"Acme","AnnualRevenue":-1}}`).is(201)
}

// automate lets automation take everything that was published and not taken, in its order.
func (s *server) automate() {
	s.t.Helper()
	s.deliver(s.automation.Consumer())
}

// TestNotesTasksJobsAndRunsOverHTTP lets a rule act and looks at everything that it did.
func TestNotesTasksJobsAndRunsOverHTTP(t *testing.T) {
	s := newServer(t)
	const ann, ben = "0199c1a4-0000-7000-8000-0000000000a1", "0199c1a4-0000-7000-8000-0000000000a2"
	s.do("PUT", "/metadata/users/"+ann, `{"name":"Ann"}`).is(201)
	s.do("PUT", "/metadata/users/"+ben, `{"name":"Ben"}`).is(201)
	s.do("PUT", "/metadata/workflow-rules/0199c1a4-0000-7000-8000-0000000000c2",
		`{"name":"Welcome","object":"Account","on":["create"],"when":"after","actions":[
		{"key":"tell","type":"notify","message":"A new account."},{"key":"todo","type":"createTask",
		"message":"Call them.","dueDays":1},
		{"key":"rate","type":"updateField","field":"Rating","value":"Hot"}]}`).is(201)
	s.do(
		"PUT",
		"/metadata/scheduled-jobs/0199c1a4-0000-7000-8000-0000000000c3",
		`{"name":"Nightly","object":"Account","cron":"0 3 * * *","timeZone":"Asia/Tokyo","actions":[{"key":"k",`+
			`"type":"notify","message":"m"}]}`,
	).is(201)
	made := s.do("POST", "/records/Account", `{"ownerId":"`+ann+`","fields":{"Name":"Acme"}}`).is(201)
	s.automate()
	if got := s.get("/records/Account/" + made.text("id")).is(200); !strings.Contains(string(got.body),
		`"Rating":"Hot"`) {
		t.Errorf("the field was not updated: %s", got.body)
	}
	box := s.get("/automation/inbox?unread=true", "X-User-Id", ann).is(200)
	if !strings.Contains(string(box.body), "A new account.") || !strings.Contains(string(box.body), `"total":1`) {
		t.Errorf("the inbox: %s", box.body)
	}
	note := box.text("items.0.id")
	s.do("PUT", "/automation/inbox/"+note+"/read", "", "X-User-Id", ben).is(404)
	s.do("PUT", "/automation/inbox/"+note+"/read", "{}", "X-User-Id", ann).is(422)
	first := s.do("PUT", "/automation/inbox/"+note+"/read", "", "X-User-Id", ann).is(200)
	if again := s.do("PUT", "/automation/inbox/"+note+"/read", "", "X-User-Id", ann).is(200); string(
		again.body) != string(first.body) || first.text("readAt") == "" {
		t.Errorf("got %s, then %s", first.body, again.body)
	}
	if box := s.get("/automation/inbox?unread=true", "X-User-Id", ann).is(200); !strings.Contains(string(box.body),
		`"total":0`) {
		t.Errorf("the inbox: %s", box.body)
	}
	task := s.get("/automation/tasks", "X-User-Id", ann).is(200).text("items.0.id")
	if got := s.get("/automation/tasks", "X-User-Id", ben).is(200); !strings.Contains(string(got.body), `"total":0`) {
		t.Errorf("ben has ann's task: %s", got.body)
	}
	s.do("PUT", "/automation/tasks/"+task+"/done", "", "X-User-Id", ben).is(404)
	s.do("PUT", "/automation/tasks/"+task+"/done", "", "X-User-Id", ann).is(200)
	s.do("PUT", "/automation/tasks/"+task+"/done", "", "X-User-Id", ann).is(200)
	if got := s.get("/automation/tasks?status=DONE", "X-User-Id", ann).is(200); got.text("items.0.doneBy") != ann {
		t.Errorf("done: %s", got.body)
	}
	runs := s.get("/automation/runs?recordId=" + made.text("id") + "&outcome=DONE").is(200)
	if !strings.Contains(string(runs.body), `"total":3`) || !strings.Contains(string(runs.body), `"taskId":"`+task+
		`"`) || !strings.Contains(string(runs.body), `"told":1`) {
		t.Errorf("runs: %s", runs.body)
	}
	if got := s.get("/automation/runs", "X-Tenant-Id", other).is(200); !strings.Contains(string(got.body),
		`"total":0`) {
		t.Errorf("another tenant: %s", got.body)
	}
	if jobs := s.get("/automation/jobs").is(200); jobs.text("items.0.name") != "Nightly" ||
		!strings.HasSuffix(jobs.text("items.0.nextAt"), "T18:00:00.000Z") {
		t.Errorf("jobs: %s", jobs.body)
	}
	for _, bad := range []string{
		"/automation/runs?outcome=GOOD", "/automation/runs?ruleId=x",
		"/automation/tasks?status=ALL", "/automation/inbox?unread=1", "/automation/runs?page=101&page_size=100",
	} {
		s.get(bad).is(422)
	}
}
