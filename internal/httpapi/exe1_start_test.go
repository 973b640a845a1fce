package httpapi_test

import (
	"strings"
	"testing"
)

const oneTask = `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"done",
	"type":"Success"}],
	"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`

func TestACreationMayStartTheExecutionToo(t *testing.T) {
	s := newServer(t)
	s.register("one", oneTask)
	const body = `{"graphId":"one","input":{"n":1},"start":true}`
	first := s.postOnce("k", "/executions", body).is(202).has("command", "CreateExecution")
	again := s.postOnce("k", "/executions", body).is(200)
	if string(first.body) != string(again.body) {
		t.Errorf("the repetition answered %s, the first %s", again.body, first.body)
	}
	s.postOnce("k", "/executions", `{"graphId":"one","input":{"n":1}}`).is(409).has("error.code",
		"IDEMPOTENCY_CONFLICT")
	path := "/executions/" + first.text("executionId")
	s.get(path).is(200).has("status", "ACTIVE").has("nodes.1.status", "READY")
	s.get(path+"/events").is(200).has("items.4.type", "EXECUTION_STARTED")
	s.post(path+"/start", "").is(409)
	s.post("/executions", `{"graphId":"one","start":"yes"}`).is(422)
}

func TestACreationInAListOfCommandsMayStartToo(t *testing.T) {
	s := newServer(t)
	s.register("one", oneTask)
	r := s.commands(nil, `{"command":"CreateExecution","idempotencyKey":"a","graphId":"one","start":true}`,
		`{"command":"CreateExecution","idempotencyKey":"b","graphId":"one","start":false}`).is(200)
	for i, want := range []string{"EXECUTION_STARTED", ""} {
		id := r.text([]string{"results.0.executionId", "results.1.executionId"}[i])
		if got := string(s.get("/executions/" + id + "/events").is(200).body); strings.Contains(got,
			"EXECUTION_STARTED") != (want != "") {
			t.Errorf("events of creation %d: %s", i, got)
		}
	}
}
