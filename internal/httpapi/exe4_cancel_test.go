package httpapi_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// EXE-4, EXE-5: cancel is accepted in every state that is not terminal, ahead of
// everything, and nothing moves the execution forward after it.

// branching is a graph with a branch that runs, one that waits, and one that was
// not reached.
const branching = `{"nodes":[
	{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},{"nodeId":"a","type":"Task"},{"nodeId":"w",
	"type":"Wait"},
	{"nodeId":"late","type":"Task"},{"nodeId":"join","type":"Join"},{"nodeId":"done","type":"Success"}],
	"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"w"},{"from":"a","to":"join"},
	{"from":"w","to":"late"},{"from":"late","to":"join"},{"from":"join","to":"done"}]}`

func TestCancelInterruptsWhatRunsAndCancelsAllThatHasNotEnded(t *testing.T) {
	e := newServer(t).started(branching)
	e.send("a/start", `{"attempt":1,"workerId":"w"}`).is(202)
	before := e.log()
	r := e.send("cancel", `{"reason":"changed my mind"}`, "X-User-Id", "mika").is(202)
	e.grew(before, "EXECUTION_CANCEL_REQUESTED", "NODE_INTERRUPT_REQUESTED a", "NODE_CANCELED a", "NODE_CANCELED w",
		"NODE_CANCELED late", "NODE_CANCELED join", "NODE_CANCELED done", "EXECUTION_CANCELED")
	view := e.view().has("status", "CANCELED").has("cancel.reason", "changed my mind").has("cancel.requestedBy.id",
		"mika").
		has("cancel.seq", r.text("cancelSeq"))
	for _, ev := range e.events() {
		if ev.Type == "EXECUTION_CANCEL_REQUESTED" {
			view.has("cancelRequestedAt", ev.OccurredAt).has("cancel.seq", fmt.Sprint(ev.Seq))
		}
	}
	for _, node := range []string{"a", "w", "late", "join", "done"} {
		e.node(node).has("status", "CANCELED").has("canceledByExecution", "true")
	}
	for _, node := range []string{"start", "fork"} {
		e.node(node).has("status", "SUCCEEDED").has("canceledByExecution", "false")
	}
}

func TestCancelIsAcceptedBeforeTheStart(t *testing.T) {
	e := newServer(t).create(linear("default", "a"))
	e.send("cancel", "").is(202)
	e.view().has("status", "CANCELED")
	e.send("start", "").refusedBy("cancel_fence")
}

func TestCancelIsAcceptedWhileARetryIsPending(t *testing.T) {
	s := newServer(t)
	e := s.started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","retry":{"maxAttempts":3,
			"initialInterval":"1h"}},
		{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`,
	)
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/fail", `{}`).is(202)
	e.node("a").has("status", "CREATED")
	before := e.log()
	e.send("cancel", "").is(202)
	e.grew(before, "EXECUTION_CANCEL_REQUESTED", "NODE_CANCELED a", "NODE_CANCELED done", "EXECUTION_CANCELED")
	s.advance(2 * time.Hour)
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks", "[]")
	e.view().has("status", "CANCELED")
}

func TestCancellingACanceledExecutionIsAcceptedAndEmitsNothing(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	first := e.send("cancel", `{"reason":"one"}`).is(202)
	before := e.log()
	e.send("cancel", `{"reason":"two"}`).is(202).has("cancelSeq", first.text("cancelSeq"))
	e.grew(before)
	e.view().has("cancel.reason", "one")
}

func TestCancellingWhatHasEndedOtherwiseIsRefused(t *testing.T) {
	s := newServer(t)
	completed := s.started(linear("default", "a"))
	completed.send("a/start", `{"attempt":1}`).is(202)
	completed.send("a/success", "").is(202)
	completed.send("cancel", "").refusedBy("execution_active").has("error.details.state.execution", "COMPLETED")
	failed := s.started(linear("default", "a"))
	failed.send("a/start", `{"attempt":1}`).is(202)
	failed.send("a/fail", "").is(202)
	failed.send("cancel", "").refusedBy("execution_active").has("error.details.state.execution", "FAILED")
}

func TestAfterACancelNothingMovesForward(t *testing.T) {
	e := newServer(t).started(branching)
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("cancel", "").is(202)
	before := e.log()
	for _, c := range []struct{ action, body string }{
		{"start", ""},
		{"a/start", `{"attempt":2}`},
		{"a/progress", `{"progress":50}`},
		{"a/wait", ""},
		{"w/resume", ""},
		{"a/success", ""},
		{"a/fail", ""},
		{"a/cancel", ""},
		{"late/start", `{"attempt":1}`},
	} {
		e.send(c.action, c.body).refusedBy("cancel_fence")
	}
	e.grew(before)
	e.send("archive", "").is(202)
	e.view().has("status", "CANCELED")
}

func TestAResultThatComesAfterTheCancelIsKeptAsEvidence(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "pay"))
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.0.nodeId", "pay")
	e.send("cancel", "").is(202)
	e.send("pay/success", `{"output":{"paid":true},"attempt":1,"workerId":"w"}`).refusedBy("cancel_fence").
		has("error.details.lateResultKept", "true")
	e.send("pay/fail", `{"error":{"code":"LATE","message":"m"}}`).refusedBy("cancel_fence").has(
		"error.details.lateResultKept", "true")
	e.send("pay/progress", `{"progress":1}`).refusedBy("cancel_fence").has("error.details.lateResultKept", "false")
	e.view().
		has("lateResults.0.command", "SucceedNode").
		has("lateResults.0.nodeId", "pay").
		has("lateResults.0.attempt",
			"1").
		has("lateResults.0.workerId", "w").
		has("lateResults.0.output", `{"paid":true}`).
		has("lateResults.0.guard",
			"cancel_fence").
		has("lateResults.1.error.code", "LATE").
		has("lateResults.2", "<none>")
}

func TestACancelThatWasAcceptedStandsWhateverRacesWithIt(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	won, lost := 0, 0
	for round := range 40 {
		e := execution{s, s.post("/executions", `{"graphId":"g"}`).is(202).text("executionId")}
		e.send("start", "").is(202)
		e.send("a/start", `{"attempt":1}`).is(202)
		answers := make(chan reply, 2)
		go func() { answers <- e.sendOnce(fmt.Sprint("cancel", round), "cancel", "") }()
		go func() { answers <- e.sendOnce(fmt.Sprint("success", round), "a/success", "") }()
		first, second := <-answers, <-answers
		if bytes.Contains(first.body, []byte("SucceedNode")) {
			first, second = second, first
		}
		switch cancel := first; {
		case cancel.status == 202:
			won++
			second.refusedBy("cancel_fence")
			e.view().has("status", "CANCELED")
		default:
			lost++
			cancel.refusedBy("execution_active")
			second.is(202)
			e.view().has("status", "COMPLETED")
		}
	}
	t.Logf("cancel won %d and lost %d times", won, lost)
}
