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

// TestCheckConsistencyPrintsWhatDiffers checks a database for people and for scripts: right,
// then with a count that is none, and right again when that was rebuilt.
func TestCheckConsistencyPrintsWhatDiffers(t *testing.T) {
	at := newSite(t)
	server := serve(t, at)
	renga := func(args ...string) string {
		t.Helper()
		out, _ := command(t, server.url, 0, args...)
		return out
	}
	renga("record", "create", "Opportunity", "--set", "Name=A", "--set", "StageName=Negotiation", "--set",
		"CloseDate=2026-02-28", "--set", "Amount:=5")
	eventually(t, "the deal is counted", signalTimeout,
		func() bool { return strings.Contains(renga("report", "pipeline"), "Negotiation") })
	if out := renga("report", "pipeline", "--group-by", "owner,stage", "--csv"); !strings.HasSuffix(out,
		",System,Negotiation,1,5,4.5\r\n") {
		t.Errorf("got %s", out)
	}
	server.stop()
	look := func(args ...string) (string, int) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := at.program(append([]string{"check", "consistency"}, args...)...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code > 1 || (err != nil) != (errs.Len() > 0) {
			t.Fatalf("exit code %d: %v: %s", code, err, &errs)
		}
		return out.String(), cmd.ProcessState.ExitCode()
	}
	if out, code := look(); code != 0 || !strings.HasSuffix(out, ": 0 differences\n") {
		t.Errorf("exit code %d: %s", code, out)
	}
	err := app.WithDB(t.Context(), at.place(), func(db *sqldb.DB) error {
		return db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			if _, err := tx.Exec(ctx,
				"UPDATE reporting_count SET n = 7 WHERE cube = 'stage' AND owner_id = ''"); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "UPDATE records_count SET n = n + 1"); err != nil {
				return err
			}
			_, err := tx.Exec(
				ctx,
				`INSERT INTO bus_parked (consumer, partition_key, n, event_id, event_type, at, version, idx, dead, body)
				VALUES ('search', 'a key', 1, 'an event', 'RecordUpdated', 1, 1, 0, 0, $1)`,
				[]byte("{}"),
			)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	var found app.Consistency
	if out, _ := look(); !strings.Contains(out, "1 events wait for another try") {
		t.Errorf("got %s", out)
	}
	if out, code := look("-o", "json"); code != 1 || json.Unmarshal([]byte(out), &found) != nil ||
		len(found.Differences) != 2 || found.Differences[0].Service != "records" ||
		found.Differences[1].Service != "reporting" || found.Parked != 1 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := look("--repair"); code != 1 || !strings.HasPrefix(out, "1 counts of records were put right\n") ||
		!strings.HasSuffix(out, ": 1 differences\n") {
		t.Errorf("exit code %d: %s", code, out)
	}
	server = serve(t, at)
	if out := renga("report", "rebuild"); !strings.Contains(out, "is under way") {
		t.Errorf("got %s", out)
	}
	eventually(t, "the counts are rebuilt", signalTimeout,
		func() bool { return strings.Contains(renga("report", "rebuilds"), "DONE") })
	if out := renga("execution", "list"); !strings.Contains(out, "reporting:rebuild") {
		t.Errorf("there is no execution of it: %s", out)
	}
	server.stop()
	if out, code := look(); code != 0 || !strings.HasSuffix(out, ": 0 differences\n") {
		t.Errorf("after a rebuild: exit code %d: %s", code, out)
	}
}
