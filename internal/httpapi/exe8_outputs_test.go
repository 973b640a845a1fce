package httpapi_test

import (
	"strings"
	"testing"
)

// EXE-8: a Task gets the outputs of the nodes before it, also through forks, joins and failure edges, and the route to
// those that are too large to be carried.
func TestATaskGetsTheOutputsOfAllNodesBeforeIt(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"quote","type":"Task"},
		{"nodeId":"fork","type":"Fork"},{"nodeId":"pay","type":"Task"},{"nodeId":"book","type":"Task"},
		{"nodeId":"join","type":"Join"},{"nodeId":"ship","type":"Task"},{"nodeId":"refund","type":"Task"},
		{"nodeId":"done","type":"Success"},{"nodeId":"ko","type":"Failed"}],
		"edges":[{"from":"start","to":"quote"},{"from":"quote","to":"fork"},{"from":"fork","to":"pay"},
		{"from":"fork","to":"book"},{"from":"pay","to":"join"},{"from":"book","to":"join"},{"from":"join","to":"ship"},
		{"from":"ship","to":"done"},{"from":"ship","to":"refund","on":"failure"},{"from":"refund","to":"ko"}]}`)
	claim := func(node string) reply {
		t.Helper()
		return s.postOnce("claim-"+node, "/tasks/claim", `{"workerId":"w"}`).is(200).has("tasks.0.nodeId", node)
	}
	claim("quote").has("tasks.0.outputs", `{}`).has("tasks.0.outputRefs", "<none>")
	large := `{"pages":"` + strings.Repeat("x", 5000) + `"}`
	e.send("quote/success", `{"output":`+large+`}`).is(202)
	claim("book").has("tasks.0.outputs", `{}`).has("tasks.0.outputRefs.quote.size", "5012")
	claim("pay")
	e.send("pay/success", `{"output":{"receipt":"R-1"}}`).is(202)
	e.send("book/success", `{}`).is(202)
	claim("ship").has("tasks.0.outputs", `{"pay":{"receipt":"R-1"}}`)
	e.send("ship/fail", `{"error":{"code":"LOST","message":"gone"}}`).is(202)
	first := claim("refund").has("tasks.0.outputs", `{"pay":{"receipt":"R-1"}}`).has("tasks.0.error.code", "LOST")
	if got := first.text("tasks.0.outputRefs.quote.seq"); got != e.node("quote").text("outputRef.seq") {
		t.Errorf("the ref names event %s", got)
	}
	if again := claim("refund"); string(again.body) != string(first.body) {
		t.Errorf("got %s, then %s", first.body, again.body)
	}
	output := "/executions/" + e.id + "/nodes/"
	if got := e.get(output + "quote/output").is(200); strings.TrimSpace(string(got.body)) != large {
		t.Errorf("got %.100s", got.body)
	}
	e.get(output+"pay/output").is(200).has("receipt", "R-1")
	e.get(output+"ship/output").is(404).has("error.code", "OUTPUT_NOT_FOUND")
	e.get(output+"x/output").is(404).has("error.code", "NODE_NOT_FOUND")
	e.get(output + "pay/output?at=1").is(422)
}
