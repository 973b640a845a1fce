package httpapi_test

import (
	"fmt"
	"testing"
)

// EXE-10: one node is cancelled.

func TestCancellingARunningNodeInterruptsItAndTakesTheFailureEdge(t *testing.T) {
	e := newServer(t).started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"undo","type":"Task"},
		{"nodeId":"done","type":"Success"},{"nodeId":"bad","type":"Failed"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"},{"from":"a","to":"undo","on":"failure",
		"when":"error.code == 'NODE_CANCELED'"},{"from":"undo","to":"bad"}]}`)
	e.send("a/start", `{"attempt":1,"workerId":"w"}`).is(202)
	before := e.log()
	e.send("a/cancel", `{"reason":"no longer needed"}`).is(202)
	e.grew(before, "NODE_CANCEL_REQUESTED a", "NODE_INTERRUPT_REQUESTED a", "NODE_CANCELED a", "NODE_READY undo")
	e.node("a").has("status", "CANCELED").has("canceledByExecution", "false").has("reason", "no longer needed")
	e.view().has("status", "ACTIVE").has("cancelRequestedAt", "null")
}

func TestCancellingANodeWithoutAFailureEdgeFailsTheExecution(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	before := e.log()
	e.send("a/cancel", "").is(202)
	e.grew(before, "NODE_CANCEL_REQUESTED a", "NODE_INTERRUPT_REQUESTED a", "NODE_CANCELED a",
		"EXECUTION_FAIL_REQUESTED", "EXECUTION_FAILED")
	e.view().has("status", "FAILED").has("failedNodeId", "a").has("error.code", "NODE_CANCELED")
}

// forked is a graph of two branches with a join of a policy.
func forked(policy string) string {
	return fmt.Sprintf(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},{"nodeId":"a",
			"type":"Task"},{"nodeId":"b","type":"Task"},
		{"nodeId":"join","type":"Join"%s},{"nodeId":"after","type":"Task"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"b"},{"from":"a",
		"to":"join"},{"from":"b","to":"join"},
		{"from":"join","to":"after"},{"from":"after","to":"done"}]}`,
		policy,
	)
}

func TestANodeThatIsCancelledInAForkIsACancelledBranch(t *testing.T) {
	e := newServer(t).started(forked(`,"policy":"ALL_DONE"`))
	before := e.log()
	e.send("a/cancel", "").is(202)
	e.grew(
		before,
		"NODE_CANCEL_REQUESTED a",
		"NODE_INTERRUPT_REQUESTED a",
		"NODE_CANCELED a",
		"JOIN_GATE_UPDATED join",
	)
	e.node("join").has("gate.canceledBranches", `["a"]`).has("gate.isPassable", "false")
	e.send("b/start", `{"attempt":1}`).is(202)
	e.send("b/success", "").is(202)
	e.node("after").has("status", "READY")
}

func TestCancellingATerminalNodeIsRefused(t *testing.T) {
	e := newServer(t).started(linear("default", "a", "b"))
	e.refused("node_not_terminal", "start/cancel", "")
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/success", "").is(202)
	e.refused("node_not_terminal", "a/cancel", "")
}

func TestANodeThatIsCancelledBeforeItIsReachedActsWhenItIs(t *testing.T) {
	e := newServer(t).started(linear("default", "a", "b"))
	before := e.log()
	e.send("b/cancel", "").is(202)
	e.grew(before, "NODE_CANCEL_REQUESTED b", "NODE_CANCELED b")
	e.send("a/start", `{"attempt":1}`).is(202)
	e.view().has("status", "ACTIVE")
	e.send("a/success", "").is(202)
	e.view().has("status", "FAILED").has("failedNodeId", "b").has("error.code", "NODE_CANCELED")
}
