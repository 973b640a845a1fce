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
		var out, errs bytes.Buffer
		cmd := at.program(append([]string{"verify"}, args...)...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code > 1 || (err != nil) != (errs.Len() > 0) {
			t.Fatalf("exit code %d: %v: %s", code, err, &errs)
		}
		return out.String(), cmd.ProcessState.ExitCode()
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
	err := app.WithDB(t.Context(), at.place(), func(db *sqldb.DB) error {
		return db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE engine_execution SET status = 1")
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, code := look("-q"); code != 1 || !strings.HasPrefix(out, id+": the row says COMPLETED") ||
		!strings.HasSuffix(out, ": 1 problems\n") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := look("-o", "json"); code != 1 || json.Unmarshal([]byte(out), &found) != nil ||
		len(found.Problems) != 1 || found.Problems[0].ExecutionID != id {
		t.Errorf("exit code %d: %s", code, out)
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
