package test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestTheProgramServesDeadLetters goes through the wiring of the whole program: a dead
// letter of a consumer that no process runs is read and decided about, and the decision
// waits for a reader, also over a restart.
func TestTheProgramServesDeadLetters(t *testing.T) {
	at := newSite(t)
	const tenant, id = "00000000-0000-0000-0000-000000000000", "0199c1a3-dead-7000-8000-000000000001"
	deadLetter(t, at, tenant, id)
	c := serve(t, at)
	renga := func(want int, args ...string) string {
		t.Helper()
		out, _ := command(t, c.url, want, args...)
		return out
	}
	for args, want := range map[string]string{
		"dlq list":                         id,
		"dlq show " + id:                   "it is broken",
		"events outbox":                    "PARTITION",
		"events consumers":                 "gone",
		"events schemas":                   "ExecutionChanged",
		"events replays":                   "REPLAY",
		"dlq bulk list":                    "BULK",
		"audit list":                       "ACTION",
		"dlq redrive --all":                "verdict=WILL_APPLY",
		"dlq redrive " + id + " --dry-run": "WILL_APPLY",
	} {
		if out := renga(0, strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("renga %s has no %q:\n%s", args, want, out)
		}
	}
	renga(3, "events", "replay", "--consumer", "gone", "--from", "1h") // this process does not know it
	renga(0, "dlq", "skip", id, "--reason", "the consumer is gone", "--no-wait", "--idempotency-key", "k")
	c.signal(syscall.SIGTERM)
	if code := c.code(signalTimeout); code != 0 {
		t.Fatalf("it ended with %d:\n%s", code, c.log)
	}
	report, err := os.ReadFile(filepath.Join(at.dir, app.ReportsFolder, "audit_log.jsonl"))
	if err != nil || bytes.Count(report, []byte("\n")) != 1 ||
		!bytes.Contains(report, []byte(`"event_type":"dlq.skip","status":"success"`)) {
		t.Errorf("the report: %v\n%s", err, report)
	}
	c = serve(t, at)
	if out := renga(0, "dlq", "show", id); !strings.Contains(out, "SKIPPING") ||
		!strings.Contains(out, "the consumer is gone") {
		t.Errorf("after a restart:\n%s", out)
	}
	// its first answer
	renga(0, "dlq", "skip", id, "--reason", "the consumer is gone", "--no-wait", "--idempotency-key", "k")
	renga(4, "dlq", "redrive", id)
	if out := renga(0, "audit", "list", "--subject", id); strings.Count(out, "dlq.skip") != 1 ||
		!strings.Contains(out, "refused: dead_letter_open") {
		t.Errorf("audit:\n%s", out)
	}
}

// deadLetter puts a dead letter into the database of a site that no program runs on.
func deadLetter(t *testing.T, at site, tenant, id string) {
	t.Helper()
	db, err := app.OpenDB(t.Context(), at.place())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	err = db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(
			ctx,
			`INSERT INTO bus_dead (id, tenant_id, consumer, part, status, partition_key, event_id, event_type,
				version, idx,
			reason_class, reason_code, retry_advice, error, attempts, errors, first_failed_at, dead_at, redrive_at,
			decided_by, decided_at, reason, ended_at, body)
			VALUES ($1, $2, 'gone', 1, 0, $3, 'e', 'RecordDeleted', 5, 0, 'infra', 'HANDLER_FAILED',
			'retry_with_backoff', 'it is broken', 1, '[]', 5, 5, 0, '', 0, '', 0, $4)`,
			id,
			tenant,
			"Account:"+tenant+":x",
			[]byte("{}"),
		)
		return err
	})
	stop()
	if broken := <-ended; err == nil {
		err = broken
	}
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatal(err)
	}
}
