package test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	product "renga.dev/renga"
	"renga.dev/renga/docs"
)

// masked hides what differs from run to run.
func masked(text string) string {
	for _, what := range []string{
		`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, `\d{4}-\d\d-\d\dT[\d:.]+Z`,
		`"0[0-9A-Z]{25}"`,
	} {
		text = regexp.MustCompile(what).ReplaceAllString(text, "…")
	}
	return text
}

// TestTheExamplesOfThePageAboutWorkflowEventsWork types what docs/workflow-events.md
// types, one line after the other, and compares what is printed.
func TestTheExamplesOfThePageAboutWorkflowEventsWork(t *testing.T) {
	onSQLite(t)
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIP: %s is not installed", tool)
		}
	}
	page, err := docs.Pages.ReadFile("workflow-events.md")
	if err != nil {
		t.Fatal(err)
	}
	const token = "AX_WORKFLOW_EVENT_TOKEN=change-me"
	if !strings.Contains(string(page), "export "+token) {
		t.Fatalf("the page does not set %s", token)
	}
	at := newSite(t)
	at.env = []string{token}
	s := serve(t, at)
	if typed := s.typeExamples(t, string(page), token); typed != 7 {
		t.Errorf("found %d examples, want 7", typed)
	}
}

// TestTheExamplesOfThePageAboutTriggersWork does the same with docs/triggers.md.
func TestTheExamplesOfThePageAboutTriggersWork(t *testing.T) {
	onSQLite(t)
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIP: %s is not installed", tool)
		}
	}
	page, err := docs.Pages.ReadFile("triggers.md")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, newSite(t))
	if typed := s.typeExamples(t, string(page)); typed != 5 {
		t.Errorf("found %d examples, want 5", typed)
	}
}

// TestTheExamplesOfThePageAboutWebhooksWork does the same with docs/webhooks.md.
func TestTheExamplesOfThePageAboutWebhooksWork(t *testing.T) {
	onSQLite(t)
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIP: %s is not installed", tool)
		}
	}
	page, err := docs.Pages.ReadFile("webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	if typed := serve(t, newSite(t)).typeExamples(t, string(page)); typed != 6 {
		t.Errorf("found %d examples, want 6", typed)
	}
}

// TestTheExamplesOfThePageAboutRecheckWork does the same with docs/recheck.md.
func TestTheExamplesOfThePageAboutRecheckWork(t *testing.T) {
	onSQLite(t)
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIP: %s is not installed", tool)
		}
	}
	page, err := docs.Pages.ReadFile("recheck.md")
	if err != nil {
		t.Fatal(err)
	}
	if typed := serve(t, newSite(t)).typeExamples(t, string(page)); typed != 7 {
		t.Errorf("found %d examples, want 7", typed)
	}
}

// TestTheExampleOfTheReadmeWorks types the example of README.md, one block after the other in one shell, and
// compares what is printed.
func TestTheExampleOfTheReadmeWorks(t *testing.T) {
	onSQLite(t)
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIP: %s is not installed", tool)
		}
	}
	_, section, _ := strings.Cut(product.Readme, "## An example\n")
	section, _, _ = strings.Cut(section, "\n## ")
	const mark = "--- end of block ---"
	var script strings.Builder
	var want []string
	for _, block := range strings.Split(section, "```sh\n")[1:] {
		typed, rest, _ := strings.Cut(block, "```\n")
		printed, _, _ := strings.Cut(strings.TrimPrefix(rest, "```json\n"), "```")
		script.WriteString(typed + "\necho; echo '" + mark + "'\n")
		want = append(want, masked(strings.TrimSpace(printed)))
	}
	if len(want) != 3 {
		t.Fatalf("found %d blocks, want 3", len(want))
	}
	s := serve(t, newSite(t))
	out, err := exec.Command("bash", "-euo", "pipefail", "-c",
		strings.ReplaceAll(script.String(), "127.0.0.1:8080", strings.TrimPrefix(s.url, "http://"))).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := strings.Split(masked(string(out)), mark)
	for i, want := range want {
		if diff := cmp.Diff(want, strings.TrimSpace(got[i])); diff != "" {
			t.Errorf("block %d (-README.md +printed):\n%s", i+1, diff)
		}
	}
}

// typeExamples types the examples of a page and compares what is printed. It gives their number.
func (c *child) typeExamples(t *testing.T, page string, env ...string) (typed int) {
	t.Helper()
	for _, block := range strings.Split(page, "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, example := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(example, "\n")
			cmd := exec.Command("bash", "-c", strings.ReplaceAll(line, "http://127.0.0.1:8080", c.url))
			cmd.Env = append(os.Environ(), env...)
			got, err := cmd.CombinedOutput()
			if err != nil || masked(strings.TrimSpace(string(got))) != masked(strings.TrimSpace(want)) {
				t.Errorf("%s\n%v\ngot  %s\nwant %s", line, err, got, want)
			}
			typed++
		}
	}
	return typed
}
