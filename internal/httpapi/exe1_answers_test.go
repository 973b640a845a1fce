package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// EXE-1: every endpoint, its answers, its status codes and its error shape.

// walk sends every command of the document once, in an order in which each is
// accepted, and calls see with the answer and how to send the same again.
func walk(s *server, see func(name string, first reply, again func() reply)) {
	s.t.Helper()
	s.register("g", `{"nodes":[
		{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"b","type":"Task"},
		{"nodeId":"c","type":"Task"},{"nodeId":"done","type":"Success"},{"nodeId":"bad","type":"Failed"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"b"},{"from":"b","to":"bad"},{"from":"b","to":"c",
		"on":"failure"},
		{"from":"c","to":"done"},{"from":"c","to":"bad","on":"failure"}]}`)
	id := ""
	for _, c := range []struct{ name, path, body string }{
		{"CreateExecution", "/executions", `{"graphId":"g","input":{"x":1}}`},
		{"StartExecution", "/executions/ID/start", ``},
		{"StartNode", "/executions/ID/nodes/a/start", `{"attempt":1,"workerId":"worker-1"}`},
		{"ReportNodeProgress", "/executions/ID/nodes/a/progress", `{"progress":42,"message":"processing..."}`},
		{"PutNodeWaiting", "/executions/ID/nodes/a/wait", `{"waitKey":"approval-123","prompt":{}}`},
		{"ResumeNode", "/executions/ID/nodes/a/resume", `{"resumeKey":"approval-123"}`},
		{"SucceedNode", "/executions/ID/nodes/a/success", `{"output":{}}`},
		{"StartNode", "/executions/ID/nodes/b/start", `{"attempt":1}`},
		{"FailNode", "/executions/ID/nodes/b/fail", `{"error":{"code":"ERR_TIMEOUT","message":"timeout"}}`},
		{"CancelNode", "/executions/ID/nodes/c/cancel", `{"reason":"r"}`},
		{"ArchiveExecution", "/executions/ID/archive", `{"reason":"r"}`},
		{"CreateExecution", "/executions", `{"graphId":"g"}`},
		{"CancelExecution", "/executions/ID/cancel", `{"reason":"r"}`},
	} {
		path, key := strings.Replace(c.path, "ID", id, 1), s.key()
		first := s.postOnce(key, path, c.body, "X-Correlation-Id", "corr-"+key)
		if c.name == "CreateExecution" && first.status == 202 {
			id = first.text("executionId")
		}
		first.has("idempotencyKey", key).has("correlationId", "corr-"+key).has("executionId", id)
		see(c.name, first, func() reply { return s.postOnce(key, path, c.body, "X-Correlation-Id", "other") })
	}
}

func TestEveryCommandIsAnswered202WithTheMembersOfTheDocument(t *testing.T) {
	walk(newServer(t), func(name string, first reply, _ func() reply) {
		first.is(202).has("command", name).has("accepted", "true")
		var members map[string]json.RawMessage
		if err := json.Unmarshal(first.body, &members); err != nil {
			t.Fatal(err)
		}
		want := []string{"accepted", "command", "correlationId", "executionId", "idempotencyKey"}
		if name == "CancelExecution" {
			want = append(want, "cancelSeq")
		}
		var got []string
		for member := range members {
			got = append(got, member)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got members %q, want %q", name, got, want)
		}
	})
}

func TestEveryRepetitionIsAnswered200WithTheSameBytes(t *testing.T) {
	s := newServer(t)
	walk(s, func(name string, first reply, again func() reply) {
		for range 2 {
			if second := again().is(200); !bytes.Equal(first.body, second.body) {
				t.Errorf("%s: the repetition says %s, the first answer was %s", name, second.body, first.body)
			}
		}
	})
}

func TestARepetitionEmitsNoEvent(t *testing.T) {
	s := newServer(t)
	e := execution{server: s}
	walk(s, func(name string, first reply, again func() reply) {
		e.id = first.text("executionId")
		before := e.log()
		again().is(200)
		e.grew(before)
	})
}

func TestWhatDoesNotExistIs404(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	const nobody = "00000000-0000-7000-8000-000000000000"
	for _, id := range []string{nobody, "not-a-uuid", "0", strings.Repeat("x", 300)} {
		for _, action := range []string{"start", "cancel", "archive", "nodes/a/success"} {
			s.post("/executions/"+id+"/"+action, "").is(404).has("error.code", "EXECUTION_NOT_FOUND")
		}
		s.get("/executions/"+id).is(404).has("error.code", "EXECUTION_NOT_FOUND")
		s.get("/executions/"+id+"/events").is(404).has("error.code", "EXECUTION_NOT_FOUND")
		s.get("/executions/"+id+"/stream").is(404).has("error.code", "EXECUTION_NOT_FOUND")
	}
	for _, action := range []string{"progress", "wait", "resume", "success", "fail", "cancel"} {
		e.send("nowhere/"+action, "").is(404).has("error.code", "NODE_NOT_FOUND")
		e.send("no%20where/"+action, "").is(404).has("error.code", "NODE_NOT_FOUND")
	}
	e.send("nowhere/start", `{"attempt":1}`).is(404).has("error.code", "NODE_NOT_FOUND")
	s.post("/executions", `{"graphId":"nowhere"}`).is(404).has("error.code", "GRAPH_NOT_FOUND")
	s.get("/graphs/nowhere").is(404).has("error.code", "GRAPH_NOT_FOUND")
	s.get("/graphs/no%20where").is(404).has("error.code", "GRAPH_NOT_FOUND")
	s.get("/nothing").is(404).has("error.code", "NOT_FOUND")
	s.get("/executions/"+e.id+"/nothing").is(404).has("error.code", "NOT_FOUND")
}

func TestAnExecutionOfAnotherTenantDoesNotExist(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	const other = "11111111-1111-4111-8111-111111111111"
	for _, r := range []reply{
		s.get("/executions/"+e.id, "X-Tenant-Id", other),
		s.get("/executions/"+e.id+"?at=1", "X-Tenant-Id", other),
		s.get("/executions/"+e.id+"/events", "X-Tenant-Id", other),
		s.get("/executions/"+e.id+"/stream", "X-Tenant-Id", other),
		e.send("cancel", "", "X-Tenant-Id", other),
		e.send("a/start", `{"attempt":1}`, "X-Tenant-Id", other),
		s.get("/graphs/g", "X-Tenant-Id", other),
		s.post("/executions", `{"graphId":"g"}`, "X-Tenant-Id", other),
	} {
		r.is(404)
	}
	s.get("/executions", "X-Tenant-Id", other).is(200).has("total", "0")
	s.get("/graphs", "X-Tenant-Id", other).is(200).has("total", "0")
	s.post("/tasks/claim", `{"workerId":"w"}`, "X-Tenant-Id", other).is(200).has("tasks", "[]")
	e.view().has("status", "ACTIVE")
}

func TestAnotherMethodIs405AndNamesWhatThereIs(t *testing.T) {
	s := newServer(t)
	for _, c := range []struct{ method, path, allow string }{
		{"DELETE", "/executions", "GET, HEAD, POST"},
		{"GET", "/tasks/claim", "POST"},
		{"PUT", "/commands", "POST"},
		{"POST", "/graphs/g", "GET, HEAD, PUT"},
		{"POST", "/healthz", "GET, HEAD"},
	} {
		r := s.do(c.method, c.path, "").is(405).has("error.code", "METHOD_NOT_ALLOWED")
		if got := r.header.Get("Allow"); got != c.allow {
			t.Errorf("%s %s: Allow is %q, want %q", c.method, c.path, got, c.allow)
		}
	}
}

func TestABodyOfAnotherTypeIs415(t *testing.T) {
	s := newServer(t)
	for _, media := range []string{
		"text/plain", "application/x-www-form-urlencoded",
		"application/json; charset=latin1", "nonsense",
	} {
		s.post("/executions", `{"graphId":"g"}`, "Content-Type", media).is(415).has("error.code",
			"UNSUPPORTED_MEDIA_TYPE")
	}
	s.do("PUT", "/graphs/g", "{}", "Content-Type", "text/csv").is(415)
	s.post("/executions", `{"graphId":"g"}`, "Content-Type", "application/json; charset=utf-8").is(404)
}

func TestAGuardRefusalNamesGuardStateAndCause(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a", "b"))
	e.send("a/start", `{"attempt":1}`).is(202)
	r := e.send("b/success", `{}`).refusedBy("node_running").
		has("error.details.state.execution", "ACTIVE").has("error.details.state.node", "b").
		has("error.details.state.nodeStatus", "CREATED").has("error.details.state.attempt", "0").
		has("error.details.retryAdvice", "retry_with_backoff").has("error.details.lateResultKept", "false")
	if want := "SucceedNode rejected because "; !strings.HasPrefix(r.text("error.message"), want) {
		t.Errorf("the message is %q", r.text("error.message"))
	}
	e.send("cancel", "").is(202)
	r = e.send("a/resume", `{}`).refusedBy("cancel_fence").has("error.message",
		"ResumeNode rejected because execution is cancel-requested").
		has("error.details.retryAdvice", "do_not_retry").has("error.details.reasonClass", "run_conflict")
	for _, ev := range e.events() {
		if fmt.Sprint(ev.Seq) == r.text("error.details.cause.seq") {
			r.has("error.details.cause.eventId", ev.EventID).has("error.details.cause.type", ev.Type).
				has("error.details.cause.occurredAt", ev.OccurredAt)
		}
		if ev.Type == "EXECUTION_CANCEL_REQUESTED" {
			r.has("error.details.cancelSeq", fmt.Sprint(ev.Seq))
		}
	}
}
