package test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// testDatabase names the database that the tests of this run are about: SQLite, or
// postgres. make test runs both.
const testDatabase = "RENGA_TEST_DB"

func postgres() bool { return os.Getenv(testDatabase) == "postgres" }

// onSQLite skips a test that is about SQLite, or about no database, when the run is not.
func onSQLite(t testing.TB) {
	t.Helper()
	if postgres() {
		t.Skip("SKIP: this test is not about PostgreSQL")
	}
}

// onPostgres skips a test that is about PostgreSQL when the run is not.
func onPostgres(t testing.TB) {
	t.Helper()
	if !postgres() {
		t.Skipf("SKIP: this test is about PostgreSQL and runs with %s=postgres", testDatabase)
	}
}

// paired are the tests that run beside others.
var paired sync.Map

// together lets a test that has servers run beside others of its kind: they wait for disks
// and for each other most of their time. Full sizes are measured, and run alone.
func together(t testing.TB) {
	one, is := t.(*testing.T)
	if _, again := paired.LoadOrStore(t, true); !is || again || long() || strings.Contains(t.Name(), "/") {
		return
	}
	one.Parallel()
}

// alone lets a test that measures run beside no other.
func alone(t *testing.T) { paired.Store(t, true) }

// site is where a server keeps what it knows: a folder of its own, and a database
// that is in there or that it shares with others.
type site struct {
	dir      string
	database string   // of PostgreSQL; "": SQLite in the folder
	env      []string // of the server
	whole    bool     // all of its log is kept
}

// newSite is a site with nothing on it yet.
func newSite(t testing.TB) site {
	t.Helper()
	together(t)
	at := site{dir: filepath.Join(t.TempDir(), "data")}
	if postgres() {
		at.database = pgtest.CopyOf(t, prepare)
	}
	return at
}

// place is where the program finds its database.
func (s site) place() app.Place { return app.Place{DataDir: s.dir, DatabaseURL: s.database} }

// prepare makes all tables in a database.
func prepare(url string) error {
	db, err := sqldb.Open(context.Background(), sqldb.Config{URL: url, Migrations: app.Migrations()})
	if err != nil {
		return err
	}
	return db.Close()
}

// beside is the site of another process on the same database.
func (s site) beside(t testing.TB) site {
	s.dir = filepath.Join(t.TempDir(), "data")
	return s
}

// program is a command of the binary on what is at the site.
func (s site) program(args ...string) *exec.Cmd {
	cmd := renga(append(args, "--data-dir", s.dir)...)
	if s.database != "" {
		cmd.Env = append(cmd.Env, "RENGA_DATABASE_URL="+s.database)
	}
	return cmd
}
