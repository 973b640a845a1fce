package test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestVerifyPrintsWhatItFound verifies a database for people and for scripts: sound,
// and then with a row that does not say what the log says.
func TestVerifyPrintsWhatItFound(t *testing.T) {
	at := newSite(t)
	server := serve(t, at)
	c := newClient(t, server, "c")
	c.put("line", graphs["line"])
	id := created(t, c, "line")
	server.stop()
	look := func(args ...string) (string, int) {
		t.Helper()
		return lookAt(t, at, args...)
	}
	if out, code := look(); code != 0 || out != "1 executions, 1 commits, 6 events, 0 snapshots: 0 problems\n" {
		t.Errorf("exit code %d: %s", code, out)
	}
	var found struct {
		Events   int
		Problems []struct{ ExecutionID, What string }
	}
	if out, code := look("-o", "json"); code != 0 || json.Unmarshal([]byte(out), &found) != nil || found.Events != 6 ||
		found.Problems == nil {
		t.Errorf("exit code %d: %s", code, out)
	}
	damage(t, at, "UPDATE engine_execution SET status = 1")
	if out, code := look("-q"); code != 1 || !strings.HasPrefix(out, id+": the row says COMPLETED") ||
		!strings.HasSuffix(out, ": 1 problems\n") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := look("-o", "json"); code != 1 || json.Unmarshal([]byte(out), &found) != nil ||
		len(found.Problems) != 1 || found.Problems[0].ExecutionID != id {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestVerifyFindsWaitsThatAreNotThoseOfTheLog damages the table of waits, and its index of assignees.
func TestVerifyFindsWaitsThatAreNotThoseOfTheLog(t *testing.T) {
	at := newSite(t)
	server := serve(t, at)
	c := newClient(t, server, "c")
	c.put("ask", `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"ask","type":"Wait","prompt":{"title":"Pay?"},
		"assignees":{"users":["ann"]}},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"ask"},{"from":"ask","to":"done"}]}`)
	q := c.request("CreateExecution", "", "", `"graphId":"ask","start":true`)
	if err := c.do(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	id := q.reply().ExecutionID
	server.stop()
	if out, code := lookAt(t, at); code != 0 || !strings.HasSuffix(out, ": 0 problems\n") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for _, d := range []struct{ statement, undo, says string }{
		{
			"UPDATE engine_wait SET prompt = ''", `UPDATE engine_wait SET prompt = '{"title":"Pay?"}'`,
			"among the waits node ask is not as in the log",
		},
		{
			"UPDATE engine_assignee SET assignee = 'user:ben'", "UPDATE engine_assignee SET assignee = 'user:ann'",
			`node ask is found by the assignees ["user:ben"], the log says ["user:ann"]`,
		},
		{
			"UPDATE engine_execution SET waiting = 0", "UPDATE engine_execution SET waiting = 1",
			"the row says that a node waits: false, the log: true",
		},
		{"DELETE FROM engine_wait", "", "node ask waits and is not among the waits"},
	} {
		damage(t, at, d.statement)
		if out, code := lookAt(t, at, "-q"); code != 1 || !strings.HasPrefix(out, id+": "+d.says+"\n") {
			t.Errorf("%s: exit code %d: %s", d.statement, code, out)
		}
		if d.undo != "" {
			damage(t, at, d.undo)
		}
	}
}

// lookAt verifies a database, and gives what the program says and its exit code.
func lookAt(t *testing.T, at site, args ...string) (string, int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := at.program(append([]string{"verify"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code > 1 || (err != nil) != (errs.Len() > 0) {
		t.Fatalf("exit code %d: %v: %s", code, err, &errs)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// damage runs a statement that no server would.
func damage(t *testing.T, at site, statement string) {
	t.Helper()
	err := app.WithDB(t.Context(), at.place(), func(db *sqldb.DB) error {
		return db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, statement)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// created is the id of a new execution.
func created(t *testing.T, c *client, graph string) string {
	t.Helper()
	q := c.request("CreateExecution", "", "", `"graphId":"`+graph+`"`)
	if err := c.do(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return q.reply().ExecutionID
}
