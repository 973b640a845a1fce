package httpapi_test

import "testing"

// EXE-8: an error that is final ends the retries, and a Success node names what the end means.
func TestAFinalErrorEndsTheRetriesAndTheOutcomeIsShown(t *testing.T) {
	s := newServer(t)
	const graph = `{"nodes":[{"nodeId":"start","type":"Start"},
		{"nodeId":"pay","type":"Task","retry":{"maxAttempts":5,"initialInterval":"0s","except":["DECLINED"]}},
		{"nodeId":"paid","type":"Success","outcome":"paid"},{"nodeId":"unpaid","type":"Success","outcome":"declined"}],
		"edges":[{"from":"start","to":"pay"},{"from":"pay","to":"paid"},{"from":"pay","to":"unpaid","on":"failure"}]}`
	for _, tt := range []struct{ name, command, body, advice, outcome string }{
		{"final", "fail", `{"error":{"code":"NO_ACCOUNT","final":true}}`, "do_not_retry", "declined"},
		{"excepted", "fail", `{"error":{"code":"DECLINED","final":false}}`, "retry_with_backoff", "declined"},
		{"paid", "success", `{}`, "", "paid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := s.started(graph)
			e.send("pay/start", `{"attempt":1}`).is(202)
			e.send("pay/"+tt.command, tt.body).is(202)
			if got := e.view().text("outcome"); got != tt.outcome {
				t.Errorf("got outcome %q, want %q: %s", got, tt.outcome, e.view().body)
			}
			if tt.advice != "" {
				if got := e.node("pay").text("retryAdvice"); got != tt.advice {
					t.Errorf("got advice %q, want %q", got, tt.advice)
				}
			}
		})
	}
	e := s.started(graph)
	e.send("pay/start", `{"attempt":1}`).is(202)
	e.send("pay/fail", `{"error":{"final":"yes"}}`).is(422)
	if got := e.view().text("status"); got != "ACTIVE" {
		t.Errorf("a refused command changed the execution: %s", got)
	}
}
