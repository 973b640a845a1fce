package httpapi_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

// EVT-1..5: the events, as the running server writes them. (EVT-6 is held after
// every test, see server.verify.)

func TestTheServerWritesEachOfThe24EventsAndNoOther(t *testing.T) {
	s := newServer(t)
	seen := map[string]bool{}
	note := func(e execution) {
		for _, ev := range e.events() { // every event is held against the contract
			seen[ev.Type] = true
		}
	}
	complete := s.started(forked(""))
	for _, node := range []string{"a", "b", "after"} {
		complete.send(node+"/start", `{"attempt":1}`).is(202)
		complete.send(node+"/progress", `{"progress":1}`).is(202)
		complete.send(node+"/wait", "").is(202)
		complete.send(node+"/resume", "").is(202)
		complete.send(node+"/success", "").is(202)
	}
	complete.send("archive", "").is(202)
	note(complete)
	fail := s.started(linear("default", "a"))
	fail.send("a/start", `{"attempt":1}`).is(202)
	fail.send("a/fail", "").is(202)
	note(fail)
	nodeCancel := s.started(linear("default", "a"))
	nodeCancel.send("a/cancel", "").is(202)
	note(nodeCancel)
	cancel := s.started(linear("default", "a"))
	cancel.send("cancel", "").is(202)
	note(cancel)
	var want []string
	for _, typ := range flow.Types() {
		want = append(want, typ.String())
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) || len(want) != 24 {
		t.Errorf("got %d types %q\nwant %q", len(got), got, want)
	}
}

func TestAFailureCarriesItsErrorThroughAllItsEvents(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/fail", `{"error":{"code":"E","message":"why","detail":{"d":1}}}`).is(202)
	checked := 0
	for _, ev := range e.events() {
		switch ev.Type {
		case "NODE_FAIL_REPORTED", "NODE_FAILED", "EXECUTION_FAILED":
			failure, _ := ev.Payload["error"].(map[string]any)
			if failure["code"] != "E" || failure["message"] != "why" || fmt.Sprint(failure["detail"]) != "map[d:1]" {
				t.Errorf("%v says %v", ev, ev.Payload)
			}
			checked++
		}
	}
	if checked != 3 {
		t.Errorf("saw %d events of the failure", checked)
	}
	e.view().has("status", "FAILED").has("failedNodeId", "a").has("error.message", "why")
}

func TestAForkOpensAllBranchesAndTheJoinPassesWhenAllSucceeded(t *testing.T) {
	e := newServer(t).started(forked(""))
	e.logIs("EXECUTION_STARTED", "NODE_SUCCEEDED start", "NODE_SUCCEEDED fork", "FORK_OPENED fork", "NODE_READY a",
		"NODE_READY b")
	e.send("b/start", `{"attempt":1}`).is(202)
	before := e.log()
	e.send("b/success", "").is(202)
	e.grew(before, "NODE_SUCCEEDED b", "JOIN_GATE_UPDATED join")
	e.send("a/start", `{"attempt":1}`).is(202)
	before = e.log()
	e.send("a/success", "").is(202)
	e.grew(before, "NODE_SUCCEEDED a", "JOIN_GATE_UPDATED join", "JOIN_PASSED join", "NODE_SUCCEEDED join",
		"NODE_READY after")
	var gates []event
	for _, ev := range e.events() {
		if ev.Type == "JOIN_GATE_UPDATED" {
			gates = append(gates, ev)
		}
	}
	last := gates[1].Payload
	if fmt.Sprintf("%v %v %v %v %v %v", last["expectedBranches"], last["completedBranches"], last["failedBranches"],
		last["canceledBranches"],
		last["policy"], last["isPassable"]) != "[a b] [a b] [] [] ALL_SUCCESS true" {
		t.Errorf("the gate says %v", last)
	}
	if gates[0].Payload["isPassable"] != false {
		t.Errorf("the first update says %v", gates[0].Payload)
	}
}

func TestAJoinThatCanNoLongerPassFailsAtOnce(t *testing.T) {
	e := newServer(t).started(forked(""))
	e.send("b/start", `{"attempt":1}`).is(202)
	e.send("a/start", `{"attempt":1}`).is(202)
	before := e.log()
	e.send("a/fail", `{"error":{"code":"E"}}`).is(202)
	e.grew(before, "NODE_FAIL_REPORTED a", "NODE_FAILED a", "JOIN_GATE_UPDATED join", "NODE_FAIL_REPORTED join",
		"NODE_FAILED join",
		"EXECUTION_FAIL_REQUESTED", "NODE_INTERRUPT_REQUESTED b", "NODE_CANCELED b", "EXECUTION_FAILED")
	e.view().has("status", "FAILED").has("failedNodeId", "join").has("error.code", "JOIN_NOT_PASSABLE")
	e.node("b").has("canceledByExecution", "false")
}

func TestAJoinThatCanNoLongerPassTakesItsFailureEdge(t *testing.T) {
	e := newServer(t).started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},{"nodeId":"a",
			"type":"Task"},{"nodeId":"b","type":"Task"},
		{"nodeId":"join","type":"Join"},{"nodeId":"mend","type":"Task"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"b"},{"from":"a",
		"to":"join"},{"from":"b","to":"join"},
		{"from":"join","to":"done"},{"from":"join","to":"mend","on":"failure"},{"from":"mend","to":"done"}]}`)
	e.send("a/cancel", "").is(202)
	e.node("mend").has("status", "READY")
	e.node("b").has("status", "CANCELED")
}

func TestTheFirstSuccessPassesAnAnySuccessJoinAndCancelsTheRest(t *testing.T) {
	e := newServer(t).started(forked(`,"policy":"ANY_SUCCESS"`))
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("b/start", `{"attempt":1,"workerId":"w"}`).is(202)
	before := e.log()
	e.send("a/success", "").is(202)
	e.grew(before, "NODE_SUCCEEDED a", "JOIN_GATE_UPDATED join", "NODE_CANCEL_REQUESTED b",
		"NODE_INTERRUPT_REQUESTED b", "NODE_CANCELED b",
		"JOIN_PASSED join", "NODE_SUCCEEDED join", "NODE_READY after")
	e.send("b/success", `{"output":{"late":true}}`).refusedBy("node_running").has("error.details.lateResultKept",
		"true")
}

func TestACustomJoinIsDecidedByItsExpression(t *testing.T) {
	e := newServer(t).started(
		forked(
			`,"policy":"CUSTOM",` +
				`"expression":"size(completed) >= 1 && size(failed) + size(completed) == size(expected)"`,
		))
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/success", "").is(202)
	e.node("join").has("gate.isPassable", "false")
	e.send("b/start", `{"attempt":1}`).is(202)
	e.send("b/fail", "").is(202)
	e.node("after").has("status", "READY")
	lost := e.server.started(forked(`,"policy":"CUSTOM","expression":"size(completed) > 1"`))
	lost.send("a/start", `{"attempt":1}`).is(202)
	lost.send("a/fail", "").is(202) // whatever b does, it cannot pass: that shows when b has ended
	lost.view().has("status", "ACTIVE")
	lost.send("b/cancel", "").is(202)
	lost.view().has("status", "FAILED").has("failedNodeId", "join").has("error.code", "JOIN_NOT_PASSABLE")
}

func TestAllDonePassesWhateverTheBranchesEndedWith(t *testing.T) {
	e := newServer(t).started(forked(`,"policy":"ALL_DONE"`))
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/fail", "").is(202)
	e.node("join").has("status", "CREATED")
	e.send("b/cancel", "").is(202)
	e.node("after").has("status", "READY")
}

func TestWhenAnExecutionFailsItsLiveNodesAreInterrupted(t *testing.T) {
	e := newServer(t).started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},{"nodeId":"a",
			"type":"Task"},{"nodeId":"b","type":"Task"},
		{"nodeId":"w","type":"Wait"},{"nodeId":"join","type":"Join"},{"nodeId":"bad","type":"Failed"},
		{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"b"},{"from":"fork",
		"to":"w"},{"from":"a","to":"join"},{"from":"b","to":"join"},{"from":"w","to":"join"},
		{"from":"a","to":"bad","on":"failure"},{"from":"join","to":"done"}]}`)
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("b/start", `{"attempt":1,"workerId":"w"}`).is(202)
	before := e.log()
	e.send("a/fail", `{"error":{"code":"E"}}`).is(202)
	e.grew(before, "NODE_FAIL_REPORTED a", "NODE_FAILED a", "NODE_SUCCEEDED bad", "NODE_INTERRUPT_REQUESTED b",
		"NODE_CANCELED b",
		"NODE_INTERRUPT_REQUESTED w", "NODE_CANCELED w", "EXECUTION_FAILED")
	e.node("b").has("canceledByExecution", "false")
	e.view().has("status", "FAILED").has("failedNodeId", "a").has("error.code", "E")
}

func TestARetryMakesTheNodeReadyAgainAfterItsBackoff(t *testing.T) {
	s := newServer(t)
	e := s.started(retrying)
	e.send("a/start", `{"attempt":1}`).is(202)
	before := e.log()
	e.send("a/fail", `{"error":{"code":"E"}}`).is(202)
	e.grew(before, "NODE_FAIL_REPORTED a")
	s.advance(11 * time.Second)
	e.await("NODE_READY a", len(e.events())-1)
	e.grew(before, "NODE_FAIL_REPORTED a", "NODE_READY a")
	e.send("a/start", `{"attempt":2}`).is(202)
	e.send("a/success", "").is(202)
	e.view().has("status", "COMPLETED")
}
