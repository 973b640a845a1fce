package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheProgramLetsRecordsBeApproved goes through the wiring of the whole program: a
// record is submitted and decided on the command line, across a process that is killed, and
// an operator who cancels the execution of another recalls it.
func TestTheProgramLetsRecordsBeApproved(t *testing.T) {
	at := newSite(t)
	c := serve(t, at)
	renga := func(want int, args ...string) string {
		t.Helper()
		out, errs := command(t, c.url, want, args...)
		return out + errs
	}
	file := filepath.Join(t.TempDir(), "company.json")
	err := os.WriteFile(file, []byte(`[
		{"define": "permission-set", "id": "0199c1a4-0000-7000-8000-000000000011", "name": "All", "viewAll": true},
		{"define": "user", "id": "0199c1a4-0000-7000-8000-000000000021", "name": "Anna",
		"permissionSetIds": ["0199c1a4-0000-7000-8000-000000000011"]},
		{"define": "user", "id": "0199c1a4-0000-7000-8000-000000000022", "name": "Ben",
		"managerId": "0199c1a4-0000-7000-8000-000000000021",
			"permissionSetIds": ["0199c1a4-0000-7000-8000-000000000011"]},
		{"define": "approval-process", "id": "0199c1a4-0000-7000-8000-000000000061", "name": "Accounts",
		"object": "Account", "lockedFields": ["Name"],
			"steps": [{"name": "Anna", "approvers": [{"type": "Manager", "id": "owner"}]}],
			"onApproved": {"Rating": "Hot"}}]`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	renga(0, "metadata", "apply", "-f", file)
	idIn := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	account := idIn.FindString(renga(0, "record", "create", "Account", "--set", "Name=Acme", "--owner",
		"0199c1a4-0000-7000-8000-000000000022"))
	shown := renga(0, "approval", "submit", "Account", account, "--comment", "please")
	id, execution := idIn.FindString(shown), idIn.FindString(shown[strings.Index(shown, "Execution"):])
	if !strings.Contains(shown, "PENDING") ||
		!strings.Contains(shown, "may decide, as manager of Ben") {
		t.Errorf("got %s", shown)
	}
	if out := renga(4, "record", "update", "Account", account, "--set", "Name=Other"); !strings.Contains(out,
		"locked until the approval "+id) {
		t.Errorf("got %s", out)
	}
	eventually(t, "Anna is notified", signalTimeout, func() bool {
		return strings.Contains(renga(0, "automation", "inbox", "--as", "0199c1a4-0000-7000-8000-000000000021"),
			"An approval waits for your decision.")
	})
	renga(4, "approval", "submit", "Account", account)
	renga(0, "execution", "cancel", execution, "--reason", "the operator")
	eventually(t, "the approval is recalled", signalTimeout,
		func() bool { return strings.Contains(renga(0, "approval", "show", id), "RECALLED") })
	if out := renga(4, "approval", "decide", id, "approve"); !strings.Contains(out, "recalled") {
		t.Errorf("got %s", out)
	}
	id = idIn.FindString(renga(0, "approval", "submit", "Account", account))
	c.kill()
	c = serve(t, at)
	if out := renga(0, "approval", "list", "--status", "PENDING"); !strings.Contains(out, id) ||
		strings.Count(out, "Account ") != 1 {
		t.Errorf("got %s", out)
	}
	if out := renga(0, "approval", "decide", id, "approve", "--comment", "OK"); !strings.Contains(out, "APPROVED") ||
		!strings.Contains(out, "in the place of") {
		t.Errorf("got %s", out)
	}
	eventually(t, "the outcome is written", signalTimeout, func() bool {
		return strings.Contains(renga(0, "approval", "show", id), "Rating = Hot (written)")
	})
	if out := renga(0, "record", "get", "Account", account); !strings.Contains(out, "Hot") {
		t.Errorf("got %s", out)
	}
	renga(0, "record", "update", "Account", account, "--set", "Name=Other")
	eventually(t, "the consumer has its place", signalTimeout,
		func() bool { return strings.Contains(renga(0, "events", "consumers"), "approval") })
	if out := renga(0, "dlq", "list", "-o", "json"); !strings.Contains(out, `"total": 0`) {
		t.Errorf("got %s", out)
	}
	renga(3, "approval", "show", account)
	renga(4, "approval", "recall", id)
}
