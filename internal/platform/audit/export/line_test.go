package export

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
)

func TestLinesAreThoseOfTheDocument(t *testing.T) {
	delivery := audit.Entry{
		ID: "id-1", At: 1_767_600_000_000, Tenant: tenant, Actor: "bank", Action: "workflow_event", Subject: "run-1",
		CorrelationID: "call-1",
		Outcome:       audit.Accepted,
		Detail: []byte(`{"template_id":"t1","source":"bank","action":"preflight","duplicate":false,` +
			`"year":2026}`),
	}
	duplicate := delivery
	duplicate.Outcome, duplicate.ReasonCode, duplicate.RetryAdvice = audit.Skipped, fault.DuplicateKey.Code,
		fault.DuplicateKey.Advice
	refused := audit.Entry{
		ID: "id-2", At: 1_767_600_000_001, Tenant: tenant, Action: "workflow_event", Outcome: audit.Refused,
		Reason:      "Workflow template not found.",
		ReasonClass: fault.NoTemplate.Class, ReasonCode: fault.NoTemplate.Code, RetryAdvice: fault.NoTemplate.Advice,
		Detail: []byte(`{"template_id":"t9"}`),
	}
	failed := refused
	failed.Outcome = audit.Failed
	canceled := audit.Entry{
		ID: "id-3", At: 1_767_600_000_002, Tenant: tenant, Actor: "ann", Action: "execution.cancel",
		Subject: "run-1", Outcome: audit.Accepted, Detail: []byte(`{"cancelSeq":7}`),
	}
	skip := entry("letter-1")
	skip.ID, skip.Detail = "id-4", []byte(`{"consumer":"search","subject":"another"}`)
	const who = `"tenant":"` + tenant + `","audit_id":`
	for _, tt := range []struct {
		entry audit.Entry
		want  string
	}{
		{delivery, `{"at":"2026-01-05T08:00:00.000Z","event_type":"workflow_event","status":"success",` +
			`"action":"preflight","run_id":"run-1",` +
			`"details":{"template_id":"t1","source":"bank","action":"preflight","duplicate":false,"year":2026,` + who +
			`"id-1","actor":"bank","subject":"run-1",` +
			`"correlation_id":"call-1","reason":null,"reason_class":null,"reason_code":null,"retry_advice":null}}`},
		{duplicate, `{"at":"2026-01-05T08:00:00.000Z","event_type":"workflow_event","status":"skipped",` +
			`"action":"preflight","run_id":"run-1",` +
			`"details":{"template_id":"t1","source":"bank","action":"preflight","duplicate":false,"year":2026,` + who +
			`"id-1","actor":"bank","subject":"run-1",` +
			`"correlation_id":"call-1","reason":null,"reason_class":null,` +
			`"reason_code":"duplicate_idempotency_key","retry_advice":"do_not_retry"}}`},
		{refused, `{"at":"2026-01-05T08:00:00.001Z","event_type":"workflow_event","status":"rejected",` +
			`"action":null,"run_id":null,` +
			`"details":{"template_id":"t9",` + who + `"id-2","actor":null,"subject":null,"correlation_id":null,` +
			`"reason":"Workflow template not found.","reason_class":"template_conflict","reason_code":"http_404",` +
			`"retry_advice":"retry_after_fix"}}`},
		{failed, `{"at":"2026-01-05T08:00:00.001Z","event_type":"workflow_event","status":"failed","action":null,` +
			`"run_id":null,` +
			`"details":{"template_id":"t9",` + who + `"id-2","actor":null,"subject":null,"correlation_id":null,` +
			`"reason":"Workflow template not found.","reason_class":"template_conflict","reason_code":"http_404",` +
			`"retry_advice":"retry_after_fix"}}`},
		{canceled, `{"at":"2026-01-05T08:00:00.002Z","event_type":"execution.cancel","status":"success",` +
			`"action":"execution.cancel","run_id":"run-1",` +
			`"details":{"cancelSeq":7,` + who +
			`"id-3","actor":"ann","subject":"run-1","correlation_id":null,"reason":null,"reason_class":null,` +
			`"reason_code":null,"retry_advice":null}}`},
		{skip, `{"at":"2026-01-05T08:00:00.000Z","event_type":"dlq.skip","status":"success","action":"dlq.skip",` +
			`"run_id":null,` +
			`"details":{"consumer":"search",` + who +
			`"id-4","actor":"ann","subject":"letter-1","correlation_id":"call-1","reason":"merged by hand",` +
			`"reason_class":null,"reason_code":null,"retry_advice":null}}`},
	} {
		if got := string(appendLine(nil, &tt.entry)); got != tt.want+"\n" {
			t.Errorf("got  %swant %s", got, tt.want)
		}
	}
}

// TestNobodyCanMakeTwoLinesOfOne puts everything that anybody takes for the end of a
// line into every text of an entry, and reads the same texts back.
func TestNobodyCanMakeTwoLinesOfOne(t *testing.T) {
	evil := "a\n{\"at\":\"forged\"}\r\n\v\f\x1c\x1d\x1e\u0085\u2028\u2029\x00\x1b[2J\u009b2J\x7f\"\\\\z 請求書 🧾"
	note, err := json.Marshal(map[string]any{"notes": evil, evil: []string{evil}})
	if err != nil {
		t.Fatal(err)
	}
	// as another writer has them
	raw := []byte(strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(string(note)))
	e := audit.Entry{
		At: 1, Tenant: evil, ID: evil, Actor: evil, Action: "workflow_event", Subject: evil, CorrelationID: evil,
		Outcome: audit.Refused,
		Reason:  evil, ReasonClass: fault.ReasonClass(evil), ReasonCode: fault.ReasonCode(evil),
		RetryAdvice: fault.RetryAdvice(evil), Detail: raw,
	}
	got := string(appendLine(nil, &e))
	for i, r := range got {
		if unicode.IsControl(r) && i != len(got)-1 || r == '\u2028' || r == '\u2029' {
			t.Errorf("%U stands at %d of %q", r, i, got)
		}
	}
	var l line
	if err := json.Unmarshal([]byte(got), &l); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"notes", "tenant", "audit_id", "actor", "subject", "correlation_id", "reason",
		"reason_class", "reason_code", "retry_advice",
	} {
		if l.Details[name] != evil {
			t.Errorf("%s: got %q, want %q", name, l.Details[name], evil)
		}
	}
	if list, _ := l.Details[evil].([]any); len(list) != 1 || list[0] != evil {
		t.Errorf("inside: got %q", l.Details[evil])
	}
	n := 0
	for sc := bufio.NewScanner(strings.NewReader(got)); sc.Scan(); n++ {
	}
	if n != 1 {
		t.Errorf("%d lines", n)
	}
}

func TestALineIsWrittenWhateverADetailHolds(t *testing.T) {
	for _, detail := range []string{
		"", "{", `{"a":`, `{"a":1,"b`, "[]", "\xff", `{"a":"` + "\xff" + `"}`,
		`{"a":1,"a":2}`,
	} {
		e := entry("s")
		e.Detail = []byte(detail)
		var l line
		if err := json.Unmarshal(appendLine(nil, &e), &l); err != nil || l.Details["subject"] != "s" {
			t.Errorf("%q: %v %v", detail, l, err)
		}
	}
}

func BenchmarkLine(b *testing.B) {
	e := entry("0199c1a3-dead-7000-8000-000000000001")
	var buf []byte
	for b.Loop() {
		buf = appendLine(buf[:0], &e)
	}
	b.SetBytes(int64(len(buf)))
}
