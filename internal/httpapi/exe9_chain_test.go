package httpapi_test

import (
	"slices"
	"testing"
)

func TestCommandsOfWorkersCarryTheCorrelationIDOfTheExecution(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a", "b"))
	id := s.post("/executions", `{"graphId":"g","start":true}`, "X-Correlation-Id", "order-17").is(202).
		text("executionId")
	e := execution{s, id}
	s.post("/tasks/claim", `{"workerId":"w","queues":["default"],"max":1}`).is(200).
		has("tasks.0.executionId", id).has("tasks.0.correlationId", "order-17")
	done := e.send("a/success", `{"attempt":1,"workerId":"w","output":{}}`).is(202).has("correlationId", "order-17")
	if got := done.header.Get("X-Correlation-Id"); got != "order-17" {
		t.Errorf("the answer has the correlation id %q", got)
	}
	s.commands(nil, `{"command":"StartNode","executionId":"`+id+`","nodeId":"b","attempt":1,"workerId":"w",`+
		`"idempotencyKey":"k"}`).result(0).has("correlationId", "order-17")
	chains := func() (all []string) {
		for _, ev := range e.events() {
			all = append(all, ev.CorrelationID)
		}
		return slices.Compact(all)
	}
	if got := chains(); !slices.Equal(got, []string{"order-17"}) {
		t.Errorf("the events have the correlation ids %q", got)
	}
	e.send("cancel", `{}`, "X-Correlation-Id", "call-1").is(202).has("correlationId", "call-1")
	if got := chains(); !slices.Equal(got, []string{"order-17", "call-1"}) {
		t.Errorf("with an id of its own, a command leads to events with %q", got)
	}
}
