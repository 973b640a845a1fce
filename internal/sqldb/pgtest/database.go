package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// databaseURL names the server to use instead of a throw-away one.
const databaseURL = "RENGA_TEST_DATABASE_URL"

// shared is the server that all tests of this binary use.
var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// New gives the URL of a fresh empty database.
func New(t testing.TB) string {
	t.Helper()
	if given := os.Getenv(databaseURL); given != "" {
		return createOn(t, given)
	}
	bin := programs(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = launch(bin, inMemory(), "", atTheirWord)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return createOn(t, shared.server.URL())
}

// createOn creates a database on a server that others use too, for as long as the test runs.
func createOn(t testing.TB, server string) string {
	t.Helper()
	psql, err := exec.LookPath("psql")
	if err != nil {
		psql = program(programs(t), "psql")
	}
	at, name, err := create(psql, server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := query(psql, server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return at
}

// create creates a database with a name of its own and gives its URL.
func create(psql, server string) (at, name string, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", "", err
	}
	name = "renga_" + strings.ToLower(rand.Text()[:12])
	u.Path = "/" + name
	return u.String(), name, query(psql, server, "CREATE DATABASE "+name)
}

// query runs one statement outside of a transaction.
func query(psql, server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--command="+statement, server)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", statement, err, out)
	}
	return nil
}
