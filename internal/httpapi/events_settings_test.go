package httpapi_test

import (
	"testing"
)

func TestATenantDecidesWhichEventsOfItsExecutionsArePublished(t *testing.T) {
	s := newServer(t)
	s.get("/events/settings").is(200).has("executions", "default")
	for _, word := range []string{"all", "none", "none", "default"} {
		s.do("PUT", "/events/settings", `{"executions":"`+word+`"}`, "X-Correlation-Id", "to-"+word).is(200).has(
			"executions", word)
		s.get("/events/settings").is(200).has("executions", word)
		s.get("/events/settings", "X-Tenant-Id", other).is(200).has("executions", "default")
	}
	for body, code := range map[string]string{
		`{}`: "INVALID_INPUT", `{"executions":"most"}`: "INVALID_INPUT",
		`{"executions":"all","more":1}`: "INVALID_INPUT",
	} {
		s.do("PUT", "/events/settings", body).is(422).has("error.code", code)
	}
	s.get("/events/settings").is(200).has("executions", "default")
	s.get("/audit?action=events.settings").is(200).has("total", "4").has("items.0.detail", `{"executions":"default"}`).
		has("items.3.detail", `{"executions":"all"}`).has("items.3.correlationId", "to-all").has("items.3.subject",
		"executions")
}
