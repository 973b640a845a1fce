package httpapi_test

import (
	"bytes"
	"fmt"
	"testing"
)

func TestABackfillNamesWhatIsWrongWithItsWindow(t *testing.T) {
	s := newServer(t)
	s.register("report", linear("default", "a"))
	s.do("PUT", "/schedules/daily", `{"graph":"report","cron":"30 2 * * *"}`).is(201)
	const path = "/schedules/daily/backfill"
	for _, c := range []struct{ body, field string }{
		{`{}`, "from"},
		{`{"from":"2025-01-10","to":"2025-01-12T00:00:00Z"}`, "from"},
		{`{"from":"2025-01-10T00:00:00Z"}`, "to"},
		{`{"from":"2025-01-10T00:00:00Z","to":"2025-01-10T00:00:00Z"}`, "to"},
		{`{"from":"2025-01-10T00:00:00Z","to":"2999-01-10T00:00:00Z"}`, "to"},
		{`{"from":"1990-01-10T00:00:00Z","to":"2025-01-10T00:00:00Z"}`, "from"},
		{`{"from":"2025-01-10T00:00:00Z","to":"2025-01-12T00:00:00Z","reason":"a\nb"}`, "reason"},
	} {
		s.post(path, c.body).invalid(c.field).has("error.details.field", c.field)
	}
	const body = `{"from":"2025-01-10T01:00:00+01:00","to":"2025-01-12T00:00:00Z"}`
	first := s.postOnce("k", path, body).is(200).has("from", "2025-01-10T00:00:00.000Z").has("instants", "2").
		has("queued", "2").has("covered", "0")
	if again := s.postOnce("k", path, body).is(200); !bytes.Equal(first.body, again.body) {
		t.Errorf("got %s, then %s", first.body, again.body)
	}
	s.postOnce("k", path, `{"from":"2025-01-10T00:00:00Z","to":"2025-01-13T00:00:00Z"}`).is(409)
	s.get("/schedules/daily/runs").has("total", "2").has("items.0.origin", "backfill").has("items.0.outcome", "QUEUED")
	s.post("/schedules/none/backfill", body).is(404).has("error.code", "SCHEDULE_NOT_FOUND")
	for i := range 3 {
		s.post(path, fmt.Sprintf(`{"from":"20%d-01-01T00:00:00Z","to":"20%d-01-01T00:00:00Z"}`, 22+i, 23+i)).is(
			[]int{200, 200, 413}[i])
	}
}

func TestAnExpressionOfATriggerThatNamesNothingSaysWhatThereIs(t *testing.T) {
	s := newServer(t)
	s.register("order", linear("default", "a"))
	for _, member := range []string{`"when":"event.id == 1"`, `"key":"event.id"`, `"input":{"a":"event.id"}`} {
		s.do("PUT", "/triggers/t", `{"graph":"order",`+member+`}`).
			invalid("undeclared reference to 'event'", "an expression sees the event as body and headers")
	}
}
