package httpapi_test

import (
	"bytes"
	"strings"
	"testing"
)

func TestAMessageResumesTheNodeThatAsksForIt(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},
		{"nodeId":"paid","type":"Wait","message":{"name":"paid","key":"input.n"},"schema":{"required":["amount"]}},
		{"nodeId":"ok","type":"Success"}],"edges":[{"from":"start","to":"paid"},{"from":"paid","to":"ok"}]}`)
	s.get("/waits").is(200).has("items.0.awaits", `{"key":"1","name":"paid"}`)
	e.view().is(200).has("nodes.1.awaits", `{"key":"1","name":"paid"}`)
	const body = `{"messageId":"order 1/a","name":"paid","key":"1","payload":{"amount":7}}`
	first := s.postOnce("k", "/messages", body).is(202).has("state", "RESUMED").has("duplicate", "false").
		has("deliveries.0.executionId", e.id).has("deliveries.0.nodeId", "paid").has("payload", "<none>")
	if again := s.postOnce("k", "/messages", body).is(200); !bytes.Equal(first.body, again.body) {
		t.Errorf("got %s, then %s", first.body, again.body)
	}
	s.post("/messages", body).is(200).has("duplicate", "true").has("state", "RESUMED")
	s.post("/messages", strings.Replace(body, "7", "8", 1)).is(409).has("error.code", "MESSAGE_EXISTS")
	s.postOnce("k", "/messages", strings.Replace(body, "7", "8", 1)).is(409).has("error.code", "IDEMPOTENCY_CONFLICT")
	s.get("/messages/order%201%2Fa").is(200).has("payload", `{"amount":7}`)
	e.view().is(200).has("status", "COMPLETED").has("nodes.1.output", `{"amount":7}`)
	s.get("/messages?name=paid&key=1&state=RESUMED").is(200).has("total", "1").has("items.0.payload", "<none>")
	s.get("/messages?state=KEPT").is(200).has("total", "0")
	for path, field := range map[string]string{"name=a b": "name", "key=": "key", "state=GONE": "state"} {
		s.get("/messages?" + strings.ReplaceAll(path, " ", "%20")).invalid(field)
	}
	s.get("/messages/none").is(404).has("error.code", "MESSAGE_NOT_FOUND")
	s.do("POST", "/messages", body).is(422).has("error.code", "IDEMPOTENCY_KEY_REQUIRED")
}

func TestAMessageOfAnotherTenantIsUnknown(t *testing.T) {
	s := newServer(t)
	const other = "00000000-0000-4000-8000-0000000000bb"
	const body = `{"messageId":"m1","name":"paid"}`
	s.post("/messages", body).is(202).has("state", "KEPT")
	s.do("GET", "/messages/m1", "", "X-Tenant-Id", other).is(404)
	s.do("GET", "/messages", "", "X-Tenant-Id", other).is(200).has("total", "0")
	s.do("POST", "/messages", body, "X-Tenant-Id", other, "X-Idempotency-Key", "k").is(202).has("duplicate", "false")
}
