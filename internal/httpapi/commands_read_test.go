package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The commands of an execution: who asked what, in which order, and what was answered.

func TestTheCommandsOfARaceAreReadInTheirOrder(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.post("/tasks/claim", `{"workerId":"w1"}`, "X-Correlation-Id", "claiming").is(200)
	e.sendOnce("stop", "cancel", `{"reason":"r"}`, "X-Correlation-Id", "calling", "X-User-Id", "mika").is(202)
	e.sendOnce("late", "a/success", `{"attempt":1,"workerId":"w1","output":{"x":1}}`, "X-Correlation-Id",
		"working").refusedBy("cancel_fence")
	// a repetition is no command of its own
	e.sendOnce("late", "a/success", `{"attempt":1,"workerId":"w1","output":{"x":1}}`).refusedBy("cancel_fence")
	e.sendOnce("again", "start", "").refusedBy("cancel_fence")
	r := e.get("/executions/"+e.id+"/commands").is(200).has("total", "6").has("page", "1").has("page_size", "50")
	for i, want := range []struct{ command, accepted, actor, first, last string }{
		{"CreateExecution", "true", `{"kind":"user"}`, "1", "4"},
		{"StartExecution", "true", `{"kind":"user"}`, "5", "7"},
		{"StartNode", "true", `{"id":"w1","kind":"external"}`, "8", "8"},
		{"CancelExecution", "true", `{"id":"mika","kind":"user"}`, "9", "13"},
		{"SucceedNode", "false", `{"kind":"user"}`, "<none>", "<none>"},
		{"StartExecution", "false", `{"kind":"user"}`, "<none>", "<none>"},
	} {
		item := fmt.Sprintf("items.%d.", i)
		r.has(item+"number", fmt.Sprint(i+1))
		r.has(item+"command", want.command).has(item+"accepted", want.accepted).has(item+"actor", want.actor).
			has(item+"firstSeq", want.first).has(item+"lastSeq", want.last)
	}
	r.has("items.2.correlationId", "claiming").has("items.2.nodeId", "a").has("items.2.idempotencyKey", "<none>")
	r.has("items.3.correlationId", "calling").has("items.3.idempotencyKey", "stop").has("items.3.cancelSeq", "9").has(
		"items.3.error", "<none>")
	r.has("items.4.correlationId", "working").has("items.4.workerId", "w1").has("items.4.attempt", "1").
		has("items.4.error.details.guard", "cancel_fence").has("items.4.error.details.cancelSeq", "9").has(
		"items.4.error.details.lateResultKept", "true")
	r.has("items.5.error.details.lateResultKept", "false").has("items.5.workerId", "<none>")
	path := "/executions/" + e.id + "/commands?accepted="
	e.get(path+"false").is(200).has("total", "2").has("items.0.idempotencyKey", "late").has("items.1.idempotencyKey",
		"again")
	e.get(path+"true").is(200).has("total", "4").has("items.3.command", "CancelExecution")
}

// TestTheKeyOfACreationIsShown also of one in a batch. It is a key of its own: the same one
// for another command is not taken for it.
func TestTheKeyOfACreationIsShown(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	alone := s.post("/executions", `{"graphId":"g"}`, "X-Idempotency-Key", "make-1").is(202).text("executionId")
	inBatch := s.post("/commands",
		`{"commands":[{"command":"CreateExecution","idempotencyKey":"make-2","graphId":"g"}]}`).
		is(200).text("results.0.executionId")
	s.post("/executions/"+alone+"/start", ``, "X-Idempotency-Key", "make-1").is(202)
	s.get("/executions/"+alone+"/commands").is(200).has("items.0.command", "CreateExecution").has(
		"items.0.idempotencyKey", "make-1").
		has("items.1.command", "StartExecution").has("items.1.idempotencyKey", "make-1")
	s.get("/executions/"+inBatch+"/commands").is(200).has("items.0.idempotencyKey", "make-2")
	s.post("/executions", `{"graphId":"g"}`, "X-Idempotency-Key", "make-1").is(200).has("executionId", alone)
	s.post("/executions/"+alone+"/start", ``, "X-Idempotency-Key", "make-1").is(200)
}

func TestADeadlineIsACommandOfTheScheduler(t *testing.T) {
	e := newServer(t).started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","timeout":"1m"},
			{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`)
	e.send("a/start", `{"attempt":1}`).is(202)
	e.advance(2 * time.Minute)
	e.await("EXECUTION_FAILED", 0)
	e.get("/executions/"+e.id+"/commands").
		is(200).
		has("items.3.command", "ExpireDeadline").
		has("items.3.nodeId", "a").
		has("items.3.actor", `{"kind":"scheduler"}`).
		has("items.3.accepted", "true")
}

func TestTheCommandsComeInPages(t *testing.T) {
	e := newServer(t).create(linear("default", "a"))
	const refused = 23
	for i := range refused { // rows without an event, at the beginning and behind the start
		e.sendOnce(fmt.Sprint("early-", i), "archive", "").refusedBy("execution_terminal")
	}
	e.send("start", "").is(202)
	var batch []string
	for i := range 40 { // many in one row
		batch = append(batch, fmt.Sprintf(`{"command":"StartExecution","executionId":%q,"idempotencyKey":"twice-%d"}`,
			e.id, i))
	}
	e.post("/commands", `{"commands":[`+strings.Join(batch, ",")+`]}`).is(200)
	var got []string
	for page := 1; page <= 8; page++ {
		r := e.get(fmt.Sprintf("/executions/%s/commands?page=%d&page_size=10", e.id, page)).is(200).has("total",
			fmt.Sprint(2+refused+40))
		for i := range 10 {
			if key := r.text(fmt.Sprintf("items.%d.idempotencyKey", i)); key != "<none>" {
				got = append(got, key)
			}
		}
	}
	got = got[1:] // that of the creation
	for i := range refused {
		if got[i] != fmt.Sprint("early-", i) {
			t.Errorf("command %d has the key %s", i, got[i])
		}
	}
	for i := range 40 {
		if got[1+refused+i] != fmt.Sprint("twice-", i) {
			t.Errorf("command %d has the key %s", 1+refused+i, got[1+refused+i])
		}
	}
}

func TestTheCommandsOfALongLogAreAllRead(t *testing.T) {
	tasks := make([]string, 1500) // their NODE_CREATED fill more than is read at once
	for i := range tasks {
		tasks[i] = fmt.Sprintf("t%d", i)
	}
	e := newServer(t).started(linear("default", tasks...))
	e.sendOnce("x", "archive", "").refusedBy("execution_terminal")
	for i := range 5 {
		e.send(fmt.Sprintf("t%d/start", i), `{"attempt":1}`).is(202)
		e.sendOnce(fmt.Sprint("y", i), "archive", "").refusedBy("execution_terminal")
		e.send(fmt.Sprintf("t%d/success", i), "").is(202)
	}
	e.get("/executions/"+e.id+"/commands").is(200).has("total", fmt.Sprint(3+3*5)).has("items.17.command",
		"SucceedNode")
	e.get("/executions/"+e.id+"/commands?accepted=false").is(200).has("total", "6").has("items.5.idempotencyKey",
		"y4").has("items.5.number", "17")
}

func TestTheCommandsOfWhatDoesNotExistAre404(t *testing.T) {
	s := newServer(t)
	s.get("/executions/00000000-0000-7000-8000-000000000000/commands").
		is(404).
		has("error.code", "EXECUTION_NOT_FOUND")
	e := s.create(linear("default", "a"))
	s.get("/executions/"+e.id+"/commands", "X-Tenant-Id", "11111111-1111-1111-1111-111111111111").is(404)
	for _, q := range []string{"accepted=", "accepted=1", "accepted=TRUE", "accepted=true&accepted=true", "at=1"} {
		s.get("/executions/" + e.id + "/commands?" + q).invalid(strings.Split(q, "=")[0])
	}
}
