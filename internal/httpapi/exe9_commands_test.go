package httpapi_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// EXE-9: many commands in one request.

// commands sends commands to POST /commands.
func (s *server) commands(header []string, all ...string) reply {
	s.t.Helper()
	return s.do("POST", "/commands", `{"commands":[`+strings.Join(all, ",")+`]}`, header...)
}

// result is one result of a POST /commands as if it were the answer of the
// command's own endpoint.
func (r reply) result(i int) reply {
	r.t.Helper()
	inner := r
	inner.asked = fmt.Sprintf("%s, result %d", r.asked, i)
	inner.body = []byte(r.is(200).text(fmt.Sprintf("results.%d", i)))
	if _, err := fmt.Sscan(inner.text("status"), &inner.status); err != nil {
		r.t.Fatalf("%s: no status: %s", inner.asked, inner.body)
	}
	return inner
}

func TestEveryCommandCanBeSentInABatch(t *testing.T) {
	s := newServer(t)
	s.register("g", `{"nodes":[
		{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"b","type":"Task"},
		{"nodeId":"c","type":"Task"},
		{"nodeId":"done","type":"Success"},{"nodeId":"bad","type":"Failed"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"b"},{"from":"b","to":"done"},{"from":"b","to":"c",
		"on":"failure"},
		{"from":"c","to":"done"},{"from":"c","to":"bad","on":"failure"}]}`)
	r := s.commands([]string{"X-Correlation-Id", "corr"},
		`{"command":"CreateExecution","idempotencyKey":"k","graphId":"g","input":{"x":1}}`)
	e := execution{s, r.result(0).is(202).has("command", "CreateExecution").has("correlationId", "corr").has(
		"idempotencyKey", "k").text("executionId")}
	on := func(command, more string) string {
		return fmt.Sprintf(`{"command":%q,"idempotencyKey":"k-%[1]s-%d","executionId":%q%s}`, command, s.keys.Add(1),
			e.id, more)
	}
	r = s.commands(nil,
		on("StartExecution", ``),
		on("StartNode", `,"nodeId":"a","attempt":1,"workerId":"w"`),
		on("ReportNodeProgress", `,"nodeId":"a","progress":50,"message":"m","metrics":{}`),
		on("PutNodeWaiting", `,"nodeId":"a","waitKey":"k","prompt":{}`),
		on("ResumeNode", `,"nodeId":"a","resumeKey":"k"`),
		on("SucceedNode", `,"nodeId":"a","output":{"y":2},"attempt":1,"workerId":"w","next":true`),
		on("FailNode", `,"nodeId":"b","error":{"code":"E"}`),
		on("CancelNode", `,"nodeId":"c","reason":"r"`),
		on("ArchiveExecution", `,"reason":"r"`),
		on("CancelExecution", `,"reason":"r"`),
	)
	for i, command := range []string{
		"StartExecution", "StartNode", "ReportNodeProgress", "PutNodeWaiting", "ResumeNode", "SucceedNode", "FailNode",
		"CancelNode", "ArchiveExecution",
	} {
		r.result(i).is(202).has("command", command).has("accepted", "true").has("executionId", e.id)
	}
	r.result(5).has("task.nodeId", "b").has("task.outputs", `{"a":{"y":2}}`)
	r.result(9).refusedBy("execution_active")
	r.has("results.10", "<none>")
	e.view().has("status", "FAILED").has("failedNodeId", "c")
}

func TestAnInnerKeyIsTheKeyOfTheSingleEndpoint(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a", "b"))
	created := s.postOnce("k", "/executions", `{"graphId":"g","input":{"x":1}}`).is(202)
	inner := s.commands(nil,
		`{"command":"CreateExecution","idempotencyKey":"k","input":{"x":1.0},"graphId":"g"}`).result(0).is(200)
	if want := `{"status":200,` + string(created.body[1:]); inner.text(
		"executionId",
	) != created.text(
		"executionId",
	) ||
		!bytes.Contains(s.commands(nil,
			`{"command":"CreateExecution","idempotencyKey":"k","input":{"x":1},"graphId":"g"}`).body, []byte(want)) {
		t.Errorf("got %s, want %s", inner.body, want)
	}
	e := execution{s, created.text("executionId")}
	start := fmt.Sprintf(`{"command":"StartExecution","idempotencyKey":"k","executionId":%q}`, e.id)
	s.commands(nil, start).result(0).is(202)
	e.sendOnce("k", "start", "").is(200)
	e.sendOnce("k", "start", "{}").is(200)
	e.sendOnce("n", "a/start", `{"workerId":"w","attempt":1}`).is(202)
	node := fmt.Sprintf(
		`{"command":"StartNode","idempotencyKey":"n","executionId":%q,"nodeId":"a","attempt":1,"workerId":%%q}`,
		strings.ToUpper(e.id),
	)
	s.commands(nil, fmt.Sprintf(node, "w")).result(0).is(200)
	s.commands(nil, fmt.Sprintf(node, "v")).result(0).is(409).has("error.code", "IDEMPOTENCY_CONFLICT").has(
		"error.details.differs", `["workerId"]`)
	done := fmt.Sprintf(
		`{"command":"SucceedNode","idempotencyKey":"d","executionId":%q,"nodeId":"a","output":{"z":1},"next":true}`,
		e.id,
	)
	first := s.commands(nil, done).result(0).is(202)
	again := e.sendOnce("d", "a/success", `{"next":true,"output":{"z":1}}`).is(200)
	if first.text("task") != again.text("task") || again.text("task.nodeId") != "b" {
		t.Errorf("got %s, want %s", again.body, first.body)
	}
}

func TestTheSameCommandTwiceInOneRequestTakesEffectOnce(t *testing.T) {
	s := newServer(t)
	e := s.create(linear("default", "a"))
	start := fmt.Sprintf(`{"command":"StartExecution","idempotencyKey":"k","executionId":%q}`, e.id)
	create := `{"command":"CreateExecution","idempotencyKey":"c","graphId":"g"}`
	r := s.commands(nil, start, create, start, create, strings.Replace(start, `"k"`, `"other"`, 1))
	r.result(0).is(202)
	r.result(2).is(200)
	r.result(4).refusedBy("not_started")
	r.result(3).is(200).has("executionId", r.result(1).is(202).text("executionId"))
	s.get("/executions").has("total", "2")
}

func TestAMalformedCommandHasItsOwnAnswerAndTouchesNoOther(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	on := func(command, more string) string {
		return fmt.Sprintf(`{"command":%q,"idempotencyKey":%q,"executionId":%q%s}`, command, s.key(), e.id, more)
	}
	cases := []struct{ command, field, code string }{
		{`5`, "object", "INVALID_INPUT"},
		{`null`, "object", "INVALID_INPUT"},
		{`[]`, "object", "INVALID_INPUT"},
		{`{}`, "command", "INVALID_INPUT"},
		{`{"command":5}`, "command", "INVALID_INPUT"},
		{`{"command":"Destroy","idempotencyKey":"k"}`, "command", "INVALID_INPUT"},
		{`{"command":"ClaimTasks","idempotencyKey":"k"}`, "command", "INVALID_INPUT"},
		{`{"command":"ExpireDeadline","idempotencyKey":"k"}`, "command", "INVALID_INPUT"},
		{
			fmt.Sprintf(`{"command":"StartExecution","executionId":%q}`, e.id), "idempotencyKey",
			"IDEMPOTENCY_KEY_REQUIRED",
		},
		{
			fmt.Sprintf(`{"command":"StartExecution","idempotencyKey":"","executionId":%q}`, e.id), "idempotencyKey",
			"IDEMPOTENCY_KEY_REQUIRED",
		},
		{
			fmt.Sprintf(`{"command":"StartExecution","idempotencyKey":"é","executionId":%q}`, e.id), "idempotencyKey",
			"IDEMPOTENCY_KEY_INVALID",
		},
		{
			fmt.Sprintf(`{"command":"StartExecution","idempotencyKey":"%0256d","executionId":%q}`, 1, e.id),
			"idempotencyKey", "IDEMPOTENCY_KEY_INVALID",
		},
		{
			fmt.Sprintf(`{"command":"StartExecution","idempotencyKey":7,"executionId":%q}`, e.id), "idempotencyKey",
			"INVALID_INPUT",
		},
		{`{"command":"StartExecution","idempotencyKey":"k"}`, "executionId", "INVALID_INPUT"},
		{`{"command":"StartExecution","idempotencyKey":"k","executionId":5}`, "executionId", "INVALID_INPUT"},
		{`{"command":"CreateExecution","idempotencyKey":"k"}`, "graphId", "INVALID_INPUT"},
		{
			`{"command":"CreateExecution","idempotencyKey":"k","graphId":"g","executionId":"x"}`, "executionId",
			"INVALID_INPUT",
		},
		{on("StartExecution", `,"nodeId":"a"`), "nodeId", "INVALID_INPUT"},
		{on("SucceedNode", ``), "nodeId", "INVALID_INPUT"},
		{on("SucceedNode", `,"nodeId":7`), "nodeId", "INVALID_INPUT"},
		{on("SucceedNode", `,"nodeId":"a","reason":"r"`), "reason", "INVALID_INPUT"},
		{on("SucceedNode", `,"nodeId":"a","surprise":1`), "surprise", "INVALID_INPUT"},
		{on("SucceedNode", `,"nodeId":"a","output":5`), "output", "INVALID_INPUT"},
		{on("SucceedNode", `,"nodeId":"a","output":{"x":1,"x":2}`), "x", "INVALID_INPUT"},
		{on("SucceedNode", `,"nodeId":"a","output":{},"output":{}`), "output", "INVALID_INPUT"},
		{on("SucceedNode", `,"nodeId":"a","output":{"x":"`+"\xff"+`"}`), "UTF-8", "INVALID_INPUT"},
		{
			on(
				"SucceedNode",
				`,"nodeId":"a","output":`+strings.Repeat(`{"d":`, 80)+`1`+strings.Repeat(`}`, 80),
			), "deep",
			"INVALID_INPUT",
		},
		{on("StartNode", `,"nodeId":"a"`), "attempt", "INVALID_INPUT"},
		{on("StartNode", `,"nodeId":"a","attempt":0`), "attempt", "INVALID_INPUT"},
		{
			on("ReportNodeProgress", `,"nodeId":"a","progress":101`), "progress must be between 0 and 100",
			"INVALID_INPUT",
		},
		{on("FailNode", `,"nodeId":"a","error":{"kind":1}`), "error.kind", "INVALID_INPUT"},
	}
	before := e.log()
	var all []string
	for _, c := range cases {
		all = append(all, c.command)
	}
	all = append(all, on("StartNode", `,"nodeId":"a","attempt":1`))
	r := s.commands(nil, all...)
	for i, c := range cases {
		r.result(i).invalid(c.field).has("error.code", c.code)
	}
	r.result(len(cases)).is(202)
	e.grew(before, "NODE_STARTED a")
}

func TestACommandOnWhatDoesNotExistHasA404OfItsOwn(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	r := s.commands(nil,
		`{"command":"StartExecution","idempotencyKey":"k","executionId":"00000000-0000-7000-8000-000000000000"}`,
		`{"command":"StartExecution","idempotencyKey":"k","executionId":"nothing"}`,
		fmt.Sprintf(`{"command":"SucceedNode","idempotencyKey":"k","executionId":%q,"nodeId":"nowhere"}`, e.id),
		fmt.Sprintf(`{"command":"SucceedNode","idempotencyKey":"k","executionId":%q,"nodeId":"`+"\xff"+`"}`, e.id),
		`{"command":"CreateExecution","idempotencyKey":"k","graphId":"nowhere"}`,
		fmt.Sprintf(`{"command":"CancelExecution","idempotencyKey":"k","executionId":%q}`, e.id),
	)
	r.result(0).is(404).has("error.code", "EXECUTION_NOT_FOUND")
	r.result(1).is(404).has("error.code", "EXECUTION_NOT_FOUND")
	r.result(2).is(404).has("error.code", "NODE_NOT_FOUND")
	r.result(3).is(404).has("error.code", "NODE_NOT_FOUND")
	r.result(4).is(404).has("error.code", "GRAPH_NOT_FOUND")
	r.result(5).is(202)
}

func TestARequestThatIsNoListOfCommandsIsRefusedAsAWhole(t *testing.T) {
	s := newServer(t)
	e := s.create(linear("default", "a"))
	start := fmt.Sprintf(`{"command":"StartExecution","idempotencyKey":"k","executionId":%q}`, e.id)
	for _, body := range []string{
		`{}`, `[]`, `null`, `5`, `"x"`, `{"commands":{}}`, `{"commands":null}`, `{"commands":[]}`, `{"commands":[` +
			start + `],"more":1}`,
		`{"more":1,"commands":[` + start + `]}`, `{"commands":[` + start + `],"commands":[` + start + `]}`,
		`{"commands":[` + start + `]`,
		`{"commands":[` + start + `]}x`, `{"commands":[` + start + `]}{}`, `{"commands":[` + start + `,]}`,
		`{"commands":[` + start + `,{"command":]}`, `{`,
		`{"commands":[` + strings.Repeat(start+",", 500) + start + `]}`,
	} {
		s.do("POST", "/commands", body).is(422).has("error.code", "INVALID_INPUT")
	}
	s.do("POST", "/commands", "").is(422)
	e.logIs()
}

func TestFiveHundredCommandsAreAnsweredInOrder(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprintf(
			`{"command":"CreateExecution","idempotencyKey":"c%d","graphId":"g","input":{"i":%[1]d}}`, i))
	}
	r := s.commands(nil, all...).is(200)
	for _, i := range []int{0, 1, 250, 499} {
		e := execution{s, r.result(i).is(202).has("idempotencyKey", fmt.Sprint("c", i)).text("executionId")}
		e.view().has("input.i", fmt.Sprint(i))
	}
	s.get("/executions").has("total", "500")
}

func TestACommandThatIsTooLargeHasItsOwnAnswer(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	r := s.commands(
		nil,
		fmt.Sprintf(
			`{"command":"SucceedNode","idempotencyKey":"big","executionId":%q,"nodeId":"a","output":{"x":%q}}`,
			e.id,
			strings.Repeat("x", 1<<20),
		),
		fmt.Sprintf(
			`{"command":"StartNode","idempotencyKey":"small","executionId":%q,"nodeId":"a","attempt":1}`,
			e.id,
		),
	)
	r.result(0).is(413).has("error.code", "PAYLOAD_TOO_LARGE")
	r.result(1).is(202)
	s.do("POST", "/commands", `{"commands":["`+strings.Repeat("x", 8<<20)+`"]}`).is(413).has("error.code",
		"PAYLOAD_TOO_LARGE")
}
