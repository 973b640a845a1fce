package cli

import (
	"strings"
	"testing"
)

// TestTheAuditLogNamesWhatDefinitionsAreAbout shows names in place of ids, also behind the kind of a definition.
func TestTheAuditLogNamesWhatDefinitionsAreAbout(t *testing.T) {
	r := newRig(t, options{})
	t.Setenv("RENGA_SERVER", r.url)
	const id = "0199c1a4-0000-7000-8000-000000000021"
	r.must(`[{"define": "user", "id": "`+id+`", "name": "Anna", "subject": "anna"}]`, "metadata", "apply", "-f", "-")
	out := r.must("", "audit", "list", "--action", "metadata.put")
	if !strings.Contains(out, "user Anna ") || strings.Contains(out, id) {
		t.Errorf("the subject is not named:\n%s", out)
	}
}
