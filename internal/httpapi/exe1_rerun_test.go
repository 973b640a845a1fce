package httpapi_test

import "testing"

// A creation may name a stored version of its graph, and the execution that it does again.

func TestACreationMayNameAVersionOfItsGraph(t *testing.T) {
	s := newServer(t)
	s.register("one", oneTask)
	s.register("one", linear("q", "a", "b"))
	for body, version := range map[string]string{
		`{"graphId":"one"}`:                  "2",
		`{"graphId":"one","graphVersion":1}`: "1",
		`{"graphId":"one","graphVersion":2}`: "2",
	} {
		id := s.post("/executions", body).is(202).text("executionId")
		s.get("/executions/"+id).is(200).has("graphVersion", version)
	}
	s.post("/executions", `{"graphId":"one","graphVersion":3}`).is(404).has("error.code", "GRAPH_NOT_FOUND").
		has("error.message", "graph one has no version 3")
	for _, version := range []string{"0", "-1", "1.5", `"1"`, "2147483648"} {
		s.post("/executions", `{"graphId":"one","graphVersion":`+version+`}`).is(422).
			has("error.details.field", "graphVersion")
	}
}

func TestAnExecutionNamesTheOneThatItDoesAgain(t *testing.T) {
	s := newServer(t)
	first := s.started(oneTask)
	first.send("cancel", "").is(202)
	body := `{"graphId":"g","rerunOf":"` + first.id + `"}`
	r := s.postOnce("again", "/executions", body).is(202)
	again := execution{s, r.text("executionId")}
	if again.id == first.id {
		t.Fatal("the same execution was answered")
	}
	s.postOnce("again", "/executions", body).is(200).has("executionId", again.id)
	s.postOnce("again", "/executions", `{"graphId":"g"}`).is(409).has("error.details.differs", `["rerunOf"]`)
	again.view().has("rerunOf", first.id)
	again.get("/executions/"+again.id+"?at=1").is(200).has("rerunOf", first.id)
	again.get("/executions/"+again.id+"/events/1").is(200).has("payload.rerunOf", first.id)
	first.view().has("status", "CANCELED").has("rerunOf", "<none>")
	first.get("/executions/"+first.id+"/events/1").is(200).has("payload.rerunOf", "<none>")
}

func TestWhatIsDoneAgainMustBeThere(t *testing.T) {
	s := newServer(t)
	s.register("one", oneTask)
	own := s.post("/executions", `{"graphId":"one"}`).is(202).text("executionId")
	s.do("PUT", "/graphs/one", oneTask, "X-Tenant-Id", other).is(201)
	theirs := s.post("/executions", `{"graphId":"one"}`, "X-Tenant-Id", other).is(202).text("executionId")
	const nowhere = "0199c1a2-0000-7000-8000-000000000009"
	for _, id := range []string{theirs, nowhere} {
		s.post("/executions", `{"graphId":"one","rerunOf":"`+id+`"}`).is(404).has("error.code", "EXECUTION_NOT_FOUND")
	}
	for _, id := range []string{`"x"`, `""`, "7", "null"} {
		s.post("/executions", `{"graphId":"one","rerunOf":`+id+`}`).is(422).has("error.details.field", "rerunOf")
	}
	create := func(key, id string) string {
		return `{"command":"CreateExecution","idempotencyKey":"` + key + `","graphId":"one","rerunOf":"` + id + `"}`
	}
	r := s.commands(nil, create("a", theirs), create("b", own), create("c", nowhere), create("d", own)).is(200)
	r.has("results.0.error.code", "EXECUTION_NOT_FOUND").has("results.1.accepted", "true").
		has("results.2.error.code", "EXECUTION_NOT_FOUND").has("results.3.accepted", "true").
		has("results.3.idempotencyKey", "d")
	s.get("/executions/"+r.text("results.3.executionId")).is(200).has("rerunOf", own)
}
