package httpapi_test

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

const (
	eventsPath    = "/api/workflow-events"
	templatesPath = "/api/workflow-templates/"
)

// event delivers an event.
func (s *server) event(body string, header ...string) reply {
	s.t.Helper()
	return s.do("POST", eventsPath, body, header...)
}

// elsewhere lets the requests that follow act as a tenant who has nothing yet.
func (s *server) elsewhere() { s.tenant = uuid.NewString() }

// of names what a reply is about, for the messages of tests.
func (r reply) of(name string) reply { r.asked = name; return r }

// template stores a template with these steps, each "action kind", for February 2026
// unless the rest of its members says otherwise.
func (s *server) template(id string, rest string, steps ...string) {
	s.t.Helper()
	var list []string
	for _, step := range steps {
		action, kind, _ := strings.Cut(step, " ")
		list = append(list, fmt.Sprintf(`{"action":%q,"trigger_kind":%q}`, action, kind))
	}
	if rest == "" {
		rest = `"year":2026,"month":2`
	}
	body := fmt.Sprintf(`{"name":"The %s",%s,"steps":[%s]}`, id, rest, strings.Join(list, ","))
	if r := s.do("PUT", templatesPath+id, body); r.status != 200 && r.status != 201 {
		s.t.Fatalf("%s: got status %d: %s", r.asked, r.status, r.body)
	}
}

// refused demands a status and a message in the shape of workflow events, and the three
// words of its reason.
func (r reply) refused(status int, detail, reason string) reply {
	r.t.Helper()
	r.is(status)
	if want := fmt.Sprintf(`{"detail":%q}`, detail); string(r.body) != want {
		r.t.Errorf("%s: got %s, want %s", r.asked, r.body, want)
	}
	return r.because(reason)
}

// because demands the words of a reason in the headers.
func (r reply) because(reason string) reply {
	r.t.Helper()
	h := r.header
	if got := strings.TrimSpace(h.Get("X-Reason-Class") + " " + h.Get("X-Reason-Code") + " " +
		h.Get("X-Retry-Advice")); got != reason {
		r.t.Errorf("%s: got the reason %q, want %q", r.asked, got, reason)
	}
	return r
}

// ran demands a run and gives its id.
func (r reply) ran(duplicate bool) string {
	r.t.Helper()
	r.is(200).has("status", "ok").has("duplicate", fmt.Sprint(duplicate)).has("triggered", fmt.Sprint(!duplicate))
	if duplicate {
		r.because("duplicate_idempotency_key do_not_retry")
	} else {
		r.because("")
	}
	return r.text("run_id")
}

// month is the month that the server is in.
func (s *server) month() string { return s.clock.Now().UTC().Format("2006-01") }

// summary reads the summary of the present month.
func (s *server) summary(query string) reply {
	s.t.Helper()
	return s.get(eventsPath + "/summary?ym=" + s.month() + query).is(200)
}
