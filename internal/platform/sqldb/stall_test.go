package sqldb

import (
	"fmt"
	"log/slog"
	"regexp"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

func TestTheReasonIsTheLongestPart(t *testing.T) {
	for want, w := range map[string]waits{
		"queue":      {queue: 3, job: 2},
		"connection": {queue: 1, link: 2, job: 1},
		"lock":       {queue: 3, lock: 4, sync: 1},
		"job":        {job: 5, sync: 4},
		"sync":       {queue: 1, sync: 2},
		"retries":    {again: 9, job: 1},
	} {
		if got := w.reason(); got != want {
			t.Errorf("%+v: got %s, want %s", w, got, want)
		}
	}
}

// TestACommitThatIsHeldUpIsExplained has a job that waited in the queue while the log was
// shortened.
func TestACommitThatIsHeldUpIsExplained(t *testing.T) {
	said := &lines{}
	db := open(t, Config{Log: slog.New(slog.NewTextHandler(said, nil))})
	now := time.Now()
	j := &job{
		priority: Engine, ctx: t.Context(), fn: insert(1, 1), put: now.Add(-2 * time.Second),
		done: make(chan struct{}),
	}
	if err := db.lite().queue.put(j); err != nil {
		t.Fatal(err)
	}
	db.lite().loop.busy.did("checkpoint", now.Add(-2*time.Second), now)
	run(t, db)
	<-j.done
	if err := db.Write(t.Context(), Engine, insert(1, 2)); err != nil { // it is counted after the answer
		t.Fatal(err)
	}
	explained := regexp.MustCompile(
		`msg="a commit was held up" reason=queue behind=checkpoint ms=(\d{5,}|[2-9]\d{3})\b`)
	if got := db.Stats().Stalls; got == 0 || !explained.MatchString(said.String()) {
		t.Errorf("%d commits were held up, and the log says:\n%s", got, said)
	}
}

// TestACommitOnPostgreSQLThatIsHeldUpIsExplained holds the only places for writes.
func TestACommitOnPostgreSQLThatIsHeldUpIsExplained(t *testing.T) {
	said := &lines{}
	db := start(t, Config{URL: pgtest.New(t), Log: slog.New(slog.NewTextHandler(said, nil))})
	pg := db.base.(*postgres)
	for i := range someConns / 4 {
		if err := pg.others.Enter(t.Context(), fmt.Sprint("tenant ", i)); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- db.Write(t.Context(), Other, insert(1, 1)) }()
	timer := time.NewTimer(slow + slow/10)
	<-timer.C
	for i := range someConns / 4 {
		pg.others.Leave(fmt.Sprint("tenant ", i))
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := db.Stats().Stalls; got != 1 || !said.has(`msg="a commit was held up" reason=queue`) {
		t.Errorf("%d commits were held up, and the log says:\n%s", got, said)
	}
}

// TestACommitThatFailsIsExplainedToo has another program hold the lock of the file for longer
// than a commit waits.
func TestACommitThatFailsIsExplainedToo(t *testing.T) {
	said := &lines{}
	db := open(t, Config{Log: slog.New(slog.NewTextHandler(said, nil))})
	foreign, err := db.lite().wal.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.close()
	if _, err := foreign.exec(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	wait := fmt.Sprint("PRAGMA busy_timeout = ", (slow + slow/5).Milliseconds())
	if _, err := db.lite().conn.exec(t.Context(), wait); err != nil {
		t.Fatal(err)
	}
	run(t, db)
	if err := db.Write(t.Context(), Engine, insert(1, 1)); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("while the lock is held: %v", err)
	}
	if got := db.Stats().Stalls; got != 1 || !said.has(`msg="a commit was held up" reason=lock`) {
		t.Errorf("%d commits were held up, and the log says:\n%s", got, said)
	}
}
