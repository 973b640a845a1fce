package httpapi_test

import (
	"bytes"
	"fmt"
	"testing"
)

// EXE-9: a creation that brings its first tasks along.

const eager = `{"graphId":"g","input":{"n":1},"start":true,"claim":{"workerId":"w","leaseSeconds":30}}`

func TestACreationThatClaimsBringsItsFirstTaskAlong(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a", "b"))
	r := s.post("/executions", eager).is(202).has("command", "CreateExecution").
		has("tasks.0.nodeId", "a").has("tasks.0.attempt", "1").has("tasks.0.graphId", "g").has("tasks.0.queue",
		"default").
		has("tasks.0.input", `{"n":1}`).has("tasks.0.outputs", `{}`).has("tasks.1", "<none>")
	e := execution{s, r.text("executionId")}
	r.has("tasks.0.executionId", e.id)
	e.node("a").has("status", "RUNNING").has("workerId", "w").has("leaseUntil", r.text("tasks.0.leaseUntil"))
	if log := e.log(); log[len(log)-1] != "NODE_STARTED a" {
		t.Errorf("the log is %q", log)
	}
	s.post("/tasks/claim", `{"workerId":"v"}`).is(200).has("tasks", "[]")
	e.send("a/success", `{"attempt":1,"workerId":"w","next":true}`).is(202).has("task.nodeId", "b")
	e.send("b/success", `{"attempt":1,"workerId":"w"}`).is(202)
	e.view().has("status", "COMPLETED")
}

func TestARepeatedCreationReturnsTheSameTasks(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a", "b"))
	first := s.postOnce("k", "/executions", eager).is(202).has("tasks.0.nodeId", "a")
	e := execution{s, first.text("executionId")}
	before := e.log()
	again := func(when string) {
		t.Helper()
		if got := s.postOnce("k", "/executions", eager).is(200); !bytes.Equal(first.body, got.body) {
			t.Errorf("%s: got %s, want %s", when, got.body, first.body)
		}
	}
	again("at once")
	if got := e.log(); len(got) != len(before) {
		t.Errorf("the repetition wrote: %q", got)
	}
	e.send("a/success", `{"output":{"x":1}}`).is(202)
	again("after the completion")
	e.send("cancel", "").is(202)
	again("after the cancel")
	s.postOnce("k", "/executions", `{"graphId":"g","input":{"n":1},"start":true}`).is(409).
		has("error.code", "IDEMPOTENCY_CONFLICT").has("error.details.differs", `["claim"]`)
}

func TestACancelWinsOverTasksThatACreationBroughtAlong(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	e := execution{s, s.post("/executions", eager).is(202).has("tasks.0.nodeId", "a").text("executionId")}
	e.send("cancel", "").is(202)
	e.send("a/success", `{"attempt":1,"workerId":"w","output":{"paid":true}}`).refusedBy("cancel_fence").has(
		"error.details.lateResultKept", "true")
	e.view().has("status", "CANCELED").has("lateResults.0.output", `{"paid":true}`)
}

func TestACreationGetsNoMoreTasksThanItAsksFor(t *testing.T) {
	s := newServer(t)
	s.register("g", forked(""))
	body := `{"graphId":"g","start":true,"claim":{"workerId":"w","max":%d,"queues":[%s]}}`
	s.post("/executions", fmt.Sprintf(body, 1, `"default"`)).
		is(202).
		has("tasks.0.nodeId", "a").
		has("tasks.1", "<none>")
	s.post("/tasks/claim", `{"workerId":"v","max":9}`).is(200).has("tasks.0.nodeId", "b").has("tasks.1", "<none>")
	s.post("/executions", fmt.Sprintf(body, 9, `"other","default"`)).is(202).has("tasks.0.nodeId", "a").has(
		"tasks.1.nodeId", "b").has("tasks.2", "<none>")
	s.post("/executions", fmt.Sprintf(body, 9, `"other"`)).is(202).has("tasks", "[]")
	s.post("/tasks/claim", `{"workerId":"v","max":9}`).is(200).has("tasks.1.nodeId", "b").has("tasks.2", "<none>")
}

func TestACreationInABatchBringsItsTasksAlong(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	one := `{"command":"CreateExecution","idempotencyKey":"%s","graphId":"g","start":true,"claim":{"workerId":"w"}}`
	batch := `{"commands":[` + fmt.Sprintf(one, "k1") + `,` + fmt.Sprintf(one, "k2") + `,` + fmt.Sprintf(one, "k1") +
		`]}`
	r := s.post("/commands", batch).is(200).has("results.0.status", "202").has("results.1.status", "202").has(
		"results.2.status", "200").
		has("results.1.tasks.0.nodeId", "a")
	r.has("results.0.tasks.0.executionId", r.text("results.0.executionId")).has("results.2.tasks",
		r.text("results.0.tasks"))
	alone := s.postOnce("k1", "/executions", `{"graphId":"g","start":true,"claim":{"workerId":"w"}}`).is(200)
	alone.has("tasks", r.text("results.0.tasks"))
}

func TestAClaimOfACreationIsCheckedLikeAnyOther(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	for field, body := range map[string]string{
		"claim":              `{"graphId":"g","claim":{"workerId":"w"}}`,
		"claim.workerId":     `{"graphId":"g","start":true,"claim":{}}`,
		"claim.max":          `{"graphId":"g","start":true,"claim":{"workerId":"w","max":101}}`,
		"claim.leaseSeconds": `{"graphId":"g","start":true,"claim":{"workerId":"w","leaseSeconds":0}}`,
		"claim.queues":       `{"graphId":"g","start":true,"claim":{"workerId":"w","queues":["a","a"]}}`,
	} {
		s.post("/executions", body).is(422).has("error.code", "INVALID_INPUT").has("error.details.field", field)
	}
	for part, body := range map[string]string{
		"claim.waitSeconds is not a known field": `{"graphId":"g","start":true,"claim":{"workerId":"w",` +
			`"waitSeconds":1}}`,
		"claim.queues[0] must be a string": `{"graphId":"g","start":true,"claim":{"workerId":"w",` +
			`"queues":[1]}}`,
		"claim must be an object": `{"graphId":"g","start":true,"claim":null}`,
		"the body holds the member \"workerId\" twice": `{"graphId":"g","start":true,"claim":{"workerId":"w",` +
			`"workerId":"v"}}`,
	} {
		s.post("/executions", body).is(422).has("error.message", part)
	}
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks", "[]") // nothing was created
}
