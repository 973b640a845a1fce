package httpapi_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// EXE-9: claim, leases, retries and next.

func TestAClaimStartsTheTaskAndGivesTheWorkerWhatItNeeds(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("print", "a", "b"))
	s.post("/tasks/claim", `{"workerId":"w","queues":["other"]}`).is(200).has("tasks", "[]")
	r := s.post("/tasks/claim",
		`{"workerId":"w","queues":["other","print"],"max":5,"waitSeconds":0,"leaseSeconds":30}`).is(200).
		has("tasks.0.executionId", e.id).has("tasks.0.nodeId", "a").has("tasks.0.attempt", "1").has("tasks.0.graphId",
		"g").
		has("tasks.0.queue", "print").has("tasks.0.input", `{"n":1}`).has("tasks.0.outputs", `{}`).has("tasks.1",
		"<none>")
	e.node("a").has("status", "RUNNING").has("workerId", "w").has("leaseUntil", r.text("tasks.0.leaseUntil"))
	events := e.events()
	started := events[len(events)-1]
	if started.String() != "NODE_STARTED a" || started.Payload["leaseUntil"] != r.text("tasks.0.leaseUntil") {
		t.Errorf("the last event is %+v", started)
	}
	begin, err := time.Parse(time.RFC3339, started.OccurredAt)
	if err != nil {
		t.Fatal(err)
	}
	if until, err := time.Parse(time.RFC3339, r.text("tasks.0.leaseUntil")); err != nil ||
		until.Sub(begin) != 30*time.Second {
		t.Errorf("the lease is %v long", until.Sub(begin))
	}
	e.send("a/success", `{"output":{"pages":3}}`).is(202)
	s.post("/tasks/claim", `{"workerId":"w","queues":["print"]}`).is(200).has("tasks.0.nodeId", "b").has(
		"tasks.0.outputs", `{"a":{"pages":3}}`)
}

func TestTheOutputsOfAClaimAreThoseOfTheDirectPredecessors(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a", "b", "c"))
	big := strings.Repeat("x", 8000) // held by reference
	for _, node := range []string{"a", "b"} {
		s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.0.nodeId", node)
		e.send(node+"/success", fmt.Sprintf(`{"output":{%q:%q}}`, node, big)).is(202)
	}
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.0.nodeId", "c").has("tasks.0.outputs",
		fmt.Sprintf(`{"b":{"b":%q}}`, big))
}

func TestAClaimWithDefaultsTakesOneTaskOfTheDefaultQueueForAMinute(t *testing.T) {
	s := newServer(t)
	s.started(linear("default", "a"))
	s.started(linear("default", "a"))
	r := s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.1", "<none>")
	until, err := time.Parse(time.RFC3339, r.text("tasks.0.leaseUntil"))
	if left := until.Sub(s.clock.Now()); err != nil || left > time.Minute || left < 50*time.Second {
		t.Errorf("the lease has %v left", left)
	}
}

// claims takes tasks until it has n of them, oldest first, or there are no more, and gives their
// executions. A claim ends early when the machine is slow.
func (s *server) claims(n int) (executions []string) {
	s.t.Helper()
	for len(executions) < n {
		var got struct {
			Tasks []struct{ ExecutionID string }
		}
		s.post("/tasks/claim", fmt.Sprintf(`{"workerId":"w","max":%d}`, min(n-len(executions), 100))).
			is(200).
			read(&got)
		if len(got.Tasks) == 0 {
			break
		}
		for _, task := range got.Tasks {
			executions = append(executions, task.ExecutionID)
		}
	}
	return executions
}

func TestTasksAreClaimedOldestFirstAndOnce(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	var want []string
	for range 30 {
		e := execution{s, s.post("/executions", `{"graphId":"g"}`).is(202).text("executionId")}
		e.send("start", "").is(202)
		want = append(want, e.id)
	}
	if diff := cmp.Diff(want[:10], s.claims(10)); diff != "" {
		t.Errorf("the first ten (-want +got):\n%s", diff)
	}
	var mu sync.Mutex
	taken := map[string]int{}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			got := s.claims(4)
			mu.Lock()
			defer mu.Unlock()
			for _, id := range got {
				taken[id]++
			}
		})
	}
	wait.Wait()
	for _, id := range want[10:] {
		if taken[id] != 1 {
			t.Errorf("the task of %s was taken %d times", id, taken[id])
		}
	}
}

func TestARepeatedClaimReturnsTheSameTasks(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	s.started(linear("default", "a"))
	first := s.postOnce("k", "/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.0.executionId", e.id)
	before := e.log()
	if again := s.postOnce("k", "/tasks/claim", `{"workerId":"w"}`).is(200); !bytes.Equal(first.body, again.body) {
		t.Errorf("got %s, want %s", again.body, first.body)
	}
	e.send("a/success", `{"output":{"x":1}}`).is(202)
	if again := s.postOnce("k", "/tasks/claim", `{"workerId":"w"}`).is(200); !bytes.Equal(first.body, again.body) {
		t.Errorf("after the completion: got %s, want %s", again.body, first.body)
	}
	s.postOnce("k", "/tasks/claim", `{"workerId":"v"}`).is(409).has("error.code", "IDEMPOTENCY_CONFLICT").has(
		"error.details.differs", `["workerId"]`)
	if len(e.log()) != len(before)+3 {
		t.Errorf("the repetition wrote: %q", e.log())
	}
}

func TestAnEmptyClaimIsNotRemembered(t *testing.T) {
	s := newServer(t)
	s.postOnce("k", "/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks", "[]")
	s.started(linear("default", "a"))
	s.postOnce("k", "/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.0.nodeId", "a")
}

func TestAClaimWaitsForATask(t *testing.T) {
	s := newServer(t)
	e := s.create(linear("default", "a"))
	answer := make(chan reply)
	go func() { answer <- s.post("/tasks/claim", `{"workerId":"w","waitSeconds":30}`) }()
	e.send("start", "").is(202)
	select {
	case r := <-answer:
		r.is(200).has("tasks.0.executionId", e.id)
	case <-time.After(patience):
		t.Fatal("the claim was not answered")
	}
}

func TestAClaimThatFindsNothingEndsAfterItsTime(t *testing.T) {
	s := newServer(t)
	began := time.Now()
	s.post("/tasks/claim", `{"workerId":"w","waitSeconds":1}`).is(200).has("tasks", "[]")
	if took := time.Since(began); took < 900*time.Millisecond || took > patience {
		t.Errorf("it took %v", took)
	}
}

func TestAClaimThatWaitsEndsWhenTheServerDrains(t *testing.T) {
	s := newServer(t)
	answer := make(chan reply)
	go func() { answer <- s.post("/tasks/claim", `{"workerId":"w","waitSeconds":30}`) }()
	s.get("/healthz").is(200)
	s.gate.Drain()
	select {
	case r := <-answer:
		if r.status != 200 && r.status != 503 {
			t.Errorf("got %d %s", r.status, r.body)
		}
	case <-time.After(patience):
		t.Fatal("the claim was not answered")
	}
}

const retrying = `{"nodes":[{"nodeId":"start","type":"Start"},
	{"nodeId":"a","type":"Task","timeout":"10m","retry":{"maxAttempts":3,"initialInterval":"10s","backoff":3,
	"maxInterval":"20s"}},
	{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`

func TestALeaseThatRunsOutIsATimeoutAndTheRetryPolicyDecides(t *testing.T) {
	s := newServer(t)
	e := s.started(retrying)
	s.post("/tasks/claim", `{"workerId":"w","leaseSeconds":5}`).is(200).has("tasks.0.attempt", "1")
	before := e.log()
	s.advance(6 * time.Second)
	reported := e.await("NODE_FAIL_REPORTED a", 0)
	if reported.Payload["error"].(map[string]any)["code"] != "ERR_TIMEOUT" {
		t.Errorf("the report says %v", reported.Payload)
	}
	e.grew(before, "NODE_FAIL_REPORTED a")
	e.node("a").has("status", "CREATED").has("retryAt", reported.Payload["retryAt"].(string)).has("nextAttempt",
		"2").has("attempt", "1")
	for _, c := range []struct{ action, body string }{
		{"a/start", `{"attempt":2}`},
		{"a/progress", ""},
		{"a/wait", ""},
		{"a/resume", ""},
		{"a/success", ""},
		{"a/fail", ""},
		{"a/cancel", ""},
	} {
		e.refused("retry_pending", c.action, c.body)
	}
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks", "[]")
	s.advance(11 * time.Second)
	e.await("NODE_READY a", reported.Seq)
	e.node("a").has("status", "READY").has("retryAt", "<none>")
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.0.attempt", "2")
}

func TestTheBackoffGrowsToItsMaximumAndTheLastFailureFailsTheNode(t *testing.T) {
	s := newServer(t)
	e := s.started(retrying)
	for i, wait := range []time.Duration{10 * time.Second, 20 * time.Second} { // 10s, then 3×10s cut to 20s
		e.send("a/start", fmt.Sprintf(`{"attempt":%d}`, i+1)).is(202)
		e.send("a/fail", `{"error":{"code":"E"}}`).is(202)
		events := e.events()
		last := events[len(events)-1]
		at, err := time.Parse(time.RFC3339, last.OccurredAt)
		if err != nil {
			t.Fatal(err)
		}
		retry, err := time.Parse(time.RFC3339, last.Payload["retryAt"].(string))
		if err != nil || retry.Sub(at) != wait {
			t.Errorf("attempt %d is tried again after %v, want %v", i+1, retry.Sub(at), wait)
		}
		s.advance(wait + time.Second)
		e.await("NODE_READY a", last.Seq)
	}
	e.send("a/start", `{"attempt":3}`).is(202)
	before := e.log()
	e.send("a/fail", `{"error":{"code":"E"}}`).is(202)
	e.grew(before, "NODE_FAIL_REPORTED a", "NODE_FAILED a", "EXECUTION_FAIL_REQUESTED", "EXECUTION_FAILED")
}

func TestProgressRenewsTheLease(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	first := s.post("/tasks/claim", `{"workerId":"w","leaseSeconds":10}`).is(200).text("tasks.0.leaseUntil")
	for range 3 {
		s.advance(8 * time.Second)
		e.send("a/progress", `{"attempt":1,"workerId":"w"}`).is(202)
	}
	if renewed := e.node("a").has("status", "RUNNING").text("leaseUntil"); renewed <= first {
		t.Errorf("the lease runs until %s, it was %s", renewed, first)
	}
	s.advance(11 * time.Second)
	e.await("EXECUTION_FAILED", 0)
}

func TestALeaseNeverRunsPastTheTimeout(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","timeout":"20s"},
		{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`)
	s.post("/tasks/claim", `{"workerId":"w","leaseSeconds":60}`).is(200)
	n := e.node("a")
	n.has("leaseUntil", n.text("timeoutAt"))
	s.advance(15 * time.Second)
	e.send("a/progress", "").is(202)
	n = e.node("a")
	n.has("leaseUntil", n.text("timeoutAt"))
	s.advance(6 * time.Second)
	e.await("EXECUTION_FAILED", 0)
}

func TestLeaseAndTimeoutStopWhileATaskWaits(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","timeout":"60s"},
		{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`)
	s.post("/tasks/claim", `{"workerId":"w","leaseSeconds":10}`).is(200)
	s.advance(5 * time.Second)
	e.send("a/wait", "").is(202)
	s.advance(time.Hour)
	e.node("a").has("status", "WAITING").has("leaseUntil", "<none>").has("timeoutAt", "<none>")
	e.send("a/resume", "").is(202)
	n := e.node("a").has("status", "RUNNING")
	lease, err := time.Parse(time.RFC3339, n.text("leaseUntil"))
	if err != nil {
		t.Fatal(err)
	}
	timeout, err := time.Parse(time.RFC3339, n.text("timeoutAt"))
	if left := timeout.Sub(lease); err != nil || left < 40*time.Second || left > 50*time.Second {
		t.Errorf("the timeout comes %v after the lease; about 55s of it and 10s of the lease should be left", left)
	}
	s.advance(11 * time.Second)
	e.await("EXECUTION_FAILED", 0)
}

func TestANodeThatWasStartedByHandHasOnlyItsTimeout(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	e.send("a/start", `{"attempt":1,"workerId":"w"}`).is(202)
	s.advance(48 * time.Hour)
	e.node("a").has("status", "RUNNING").has("leaseUntil", "<none>").has("timeoutAt", "<none>")
	e.send("a/success", "").is(202)
}

func TestACompletionWithNextGivesTheNextTaskAlreadyStarted(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a", "b"))
	s.post("/tasks/claim", `{"workerId":"w","leaseSeconds":30}`).is(200)
	before := e.log()
	first := e.sendOnce("k", "a/success", `{"output":{"x":1},"next":true}`).is(202).
		has("task.nodeId", "b").
		has("task.attempt", "1").has("task.executionId", e.id).has("task.queue", "default").has(
		"task.outputs", `{"a":{"x":1}}`)
	e.grew(before, "NODE_SUCCEEDED a", "NODE_READY b", "NODE_STARTED b")
	e.node("b").has("status", "RUNNING").has("workerId", "w").has("leaseUntil", first.text("task.leaseUntil"))
	e.send("b/progress", `{"progress":1}`).is(202)
	if again := e.sendOnce("k", "a/success", `{"output":{"x":1},"next":true}`).is(200); !bytes.Equal(first.body,
		again.body) {
		t.Errorf("got %s, want %s", again.body, first.body)
	}
	e.send("b/success", `{"next":true}`).is(202).has("task", "<none>")
	e.view().has("status", "COMPLETED")
}

func TestNextStaysInTheQueueOfTheWorker(t *testing.T) {
	s := newServer(t)
	e := s.started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","queue":"one"},{"nodeId":"b",
			"type":"Task","queue":"two"},
		{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"a"},{"from":"a","to":"b"},{"from":"b",
		"to":"done"}]}`,
	)
	s.post("/tasks/claim", `{"workerId":"w","queues":["one"]}`).is(200)
	e.send("a/success", `{"next":true}`).is(202).has("task", "<none>")
	e.node("b").has("status", "READY")
}

func TestAFailureWithNextGivesTheTaskOfTheFailureEdge(t *testing.T) {
	s := newServer(t)
	e := s.started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"undo","type":"Task"},
		{"nodeId":"done","type":"Success"},{"nodeId":"bad","type":"Failed"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"},{"from":"a","to":"undo","on":"failure"},
		{"from":"undo","to":"bad"}]}`,
	)
	s.post("/tasks/claim", `{"workerId":"w"}`).is(200)
	e.send("a/fail", `{"error":{"code":"E"},"next":true}`).is(202).has("task.nodeId", "undo")
}

func TestWhatAClaimMayAskFor(t *testing.T) {
	s := newServer(t)
	for body, field := range map[string]string{
		``:                "workerId",
		`{}`:              "workerId",
		`{"workerId":""}`: "workerId",
		`{"workerId":1}`:  "workerId",
		`{"workerId":"` + strings.Repeat("w", 129) + `"}`:                    "workerId",
		`{"workerId":"w","queues":[]}`:                                       "queues",
		`{"workerId":"w","queues":"default"}`:                                "queues",
		`{"workerId":"w","queues":["a b"]}`:                                  "queues",
		`{"workerId":"w","queues":["a","a"]}`:                                "queues",
		`{"workerId":"w","queues":[1]}`:                                      "queues",
		`{"workerId":"w","queues":null}`:                                     "queues",
		`{"workerId":"w","max":0}`:                                           "max",
		`{"workerId":"w","max":101}`:                                         "max",
		`{"workerId":"w","max":1.5}`:                                         "max",
		`{"workerId":"w","max":"1"}`:                                         "max",
		`{"workerId":"w","waitSeconds":-1}`:                                  "waitSeconds",
		`{"workerId":"w","waitSeconds":31}`:                                  "waitSeconds",
		`{"workerId":"w","leaseSeconds":0}`:                                  "leaseSeconds",
		`{"workerId":"w","leaseSeconds":3601}`:                               "leaseSeconds",
		`{"workerId":"w","queue":"default"}`:                                 "queue",
		`{"workerId":"w","workerId":"v"}`:                                    "workerId",
		`{"workerId":"w","queues":[` + strings.Repeat(`"a",`, 100) + `"b"]}`: "queues",
	} {
		s.post("/tasks/claim", body).invalid(field)
	}
	s.post("/tasks/claim", `{"workerId":"w","max":1e2,"waitSeconds":0.0,"leaseSeconds":3600}`).is(200)
}
