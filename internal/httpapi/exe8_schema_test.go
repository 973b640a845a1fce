package httpapi_test

import (
	"strings"
	"testing"
)

// EXE-8: a Wait says what it asks, and a resume that does not fit its schema changes nothing.
func TestAResumeFitsTheSchemaOfItsWait(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},
		{"nodeId":"approve","type":"Wait","prompt":{"title":"Pay?","text":"Look twice.","fields":{"n":"input.n"}},
			"schema":{"required":["approved"],"properties":{"approved":{"type":"boolean"},"why":{"maxLength":3}}}},
		{"nodeId":"paid","type":"Success"},{"nodeId":"declined","type":"Failed"}],
		"edges":[{"from":"start","to":"approve"},{"from":"approve","to":"paid","when":"output.approved"},
			{"from":"approve","to":"declined"}]}`)
	const asked = `{"fields":{"n":1},"text":"Look twice.","title":"Pay?"}`
	if got := e.node("approve").text("prompt"); got != asked {
		t.Errorf("got prompt %s", got)
	}
	before := e.view().body
	for body, want := range map[string]string{
		`{}`:            "missing property 'approved'",
		`{"output":{}}`: "missing property 'approved'",
		`{"output":{"approved":"yes","why":"because"}}`: "output.why",
	} {
		r := e.sendOnce("corrected", "approve/resume", body).is(422).has("error.code", "OUTPUT_INVALID").
			has("error.details.nodeId", "approve").has("error.details.retryAdvice", "retry_after_fix")
		if got := r.text("error.details.problems"); !strings.Contains(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	if after := e.view().body; string(after) != string(before) {
		t.Errorf("a refused resume changed the execution from\n%s\nto\n%s", before, after)
	}
	e.sendOnce("corrected", "approve/resume", `{"output":{"approved":true}}`).is(202)
	if got := e.view().text("status"); got != "COMPLETED" {
		t.Errorf("got status %s", got)
	}
}
