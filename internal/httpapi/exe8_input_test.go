package httpapi_test

import (
	"strings"
	"testing"
)

const inputGraph = `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"quote","type":"Task"},
	{"nodeId":"pay","type":"Task","retry":{"maxAttempts":2,"initialInterval":"0s"},
		"input":{"amount":"outputs.quote.total","n":"input.n"}},
	{"nodeId":"refund","type":"Task","input":{"why":"error.code","note":"has(outputs.quote.note) ? 1 : 0"}},
	{"nodeId":"tell","type":"Task"},{"nodeId":"done","type":"Success"},{"nodeId":"ko","type":"Failed"}],
	"edges":[{"from":"start","to":"quote"},{"from":"quote","to":"pay"},{"from":"pay","to":"done"},
	{"from":"pay","to":"refund","on":"failure"},{"from":"refund","to":"tell"},{"from":"tell","to":"ko"}]}`

// EXE-8: a Task gets the input that it declares, and the error of the failure that led to it; behind a compensation the
// execution names the first failure.
func TestATaskGetsTheInputThatItDeclaresAndWhyItIsReached(t *testing.T) {
	s := newServer(t)
	e := s.started(inputGraph)
	claim := func(node string) reply {
		t.Helper()
		return s.post("/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.0.nodeId", node)
	}
	claim("quote").has("tasks.0.input", `{"n":1}`).has("tasks.0.error", "<none>")
	// A large output is read for the expressions.
	e.send("quote/success", `{"output":{"total":4200,"note":"`+strings.Repeat("x", 9000)+`"}}`).is(202)
	claim("pay").has("tasks.0.input", `{"amount":4200,"n":1}`).has("tasks.0.error", "<none>")
	e.send("pay/fail", `{"error":{"code":"DECLINED","message":"no money","detail":{"k":1},"final":true}}`).is(202)
	const failure = `{"code":"DECLINED","detail":{"k":1},"final":true,"message":"no money"}`
	claim("refund").has("tasks.0.input", `{"note":1,"why":"DECLINED"}`).has("tasks.0.error", failure)
	if got := e.node("refund").text("input.why"); got != "DECLINED" {
		t.Errorf("got input %q of refund", got)
	}
	e.send("refund/success", `{}`).is(202)
	claim("tell").has("tasks.0.input", `{"n":1}`).has("tasks.0.error", "<none>")
	e.send("tell/success", `{}`).is(202)
	e.view().has("status", "FAILED").has("failedNodeId", "pay").has("error", failure)
}

// EXE-8: an input that cannot be evaluated fails the Task before a worker gets it; one that never can is refused.
func TestAnInputThatCannotBeEvaluatedFailsTheTask(t *testing.T) {
	s := newServer(t)
	e := s.started(inputGraph)
	e.send("quote/start", `{"attempt":1}`).is(202)
	e.send("quote/success", `{"output":{"sum":1}}`).is(202)
	if got := e.node("pay").text("error.code"); got != "ERR_EXPRESSION" {
		t.Errorf("got %s", e.view().body)
	}
	if got := e.node("refund").text("input.why"); got != "ERR_EXPRESSION" {
		t.Errorf("got input %q of refund", got)
	}
	s.do("PUT", "/graphs/later", strings.Replace(inputGraph, "outputs.quote.total", "outputs.tell.total", 1)).is(422).
		has("error.details.nodeId", "pay").has("error.details.field", "input.amount")
}
