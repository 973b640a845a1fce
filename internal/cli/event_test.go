package cli

import (
	"net"
	"regexp"
	"strings"
	"testing"
)

func TestTheTokenOfWorkflowEventsIsShownAndNeverPrinted(t *testing.T) {
	r := newRig(t, options{token: "s3cret"})
	t.Setenv("RENGA_SERVER", r.url)
	for _, args := range [][]string{
		{"event", "send"},
		{"event", "summary"},
		{"template", "list"},
		{"template", "show", "x"},
		{"template", "delete", "x"},
		{"template", "list", "--event-token", "s3cret-wrong"},
		{"template", "list", "--token", "s3cret-wrong"},
	} {
		out, errs, code := r.run(args...)
		if code != exitDenied || !strings.Contains(errs, "Invalid workflow event token.") ||
			!strings.Contains(errs, "AX_WORKFLOW_EVENT_TOKEN") {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
		if strings.Contains(out+errs, "s3cret") {
			t.Errorf("%v prints the token: %s%s", args, out, errs)
		}
	}
	r.must("", "template", "list", "--event-token", "s3cret")
	r.must("", "template", "list", "--token", "s3cret") // which goes as a bearer token
	t.Setenv("AX_WORKFLOW_EVENT_TOKEN", "s3cret")
	r.must("", "template", "list")
	if _, errs, code := r.run("event", "send", "--template", "x"); code != exitNotFound {
		t.Errorf("exit code %d: %s", code, errs)
	}
	t.Setenv("AX_WORKFLOW_EVENT_TOKEN", "s3\x01cret")
	if _, errs, code := r.run("template", "list"); code != exitUsage || strings.Contains(errs, "cret") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestAnEventWithoutAnAnswerShowsItsKey(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	r := &rig{t: t, clock: &clock{}}
	_, errs, code := r.run("event", "send", "--server", "http://"+address)
	if code != exitUnavailable || !regexp.MustCompile(`send it again with --key [A-Z2-7]{26}\n`).MatchString(errs) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	_, errs, code = r.run("event", "send", "--key", "mine", "--server", "http://"+address)
	if code != exitUnavailable || !strings.Contains(errs, "--key mine\n") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// The server takes the key in the body before the one beside it, so --key would do
// nothing: two files that are sent under one key would start two runs.
func TestAnEventHasOneKey(t *testing.T) {
	r := newRig(t, options{})
	t.Setenv("RENGA_SERVER", r.url)
	r.must(`{"name":"A","year":2026,"month":1,"steps":[{"action":"preflight","trigger_kind":"external_event"}]}`,
		"template", "apply", "--id", "a", "-f", "-")
	send := func(body string, args ...string) (string, int) {
		out, errs, code := r.runWith(Program{}, body, append([]string{"event", "send", "-f", "-"}, args...)...)
		return out + errs, code
	}
	for _, name := range []string{"idempotency_key", "idempotencyKey", "event_id", "eventId"} {
		if out, code := send(`{"`+name+`":"own"}`, "--key", "mine"); code != exitUsage ||
			!strings.Contains(out, `the key "own"`) {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
	}
	if out, code := send(`{"idempotency_key":"","event_id":null}`, "--key", "mine"); code != 0 ||
		!strings.Contains(out, "mine") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := send(`{"eventId":"mine"}`, "--key", "mine"); code != exitDuplicate {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := send(`{"eventId":"own"}`, "--server", "http://127.0.0.1:1"); code != exitUnavailable ||
		!strings.Contains(out, "--key own\n") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestTemplatesAndEventsAreReadFromStandardInput(t *testing.T) {
	r := newRig(t, options{})
	t.Setenv("RENGA_SERVER", r.url)
	template := `{"name":"A","year":2026,"month":1,"steps":[{"action":"preflight","trigger_kind":"external_event"}]}`
	if out := r.must(template, "template", "apply", "--id", "a", "-f", "-", "-o", "json"); !strings.Contains(out,
		`"change": "created"`) || !strings.Contains(out, `"graph_version": 1`) {
		t.Errorf("got %s", out)
	}
	if out := r.must(`{"event_id":"k"}`, "event", "send", "-f", "-"); !strings.Contains(out, "started") {
		t.Errorf("got %s", out)
	}
	if out, errs, code := r.runWith(Program{}, `{"event_id":"not a key"}`, "event", "send", "-f",
		"-"); code != exitUsage || !strings.Contains(errs, "the key of an event must be") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
