package httpapi_test

import (
	"net/http"
	"testing"

	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// TestQueuesOfTheServerAreItsOwn tries to get hold of a rebuild of sharing, in every way
// that a token of a worker allows.
func TestQueuesOfTheServerAreItsOwn(t *testing.T) {
	s := newServer(t)
	s.want(http.StatusCreated, "PUT", "/graphs/mine", linear("default", "a"))
	for _, queue := range []string{"sharing.rebuild", "search.rebuild", "reporting.rebuild"} {
		refused := func(r reply) reply {
			t.Helper()
			return r.is(403).has("error.code", "QUEUE_RESERVED").has("error.details.queue", queue)
		}
		refused(s.post("/tasks/claim", `{"workerId":"w","queues":["default","`+queue+`"],"leaseSeconds":3600}`))
		refused(s.post("/executions", `{"graphId":"mine","start":true,"claim":{"workerId":"w","queues":["`+queue+
			`"]}}`))
		s.post("/commands", `{"commands":[{"command":"CreateExecution","idempotencyKey":"k-`+queue+
			`","graphId":"mine","start":true,"claim":{"workerId":"w","queues":["`+queue+`"]}}]}`).
			is(200).has("results.0.status", "403")
		s.do("PUT", "/graphs/other", linear(queue, "a")).is(422).has("error.details.field", "nodes").invalid(
			"node \"a\"",
			queue)
		s.do("PUT", "/api/workflow-templates/t",
			`{"name":"t","steps":[{"action":"`+queue+`","trigger_kind":"external_event"}]}`).is(400)
	}
	s.get("/graphs/other").is(404)
	// Names that are only like these, and the queue of checks that no Airflow does, are free.
	for _, queue := range []string{"sharing.rebuilds", "index.rebuild", "rebuild", recheck.Queue} {
		s.post("/tasks/claim", `{"workerId":"w","queues":["`+queue+`"]}`).is(200)
		s.do("PUT", "/graphs/free", linear(queue, "a"))
		s.get("/graphs/free").is(200).has("nodes.1.queue", queue)
	}
}

// TestWorkOfTheServerIsNotReportedOnByOthers sends every command of a worker to a task of the
// server's own, as somebody who knows its execution.
func TestWorkOfTheServerIsNotReportedOnByOthers(t *testing.T) {
	s := newServer(t)
	g, err := flow.ParseGraph([]byte(linear("search.rebuild", "rebuild")), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.engine.PutGraph(t.Context(), own, "search:rebuild", g); err != nil {
		t.Fatal(err)
	}
	system := engine.Request{
		Tenant: own, GraphID: "search:rebuild", Start: true, Command: flow.Create{},
		Actor: flow.Actor{Kind: flow.KindSystem, ID: "search"}, CorrelationID: "c",
	}
	submit := func(r engine.Request) engine.Answer {
		t.Helper()
		got := s.engine.Submit(t.Context(), []engine.Request{r})[0]
		if got.Err != nil || got.Answer.Refused != nil {
			t.Fatalf("%s of the server: %+v", r.Command.Name(), got)
		}
		return got.Answer
	}
	system.Execution = submit(system).Execution
	path := "/executions/" + system.Execution.String()
	refused := func() {
		t.Helper()
		for action, body := range map[string]string{
			"start": `{"attempt":1}`, "progress": `{"progress":1}`, "wait": `{}`, "resume": `{}`, "success": `{}`,
			"fail": `{}`,
		} {
			s.post(path+"/nodes/rebuild/"+action, body).is(403).has("error.code",
				"QUEUE_RESERVED").has("error.details.queue", "search.rebuild")
		}
	}
	refused()
	claimed, err := s.engine.Claim(t.Context(), engine.ClaimRequest{
		Tenant: own, Worker: "p1",
		Queues: []string{"search.rebuild"}, Max: 1, Lease: 30, Own: true,
	})
	if err != nil || len(claimed.Tasks) != 1 {
		t.Fatalf("the server claims %+v, %v", claimed, err)
	}
	refused()
	system.Command = flow.Succeed{Node: "rebuild", Attempt: 1, Worker: "p1"}
	submit(system)
	s.get(path).is(200).has("status", "COMPLETED")
}
