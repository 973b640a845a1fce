package cli

import (
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/bus"
)

func TestManyDeadLettersAreAskedAbout(t *testing.T) {
	r := newRig(t, options{events: true})
	t.Setenv("RENGA_SERVER", r.url)
	var letters []bus.DeadLetter
	for _, record := range []string{"x", "y", "z"} {
		letters = append(letters, r.mail.Kill("search", r.mail.Deleted(tenant, record))...)
	}
	for _, c := range []struct{ answer, status string }{
		{"\n", "OPEN"},
		{"no\n", "OPEN"},
		{"", "OPEN"},
		{"y\n", "APPLIED"},
	} {
		out, errs, code := r.runWith(Program{asks: true}, c.answer, "dlq", "redrive", "--consumer", "search")
		if code != 0 || !strings.Contains(errs, "Drive 3 dead letters again? [y/N]") ||
			!strings.Contains(out, letters[0].ID+"  PENDING  status=OPEN verdict=WILL_APPLY") {
			t.Fatalf("answered %q: exit code %d: %s%s", c.answer, code, out, errs)
		}
		if c.status == "OPEN" && !strings.Contains(errs, "nothing was decided; to do it: renga dlq bulk start ") {
			t.Errorf("answered %q: %s", c.answer, errs)
		}
		if shown := r.must("", "dlq", "show", letters[2].ID); !strings.Contains(shown, "status       "+c.status) {
			t.Errorf("answered %q: it is not %s:\n%s", c.answer, c.status, shown)
		}
	}
	letters = r.mail.Kill("search", r.mail.Deleted(tenant, "x"))
	if _, errs, _ := r.runWith(Program{asks: true}, "yes\n", "dlq", "skip", "--all", "--reason",
		"enough"); !strings.Contains(errs, "Skip 1 dead letter? [y/N]") {
		t.Errorf("asked: %s", errs)
	}
	if shown := r.must("", "dlq", "show", letters[0].ID); !strings.Contains(shown, "SKIPPED") ||
		!strings.Contains(shown, "enough") {
		t.Errorf("it is not skipped:\n%s", shown)
	}
}

func TestABulkAboutDeadLettersIsStartedAndStoppedByItsID(t *testing.T) {
	r := newRig(t, options{idle: true, events: true})
	t.Setenv("RENGA_SERVER", r.url)
	l := r.mail.Kill("search", r.mail.Deleted(tenant, "x"))[0]
	_, errs, _ := r.run("dlq", "redrive", "--all")
	id := errs[strings.LastIndexByte(strings.TrimSpace(errs), ' ')+1:]
	id = strings.TrimSpace(id)
	if out := r.must("", "dlq", "bulk", "start", id, "--no-wait"); out != "Started bulk "+id+
		". See how far it is: renga dlq bulk show "+id+"\n" {
		t.Errorf("started: %s", out)
	}
	if out := r.must("", "dlq", "bulk", "show", id); !strings.Contains(out, "RUNNING") {
		t.Errorf("running: %s", out)
	}
	if out := r.must("", "dlq", "bulk", "stop", id); !strings.Contains(out, "STOPPED") ||
		!strings.Contains(out, "1: 1 pending") {
		t.Errorf("stopped: %s", out)
	}
	if out := r.must("", "dlq", "bulk", "items", id, "--status", "PENDING"); !strings.Contains(out,
		l.ID+"  PENDING  status=OPEN verdict=WILL_APPLY") {
		t.Errorf("items: %s", out)
	}
	if out := r.must("", "dlq", "bulk", "show", id, "-o", "json"); !strings.Contains(out, `"command": "dlq.redrive"`) {
		t.Errorf("as JSON: %s", out)
	}
}

func TestAReplayThatIsNotWaitedForCanBeStopped(t *testing.T) {
	r := newRig(t, options{}) // nobody carries it out
	t.Setenv("RENGA_SERVER", r.url)
	out := r.must("", "events", "replay", "--consumer", "search", "--from", "1h", "--no-wait")
	id := strings.TrimSuffix(strings.Fields(out)[2], ".")
	if out := r.must("", "events", "stop-replay", id); !strings.Contains(out, "STOPPED") {
		t.Errorf("stopped: %s", out)
	}
	if out := r.must("", "events", "stop-replay", id, "-o", "json"); !strings.Contains(out, `"status": "STOPPED"`) {
		t.Errorf("stopped: %s", out)
	}
	if out := r.must("", "events", "schemas", "RecordCreated"); !strings.Contains(out,
		`"$schema": "https://json-schema.org/draft/2020-12/schema"`) {
		t.Errorf("a schema: %s", out)
	}
}
