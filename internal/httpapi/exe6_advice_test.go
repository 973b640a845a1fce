package httpapi_test

import (
	"bytes"
	"testing"
	"time"
)

// TestEveryAdviceToRepeatWorksUnderANewKeyAndOnlyThere follows the advice on refusals: under the same key the answer
// stays, whatever happens; under a new one the command is accepted.
func TestEveryAdviceToRepeatWorksUnderANewKeyAndOnlyThere(t *testing.T) {
	s := newServer(t)
	const plan = `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","retry":{"maxAttempts":2,
			"initialInterval":"1h"}},{"nodeId":"w","type":"Wait","waitKey":"go"},{"nodeId":"b","type":"Task"},
		{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"w"},{"from":"w","to":"b"},{"from":"b","to":"done"}]}`
	// follow sends a command that is refused, heals what the advice is about, and sends it again.
	follow := func(guard, path, body, fixed string, heal func()) {
		t.Helper()
		key := s.key()
		first := s.postOnce(key, path, body).refusedBy(guard).has("error.details.newKey", "true")
		heal()
		if again := s.postOnce(key, path, body).refusedBy(guard); !bytes.Equal(first.body, again.body) {
			t.Errorf("%s: got %s, then %s", guard, first.body, again.body)
		}
		s.post(path, fixed).is(202)
	}
	of := func(e execution, action string) string { return "/executions/" + e.id + "/" + action }

	e := s.create(plan)
	follow("started", of(e, "nodes/a/start"), `{"attempt":1}`, `{"attempt":1}`, func() { e.send("start", "").is(202) })
	e.send("a/fail", `{"attempt":1}`).is(202)
	follow("retry_pending", of(e, "nodes/a/start"), `{"attempt":2}`, `{"attempt":2}`, func() {
		s.advance(time.Hour)
		e.await("NODE_READY a", 9)
	})
	follow("node_waiting", of(e, "nodes/w/resume"), `{"resumeKey":"go"}`, `{"resumeKey":"go"}`, func() {
		e.send("a/success", `{"attempt":2}`).is(202)
	})
	follow("node_running", of(e, "nodes/b/success"), "", "", func() { e.send("b/start", `{"attempt":1}`).is(202) })

	e = s.started(plan)
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/success", "").is(202)
	follow("node_ready", of(e, "nodes/b/start"), `{"attempt":1}`, `{"attempt":1}`, func() {
		follow("resume_key", of(e, "nodes/w/resume"), `{"resumeKey":"stop"}`, `{"resumeKey":"go"}`, func() {})
	})
	follow("execution_terminal", of(e, "archive"), "", "", func() { e.send("cancel", "").is(202) })

	const keyed = `{"graphId":"g","businessKey":"A-1"}`
	holder := execution{s, s.post("/executions", keyed).is(202).text("executionId")}
	follow("business_key", "/executions", keyed, keyed, func() { holder.send("cancel", "").is(202) })
}
