package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheProgramStoresDefinitionsAndPublishesTheirEvents goes through the wiring of the whole
// program: what is defined on the command line is announced on NATS, outlives a process
// that is killed, and is described to its users.
func TestTheProgramStoresDefinitionsAndPublishesTheirEvents(t *testing.T) {
	at := newSite(t)
	c := serve(t, at)
	renga := func(want int, args ...string) string {
		t.Helper()
		out, errs := command(t, c.url, want, args...)
		return out + errs
	}
	file := filepath.Join(t.TempDir(), "company.json")
	err := os.WriteFile(file, []byte(`[
		{"define": "role", "id": "0199c1a4-0000-7000-8000-000000000001", "name": "CEO"},
		{"define": "user", "id": "0199c1a4-0000-7000-8000-000000000021", "name": "Anna",
		"roleId": "0199c1a4-0000-7000-8000-000000000001"},
		{"define": "field", "object": "Lead", "name": "Tier__c", "label": "Tier", "type": "picklist",
		"values": ["Gold"], "sensitive": true},
		{"define": "workflow-rule", "id": "0199c1a4-0000-7000-8000-000000000052", "name": "Start", "object": "Lead",
		"on": ["create"], "when": "after",
			"actions": [{"key": "go", "type": "startGraph", "graphId": "missing"}]}]`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if out := renga(2, "metadata", "apply", "-f", file); !strings.Contains(out, `there is no graph "missing"`) ||
		!strings.Contains(out, "stored before this failed: 3 of 4") {
		t.Errorf("got %s", out)
	}
	eventually(t, "the events are published", signalTimeout, func() bool {
		return strings.Contains(renga(0, "events", "outbox", "-o", "json"), `"unpublished": 0`)
	})
	c.kill()
	c = serve(t, at)
	if out := renga(0, "metadata", "list", "user"); !strings.Contains(out, "Anna") ||
		!strings.Contains(out, "System") {
		t.Errorf("got %s", out)
	}
	if out := renga(0, "metadata", "describe", "Lead"); !strings.Contains(out, "Tier__c") ||
		!strings.Contains(out, "sensitive, custom") {
		t.Errorf("got %s", out)
	}
	if out := renga(4, "metadata", "delete", "role", "0199c1a4-0000-7000-8000-000000000001"); !strings.Contains(out,
		"user Anna") {
		t.Errorf("got %s", out)
	}
	if out := renga(0, "audit", "list", "--action", "metadata.put"); strings.Count(out, "metadata.put") != 3 {
		t.Errorf("got %s", out)
	}
}
