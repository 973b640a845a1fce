package test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// endsWithin is how soon a process must end whose data folder is gone.
const endsWithin = 5 * time.Second

// TestTheProcessEndsWhenItsDataFolderIsGone deletes, moves and replaces the data folder of a
// server. It ends with its message, and what it acknowledges until then it acknowledged before
// it could know.
func TestTheProcessEndsWhenItsDataFolderIsGone(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	for name, do := range map[string]func(dir string) error{
		"deleted": os.RemoveAll,
		"moved":   func(dir string) error { return os.Rename(dir, dir+".away") },
		"replaced": func(dir string) error {
			if err := os.Rename(dir, dir+".away"); err != nil {
				return err
			}
			return os.CopyFS(dir, os.DirFS(dir+".away"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := newSite(t)
			c := serve(t, at)
			caller := newClient(t, c, "caller")
			caller.put("line", graphs["line"])
			got, err := caller.try(t.Context(), caller.request("CreateExecution", "", "", `"graphId":"line"`))
			if err != nil || got.status != http.StatusAccepted {
				t.Fatalf("got %d %s %v", got.status, got.body, err)
			}
			stalls, began := stalltest.New(t), time.Now()
			if err := do(at.dir); err != nil {
				t.Fatal(err)
			}
			code := c.code(maxWait)
			if took := time.Since(began); took-stalls.Since(began) > endsWithin {
				t.Errorf("it ended after %v, want %v", took, endsWithin)
			}
			if code == 0 || !c.log.has("while this process had") {
				t.Errorf("it ended with code %d:\n%s", code, c.log)
			}
		})
	}
}

// TestALostLogAndAnOldDatabaseAreReportedAtTheStart starts a server on what a careless restore
// leaves: a database without its write-ahead log after a kill, and one that is older than the
// streams beside it.
func TestALostLogAndAnOldDatabaseAreReportedAtTheStart(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	at := newSite(t)
	refused := func(want string) {
		t.Helper()
		c, _ := launch(t, at)
		if code := c.code(maxWait); code != 1 || !c.log.has(want) {
			t.Fatalf("it ended with code %d, want a refusal that says %q:\n%s", code, want, c.log)
		}
	}
	lives := 0
	create := func(c *child) {
		t.Helper()
		lives++
		caller := newClient(t, c, fmt.Sprintf("caller%d", lives))
		got, err := caller.call(t.Context(), http.MethodPut, "/graphs/line", "", "", graphs["line"])
		if err != nil || got.status >= 300 {
			t.Fatalf("got %d %s %v", got.status, got.body, err)
		}
		for range 20 {
			got, err := caller.try(t.Context(), caller.request("CreateExecution", "", "", `"graphId":"line"`))
			if err != nil || got.status != http.StatusAccepted {
				t.Fatalf("got %d %s %v", got.status, got.body, err)
			}
		}
		eventually(t, "everything is published", maxWait, func() bool {
			_, _, text := ask(t, c.url, "GET", "/metrics", "")
			return strings.Contains(text, "\nrenga_log_unpublished 0\n")
		})
	}
	database := filepath.Join(at.dir, app.DatabaseFile)
	c := serve(t, at)
	create(c)
	c.stop()
	old, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}

	c = serve(t, at)
	create(c)
	c.kill()
	wal := database + "-wal"
	if err := os.Rename(wal, wal+".away"); err != nil {
		t.Fatal(err)
	}
	refused("renga.db-wal is missing")
	if err := os.Rename(wal+".away", wal); err != nil {
		t.Fatal(err)
	}
	serve(t, at).stop()
	verify(t, at)

	if err := os.WriteFile(database, old, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("is older than the folder")
	refused("is older than the folder") // nothing was touched
	if err := os.Rename(filepath.Join(at.dir, app.NATSFolder), filepath.Join(at.dir, "nats.away")); err != nil {
		t.Fatal(err)
	}
	c = serve(t, at)
	create(c)
	c.stop()
	verify(t, at)
}

// TestDamagedPagesShowInReadiness damages the table of keys in the file of a server that has not
// read it yet: every creation fails, nobody is advised to repeat one, and the server says that
// it is not ready.
func TestDamagedPagesShowInReadiness(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	at := newSite(t)
	c := serve(t, at)
	caller := newClient(t, c, "caller")
	caller.put("line", graphs["line"])
	c.stop()
	damageTable(t, at, "engine_key")
	c = serve(t, at)
	eventually(t, "the server is not ready", maxWait, func() bool {
		key := "X-Idempotency-Key: " + rand.Text()
		status, header, body := ask(t, c.url, "POST", "/executions", `{"graphId":"line"}`, key)
		later := header.Get("Retry-After")
		if status != http.StatusInternalServerError || later != "" ||
			!strings.Contains(body, `"retryAdvice":"retry_after_fix"`) {
			t.Fatalf("on damaged pages a creation is answered %d %s, Retry-After %q", status, body, later)
		}
		status, body = ready(t, c)
		return status == http.StatusServiceUnavailable && strings.Contains(body, `"database":"failed"`)
	})
}

// damageTable overwrites the first page of a table in the file of a server that does not run.
func damageTable(t *testing.T, at site, table string) {
	t.Helper()
	var page int64
	err := app.WithDB(t.Context(), app.Place{DataDir: at.dir, AsIs: true}, func(db *sqldb.DB) error {
		return db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Row(ctx, "SELECT rootpage FROM sqlite_schema WHERE name = $1", table).Scan(&page)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(at.dir, app.DatabaseFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte(strings.Repeat("\xff", 4096)), (page-1)*4096); err != nil {
		t.Fatal(err)
	}
}
