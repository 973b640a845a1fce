package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// EXE-8: graphs, and what their nodes do.

func TestContentThatChangedBecomesANewVersion(t *testing.T) {
	s := newServer(t)
	first := s.do("PUT", "/graphs/g", linear("default", "a")).is(201).has("graphId", "g").has("version", "1")
	s.do("PUT", "/graphs/g", linear("default", "a")).is(200).has("version", "1").has("digest", first.text("digest"))
	s.do("PUT", "/graphs/g", strings.ReplaceAll(linear("default", "a"), `,"queue":"default"`, ``)).is(200).has(
		"version", "1")
	second := s.do("PUT", "/graphs/g", linear("default", "a", "b")).is(200).has("version", "2")
	if first.text("digest") == second.text("digest") {
		t.Error("two graphs have one digest")
	}
	s.do("PUT", "/graphs/g", linear("default", "a")).is(200).has("version", "3").has("digest", first.text("digest"))
	s.get("/graphs/g").is(200).has("version", "3").has("nodes.1.nodeId", "a").has("nodes.2.nodeId", "done")
	s.get("/graphs/g?version=2").is(200).has("version", "2").has("nodes.2.nodeId", "b").has("edges.1.from", "a")
	s.get("/graphs/g?version=4").is(404).has("error.code", "GRAPH_NOT_FOUND")
	for _, version := range []string{"0", "-1", "x", "", "1.5"} {
		s.get("/graphs/g?version=" + version).invalid("version")
	}
}

func TestTheVersionsOfAGraphAreListedNewestFirst(t *testing.T) {
	s := newServer(t)
	for i := range 12 {
		s.register("g", linear(fmt.Sprint("queue", i), "a"))
	}
	s.register("other", linear("default", "a"))
	first := s.get("/graphs/g/versions?page_size=10").is(200).has("total", "12").has("items.0.version", "12").
		has("items.0.graphId", "g").has("items.9.version", "3")
	if got, want := first.text("items.0.digest"), s.get("/graphs/g").text("digest"); got != want {
		t.Errorf("got digest %s, want %s", got, want)
	}
	s.get("/graphs/g/versions?page_size=10&page=2").is(200).has("items.1.version", "1").has("items.2", "<none>")
	s.get("/graphs/none/versions").is(404).has("error.code", "GRAPH_NOT_FOUND")
	s.do("GET", "/graphs/g/versions", "", "X-Tenant-Id", "11111111-1111-1111-1111-111111111111").is(404)
}

func TestACheckSaysWhatAPutWouldSayAndStoresNothing(t *testing.T) {
	s := newServer(t)
	check := func(source string) reply {
		body, _ := json.Marshal(map[string]string{"graphId": "g", "source": source})
		return s.do("POST", "/graphs/check", string(body)).is(200)
	}
	good := check(linear("default", "a")).has("valid", "true").has("errors", "[]").has("nodes", "3")
	for source, line := range map[string]string{
		"nodes:\n  - {nodeId: start, type: Start}\nedges: []\n":                              "2",
		"nodes:\n  - {nodeId: start, type: Start}\nedges: []\nonCancel: {graph: nowhere}\n":  "2",
		"{\"nodes\": [\n\n  {\"nodeId\": \"start\", \"type\": \"Start\"}\n], \"edges\": []}": "3",
		"{\"nodes\":\n": "2",
		"nodes:\n  - {nodeId: start, type: Start}\n  - nodeId: end\n    type: Success\n" +
			"edges: [{from: start, to: end}]\n" +
			"onCancel: {graph: nowhere}\n": "6",
	} {
		r := check(source).has("valid", "false").has("errors.0.code", "INVALID_GRAPH").has("errors.0.line", line)
		media := "application/yaml"
		if source[0] == '{' {
			media = "application/json"
		}
		s.do("PUT", "/graphs/g", source, "Content-Type", media).is(422).
			has("error.message", r.text("errors.0.message"))
	}
	s.do("POST", "/graphs/check", `{"graphId":"a b","source":"x"}`).invalid("graphId")
	s.do("POST", "/graphs/check", `{}`).invalid("source")
	s.get("/graphs").has("total", "0")
	if got := s.do("PUT", "/graphs/g", linear("default", "a")).is(201).text("digest"); got != good.text("digest") {
		t.Errorf("got digest %s, the check said %s", got, good.text("digest"))
	}
}

func TestASimulationPlaysAndStoresNothing(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	run := func(body string) reply { return s.do("POST", "/graphs/simulate", body) }
	run(`{"graphId":"g"}`).is(200).has("status", "COMPLETED").has("took", "1s")
	run(`{"graphId":"g","outcomes":{"a":["fail@1m:SOFT"]}}`).is(200).has("status", "FAILED").
		has("error.code", "SOFT").has("failedNodeId", "a").has("took", "1m0s")
	run(`{"graphId":"g","outcomes":{"a":{"do":"succeed","output":{"n":1}}},"cancelAfter":3}`).is(200).
		has("status", "CANCELED")
	run(`{"graphId":"g","outcomes":{"a":"succeed@8760h"},"lease":"1s"}`).invalid("events")
	run(`{"graphId":"g","outcomes":{"b":"lost"}}`).invalid("outcome")
	run(`{"graphId":"g","input":[]}`).invalid("input")
	run(`{"graphId":"nowhere"}`).is(404)
	run(`{"graphId":"g","version":2}`).is(404)
	run(`{}`).invalid("source")
	run(`{"source":"nodes: []"}`).is(422).has("error.code", "INVALID_GRAPH")
	s.get("/executions").has("total", "0")
}

func TestAnExecutionKeepsTheVersionItWasCreatedWith(t *testing.T) {
	s := newServer(t)
	old := s.create(linear("default", "a"))
	young := s.create(linear("default", "b", "c"))
	old.view().has("graphVersion", "1")
	young.view().has("graphVersion", "2")
	old.send("start", "").is(202)
	old.send("a/start", `{"attempt":1}`).is(202)
	old.send("a/success", "").is(202)
	old.view().has("status", "COMPLETED")
	created := old.events()[0].Payload
	if created["graphVersion"] != 1.0 || created["graphDigest"] != s.get("/graphs/g?version=1").text("digest") {
		t.Errorf("EXECUTION_CREATED says %v", created)
	}
}

func TestAGraphIsReadAsYAMLToo(t *testing.T) {
	s := newServer(t)
	asJSON := s.do("PUT", "/graphs/json", linear("default", "a")).is(201)
	const text = "nodes:\n- {nodeId: start, type: Start}\n- {nodeId: a, type: Task, queue: default}\n- {nodeId: " +
		"done, type: Success}\n" +
		"edges:\n- {from: start, to: a}\n- {from: a, to: done}\n"
	for i, media := range []string{"application/yaml", "application/x-yaml", "text/yaml"} {
		s.do("PUT", fmt.Sprint("/graphs/yaml", i), text, "Content-Type", media).is(201).has("digest",
			asJSON.text("digest"))
	}
	s.do("PUT", "/graphs/yaml", "nodes: [", "Content-Type", "application/yaml").is(422).has("error.code",
		"INVALID_GRAPH")
	s.do("PUT", "/graphs/yaml", text, "Content-Type", "application/json").is(422)
}

func TestGraphsAreListedByTheirNewestVersion(t *testing.T) {
	s := newServer(t)
	for _, id := range []string{"b", "a", "C"} {
		s.register(id, linear("default", "x"))
	}
	s.register("a", linear("default", "y"))
	s.get("/graphs").is(200).has("total", "3").has("items.0.graphId", "C").has("items.1.graphId", "a").has(
		"items.1.version", "2").
		has("items.2.graphId", "b").has("items.2.version", "1").has("items.3", "<none>")
}

func TestAGraphThatCannotRunIsRefusedAndTheNodeIsNamed(t *testing.T) {
	s := newServer(t)
	node := func(id, kind string) string { return fmt.Sprintf(`{"nodeId":%q,"type":%q}`, id, kind) }
	edge := func(from, to string) string { return fmt.Sprintf(`{"from":%q,"to":%q}`, from, to) }
	start, done := node("start", "Start"), node("done", "Success")
	for name, c := range map[string]struct {
		nodes, edges []string
		words        []string
	}{
		"a cycle": {
			[]string{start, node("a", "Task"), node("b", "Task"), done},
			[]string{edge("start", "a"), `{"from":"a","to":"b","when":"true"}`, edge("b", "a"), edge("a", "done")},
			[]string{"cycle"},
		},
		"a node that nothing reaches": {[]string{start, node("lost", "Task"), done}, []string{
			edge("start", "done"),
			edge("lost", "done"),
		}, []string{"lost"}},
		"a fork without its join": {
			[]string{start, node("f", "Fork"), node("a", "Task"), node("b", "Task"), done},
			[]string{edge("start", "f"), edge("f", "a"), edge("f", "b"), edge("a", "done"), edge("b", "done")},
			[]string{"f"},
		},
		"no terminal": {
			[]string{start, node("a", "Task")},
			[]string{edge("start", "a")},
			[]string{"terminal"},
		},
		"no start": {
			[]string{node("a", "Task"), done},
			[]string{edge("a", "done")},
			[]string{"Start"},
		},
		"two starts": {[]string{start, node("other", "Start"), done}, []string{
			edge("start", "done"),
			edge("other", "done"),
		}, []string{"other"}},
		"two unconditional edges": {
			[]string{start, node("a", "Task"), done, node("bad", "Failed")},
			[]string{edge("start", "a"), edge("a", "done"), edge("a", "bad")},
			[]string{"a"},
		},
		"a node twice": {
			[]string{start, node("a", "Task"), node("a", "Wait"), done},
			[]string{edge("start", "a"), edge("a", "done")},
			[]string{"a"},
		},
		"an edge to nowhere": {
			[]string{start, done},
			[]string{edge("start", "done"), edge("start", "nowhere")},
			[]string{"nowhere"},
		},
		"a type that does not exist": {[]string{start, node("a", "Loop"), done}, []string{
			edge("start", "a"),
			edge("a", "done"),
		}, []string{"Loop"}},
		"a name that is none": {[]string{start, node("a b", "Task"), done}, []string{
			edge("start", "a b"),
			edge("a b", "done"),
		}, []string{"a b"}},
		"a member that is unknown": {
			[]string{start, `{"nodeId":"a","type":"Task","retries":3}`, done},
			[]string{edge("start", "a"), edge("a", "done")},
			[]string{"retries"},
		},
		"a member of another type": {
			[]string{start, `{"nodeId":"w","type":"Wait","queue":"q"}`, done},
			[]string{edge("start", "w"), edge("w", "done")},
			[]string{"w", "queue"},
		},
		"a condition that is none": {
			[]string{start, done, node("bad", "Failed")},
			[]string{`{"from":"start","to":"done","when":"input. =="}`, edge("start", "bad")},
			[]string{"start"},
		},
		"a CUSTOM join without expression": {
			[]string{
				start, node("f", "Fork"), node("a", "Task"), node("b", "Task"),
				`{"nodeId":"j","type":"Join","policy":"CUSTOM"}`, done,
			},
			[]string{
				edge("start", "f"), edge("f", "a"), edge("f", "b"), edge("a", "j"), edge("b", "j"),
				edge("j", "done"),
			},
			[]string{"j"},
		},
		"a negative timeout": {
			[]string{start, `{"nodeId":"a","type":"Task","timeout":"-1s"}`, done},
			[]string{edge("start", "a"), edge("a", "done")},
			[]string{"a", "timeout"},
		},
		"a duration that is none": {
			[]string{start, `{"nodeId":"a","type":"Task","timeout":"soon"}`, done},
			[]string{edge("start", "a"), edge("a", "done")},
			[]string{"timeout"},
		},
		"an attempt limit below one": {
			[]string{start, `{"nodeId":"a","type":"Task","retry":{"maxAttempts":0}}`, done},
			[]string{edge("start", "a"), edge("a", "done")},
			[]string{"maxAttempts"},
		},
	} {
		body := fmt.Sprintf(`{"nodes":[%s],"edges":[%s]}`, strings.Join(c.nodes, ","), strings.Join(c.edges, ","))
		r := s.do("PUT", "/graphs/g", body)
		if r.status != 422 {
			t.Errorf("%s: got %d %s", name, r.status, r.body)
			continue
		}
		r.has("error.code", "INVALID_GRAPH").invalid(c.words...)
	}
	for _, body := range []string{
		"", "{}", "[]", "null", `{"nodes":[],"edges":[]}`, `{"nodes":{},"edges":[]}`,
		`{"nodes":[],"edges":[],"more":1}`, `{"nodes":[`,
	} {
		if r := s.do("PUT", "/graphs/g", body, "Content-Type", "application/json"); r.status != 422 {
			t.Errorf("%q: got %d %s", body, r.status, r.body)
		}
	}
	s.do("PUT", "/graphs/a%20b", linear("default", "a")).invalid("graphId")
	s.get("/graphs").has("total", "0")
}

func TestTheFirstEdgeWhoseConditionHoldsIsTaken(t *testing.T) {
	const choose = `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"big",
		"type":"Task"},{"nodeId":"vip","type":"Task"},
		{"nodeId":"rest","type":"Task"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"big","when":"output.total > 100"},{"from":"a",
		"to":"vip","when":"input.n == 1 && outputs.a.vip"},
		{"from":"a","to":"rest"},{"from":"big","to":"done"},{"from":"vip","to":"done"},{"from":"rest","to":"done"}]}`
	s := newServer(t)
	for output, want := range map[string]string{
		`{"total":200,"vip":true}`: "big", `{"total":1,"vip":true}`: "vip", `{"total":1,"vip":false}`: "rest",
	} {
		e := s.started(choose)
		e.send("a/start", `{"attempt":1}`).is(202)
		e.send("a/success", `{"output":`+output+`}`).is(202)
		e.node(want).has("status", "READY")
	}
}

func TestANodeFromWhichNoEdgeLeadsFails(t *testing.T) {
	e := newServer(t).started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"done","when":"output.ok"}]}`)
	e.send("a/start", `{"attempt":1}`).is(202)
	before := e.log()
	e.send("a/success", `{"output":{"ok":false}}`).is(202)
	e.grew(before, "NODE_FAIL_REPORTED a", "NODE_FAILED a", "EXECUTION_FAIL_REQUESTED", "EXECUTION_FAILED")
	e.view().has("status", "FAILED").has("failedNodeId", "a").has("error.code", "NO_EDGE")
	e.node("a").has("error.code", "NO_EDGE").has("reasonClass", "validation").has("retryAdvice", "retry_after_fix")
}

func TestAnExpressionThatFailsFailsItsNode(t *testing.T) {
	e := newServer(t).started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"done","when":"output.sum > 1"}]}`)
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/success", `{"output":{"sum":"much"}}`).is(202)
	e.view().has("status", "FAILED").has("error.code", "ERR_EXPRESSION")
}

func TestAWaitNodeIsResumedWithAnOutput(t *testing.T) {
	e := newServer(t).started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"w","type":"Wait","waitKey":"k"},{"nodeId":"done",
			"type":"Success"}],
		"edges":[{"from":"start","to":"w"},{"from":"w","to":"done"}]}`)
	e.logIs("EXECUTION_STARTED", "NODE_SUCCEEDED start", "NODE_READY w", "NODE_WAITING w")
	e.refused("resume_key", "w/resume", "")
	before := e.log()
	e.send("w/resume", `{"resumeKey":"k","output":{"approved":true}}`).is(202)
	e.grew(before, "NODE_RESUME_REQUESTED w", "NODE_RESUMED w", "NODE_SUCCEEDED w", "NODE_SUCCEEDED done",
		"EXECUTION_COMPLETED")
	e.view().has("result", `{"approved":true}`)
	e.node("w").has("output", `{"approved":true}`)
}

func TestAWaitNodeThatIsNotResumedInTimeFails(t *testing.T) {
	s := newServer(t)
	e := s.started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"w","type":"Wait","timeout":"1h"},
			{"nodeId":"late","type":"Task"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"w"},{"from":"w","to":"done"},{"from":"w","to":"late","on":"failure"},
		{"from":"late","to":"done"}]}`,
	)
	before := e.log()
	s.advance(59 * time.Minute)
	e.grew(before)
	s.advance(2 * time.Minute)
	e.await("NODE_READY late", 0)
	e.grew(before, "NODE_FAIL_REPORTED w", "NODE_FAILED w", "NODE_READY late")
	e.node("w").has("error.code", "ERR_TIMEOUT").has("status", "FAILED")
}

func TestATaskThatTakesTooLongFails(t *testing.T) {
	s := newServer(t)
	e := s.started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","timeout":"1m"},
			{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`,
	)
	e.send("a/start", `{"attempt":1}`).is(202)
	s.advance(50 * time.Second)
	e.send("a/progress", `{"progress":1}`).is(202) // progress does not stretch a timeout
	s.advance(11 * time.Second)
	e.await("EXECUTION_FAILED", 0)
	e.view().has("error.code", "ERR_TIMEOUT").has("failedNodeId", "a")
}

func TestReachingFailedFailsAndReachingCanceledCancels(t *testing.T) {
	s := newServer(t)
	graph := func(kind string) string {
		return fmt.Sprintf(
			`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"end","type":%q}],
			"edges":[{"from":"start","to":"a"},{"from":"a","to":"end"}]}`,
			kind,
		)
	}
	failed := s.started(graph("Failed"))
	failed.send("a/start", `{"attempt":1}`).is(202)
	failed.send("a/success", "").is(202)
	failed.view().has("status", "FAILED").has("failedNodeId", "end").has("error.code", "FAILED")
	canceled := s.started(graph("Canceled"))
	canceled.send("a/start", `{"attempt":1}`).is(202)
	before := canceled.log()
	canceled.send("a/success", "").is(202)
	canceled.grew(
		before,
		"NODE_SUCCEEDED a",
		"NODE_SUCCEEDED end",
		"EXECUTION_CANCEL_REQUESTED",
		"EXECUTION_CANCELED",
	)
	canceled.view().has("status", "CANCELED").has("cancel.requestedBy.kind", "system")
}

func TestAFailureEdgeIsTakenWithTheError(t *testing.T) {
	e := newServer(t).started(
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"fix","type":"Task"},
			{"nodeId":"done","type":"Success"},{"nodeId":"bad","type":"Failed"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"},{"from":"a","to":"fix","on":"failure",
		"when":"error.code == 'SOFT'"},{"from":"a","to":"bad","on":"failure"},{"from":"fix","to":"done"}]}`)
	e.send("a/start", `{"attempt":1}`).is(202)
	before := e.log()
	e.send("a/fail", `{"error":{"code":"SOFT"}}`).is(202)
	e.grew(before, "NODE_FAIL_REPORTED a", "NODE_FAILED a", "NODE_READY fix")
}
