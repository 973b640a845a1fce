package client_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"renga.dev/renga"
	"renga.dev/renga/client"
)

// between is the part of a text between two others.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, from)
	part, _, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("README.md has nothing between %q and %q", from, to)
	}
	return part
}

// TestTheWorkerOfTheReadmeWorks makes a module of the program of README.md as README.md says, lets it work the graph of
// README.md, and compares what it prints with README.md.
func TestTheWorkerOfTheReadmeWorks(t *testing.T) {
	t.Parallel()
	graph := between(t, renga.Readme, "/graphs/order -H 'Content-Type: application/yaml' --data-binary '", "'\n```")
	section := between(t, renga.Readme, "## A worker\n", "\n## ")
	source := between(t, section, "```go\n", "```")
	want := between(t, section, "```\n```\n", "```")
	s := newServer(t)
	c, ctx := dial(t, s.url), soon(t)
	if !strings.Contains(source, client.DefaultURL) {
		t.Fatalf("the program does not name %s", client.DefaultURL)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "worker")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(source, client.DefaultURL, s.url)), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	module := strings.NewReplacer("$HOME/renga", root, "go run .", "go build -o worker .").Replace(
		between(t, section, "```sh\n", "```"))
	build := exec.Command("bash", "-ec", module)
	if build.Dir = dir; !strings.Contains(module, "-replace renga.dev/renga="+root) {
		t.Fatalf("the section does not say where the module is:\n%s", module)
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s%v\n%s", module, err, out)
	}
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "order", []byte(graph)))
	made := must[client.Answer](t)(c.Send(ctx, client.CreateExecution{GraphID: "order", Input: map[string]int{
		"total": 4200,
	}, Start: true}))
	worker := exec.Command(program)
	var out bytes.Buffer
	worker.Stdout, worker.Stderr = &out, &out
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = worker.Process.Kill() }()
	e := ends(t, c, made.ExecutionID)
	if e.Status != client.Completed || string(e.Result) != `{"receipt":"R-1"}` {
		t.Errorf("the execution ended %s with %s", e.Status, e.Result)
	}
	if err := worker.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := worker.Wait(); err != nil || out.String() != want {
		t.Errorf("the worker ended with %v and printed %q, want %q", err, out.String(), want)
	}
	if lines := strings.Count(between(t, source, "w := client.Worker", "if err := w.Run"), "\n"); lines > 10 {
		t.Errorf("the worker has %d lines", lines)
	}
}
