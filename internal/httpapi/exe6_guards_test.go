package httpapi_test

import (
	"testing"
	"time"
)

// EXE-6: the guards, each refused with nothing written.

// refused demands that a command is refused by a guard and leaves the log alone.
func (e execution) refused(guard, action, body string) {
	e.t.Helper()
	before := e.log()
	e.send(action, body).refusedBy(guard)
	e.grew(before)
}

func TestAnExecutionStartsOnce(t *testing.T) {
	e := newServer(t).create(linear("default", "a"))
	e.send("start", "").is(202)
	e.refused("not_started", "start", "")
}

func TestNothingOfANodeMovesBeforeTheExecutionIsStarted(t *testing.T) {
	e := newServer(t).create(linear("default", "a"))
	e.refused("started", "a/start", `{"attempt":1}`)
	e.refused("started", "a/progress", "")
	e.refused("started", "a/wait", "")
	e.refused("started", "a/resume", "")
	e.refused("started", "a/success", "")
	e.refused("started", "a/fail", "")
	e.refused("started", "a/cancel", "")
}

func TestANodeIsStartedOnlyWhenItIsReady(t *testing.T) {
	e := newServer(t).started(linear("default", "a", "b"))
	e.refused("node_ready", "b/start", `{"attempt":1}`)
	e.send("a/start", `{"attempt":1}`).is(202)
	e.refused("node_ready", "a/start", `{"attempt":2}`)
	e.send("a/success", "").is(202)
	e.refused("node_ready", "a/start", `{"attempt":2}`)
}

func TestOnlyATaskIsStarted(t *testing.T) {
	e := newServer(t).started(branching)
	for _, node := range []string{"start", "fork", "w", "join", "done"} {
		e.refused("node_task", node+"/start", `{"attempt":1}`)
	}
}

func TestTheAttemptMustBeTheOneThatIsDue(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.node("a").has("status", "READY").has("attempt", "0").has("nextAttempt", "1")
	e.refused("attempt_due", "a/start", `{"attempt":2}`)
	e.send("a/start", `{"attempt":1}`).is(202)
}

func TestProgressWaitSuccessAndFailNeedARunningNode(t *testing.T) {
	e := newServer(t).started(linear("default", "a", "b"))
	for _, node := range []string{"a", "b"} { // READY, CREATED
		for _, action := range []string{"progress", "wait", "success", "fail"} {
			e.refused("node_running", node+"/"+action, "")
		}
	}
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/wait", "").is(202)
	for _, action := range []string{"progress", "wait", "success", "fail"} { // WAITING
		e.refused("node_running", "a/"+action, "")
	}
	e.send("a/resume", "").is(202)
	e.send("a/success", "").is(202)
	for _, action := range []string{"progress", "wait", "success", "fail"} { // SUCCEEDED
		e.refused("node_running", "a/"+action, "")
	}
}

func TestResumeNeedsAWaitingNodeAndItsKey(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.refused("node_waiting", "a/resume", "")
	e.send("a/start", `{"attempt":1}`).is(202)
	e.refused("node_waiting", "a/resume", "")
	e.send("a/wait", `{"waitKey":"approval-123","prompt":{"ask":"ok?"}}`).is(202)
	e.node("a").has("status", "WAITING").has("waitKey", "approval-123").has("prompt", `{"ask":"ok?"}`)
	e.refused("resume_key", "a/resume", "")
	e.refused("resume_key", "a/resume", `{"resumeKey":"approval-124"}`)
	e.send("a/resume", `{"resumeKey":"approval-123"}`).is(202)
	e.node("a").has("status", "RUNNING").has("waitKey", "<none>")
}

func TestATaskThatWaitsWithoutAKeyIsResumedByAnyKey(t *testing.T) {
	e := newServer(t).started(linear("default", "a", "b"))
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/wait", "").is(202)
	e.send("a/resume", `{"resumeKey":"whatever"}`).is(202)
	e.logIs("EXECUTION_STARTED", "NODE_SUCCEEDED start", "NODE_READY a", "NODE_STARTED a", "NODE_WAITING a",
		"NODE_RESUME_REQUESTED a", "NODE_RESUMED a")
}

func TestArchiveNeedsAnExecutionThatHasEndedAndHappensOnce(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.refused("execution_terminal", "archive", "")
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/success", "").is(202)
	e.view().has("archivedAt", "<none>")
	e.send("archive", `{"reason":"old"}`).is(202)
	events := e.events()
	last := events[len(events)-1]
	e.view().has("status", "COMPLETED").has("archivedAt", last.OccurredAt)
	if last.Type != "EXECUTION_ARCHIVED" || last.Payload["reason"] != "old" {
		t.Errorf("the last event is %+v", last)
	}
	e.refused("not_archived", "archive", "")
}

func TestACompletedExecutionRefusesWhatWouldMoveIt(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/success", "").is(202)
	e.refused("execution_active", "start", "")
	e.refused("execution_active", "a/start", `{"attempt":2}`)
	e.refused("execution_active", "a/success", "")
	e.refused("execution_active", "a/cancel", "")
}

func TestAnOldAttemptNeverDecidesALaterOne(t *testing.T) {
	s := newServer(t)
	e := s.started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","retry":{"maxAttempts":2,
			"initialInterval":"0s"}},
		{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`,
	)
	s.post("/tasks/claim", `{"workerId":"slow","leaseSeconds":1}`).is(200).has("tasks.0.attempt", "1")
	s.advance(2 * time.Second)
	e.await("NODE_FAIL_REPORTED a", 0)
	ready := e.await("NODE_READY a", 9)
	if ready.Payload["attempt"] != 2.0 {
		t.Errorf("the attempt that is due is %v", ready.Payload["attempt"])
	}
	e.send("a/success", `{"attempt":1,"workerId":"slow","output":{"by":"slow"}}`).refusedBy("node_running").
		has("error.details.lateResultKept", "true").has("error.details.retryAdvice", "do_not_retry")
	s.post("/tasks/claim", `{"workerId":"quick"}`).is(200).has("tasks.0.attempt", "2")
	e.send("a/success", `{"attempt":1,"workerId":"slow","output":{"by":"slow"}}`).refusedBy("attempt_due").has(
		"error.details.lateResultKept", "true")
	e.refused("attempt_due", "a/progress", `{"attempt":1}`)
	e.refused("attempt_due", "a/wait", `{"attempt":1}`)
	e.refused("attempt_due", "a/fail", `{"attempt":3}`)
	e.refused("lease_owner", "a/success", `{"attempt":2,"workerId":"slow"}`)
	e.refused("lease_owner", "a/fail", `{"workerId":"slow"}`)
	e.send("a/success", `{"attempt":2,"workerId":"quick","output":{"by":"quick"}}`).is(202)
	e.view().has("result", `{"by":"quick"}`).has("lateResults.0.output", `{"by":"slow"}`)
}

func TestAReportOfAnAttemptThatIsOverIsNotToBeRepeated(t *testing.T) {
	e := newServer(t).started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","retry":{"maxAttempts":2,
			"initialInterval":"1h"}},
		{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`)
	for _, action := range []string{"success", "fail", "progress", "wait"} { // nothing is over before the first attempt
		e.send("a/"+action, "").refusedBy("node_running").has("error.details.retryAdvice", "retry_with_backoff")
	}
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/fail", "").is(202)
	for _, action := range []string{"success", "fail", "progress", "wait"} {
		e.send("a/"+action, "").refusedBy("retry_pending").has("error.details.retryAdvice", "do_not_retry")
	}
	e.send("a/start", `{"attempt":2}`).
		refusedBy("retry_pending").
		has("error.details.retryAdvice", "retry_with_backoff")
	e.send("a/cancel", "").refusedBy("retry_pending").has("error.details.retryAdvice", "retry_with_backoff")
}

func TestAnIntegralNumberIsAnInteger(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.send("a/start", `{"attempt":1.0}`).is(202)
	e.send("a/progress", `{"attempt":10e-1,"progress":4.2e1}`).is(202)
	e.node("a").has("progress", "42")
}
