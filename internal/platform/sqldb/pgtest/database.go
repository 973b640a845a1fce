package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
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
	master string // the name of the database that CopyOf copies; "": there is none yet
	err    error
}

// New gives the URL of a fresh empty database.
func New(t testing.TB) string {
	t.Helper()
	if given := os.Getenv(databaseURL); given != "" {
		return createOn(t, given, "")
	}
	return createOn(t, ours(t), "")
}

// CopyOf gives the URL of a fresh database with what master has made in an empty one, once for
// all tests of this binary. On a server that others use too master does it for every test.
func CopyOf(t testing.TB, master func(url string) error) string {
	t.Helper()
	if os.Getenv(databaseURL) != "" {
		at := New(t)
		if err := master(at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	server := ours(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.master == "" {
		at, name, err := create(client(t), server, "")
		if err == nil {
			err = master(at)
		}
		if err != nil {
			t.Fatal(err)
		}
		shared.master = name
	}
	return createOn(t, server, shared.master)
}

// ours is the URL of the server of this binary.
func ours(t testing.TB) string {
	t.Helper()
	bin := programs(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = launch(bin, inMemory(), "", atTheirWord)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.URL()
}

// client is where psql is: beside the server, since what Debian has in the search path is a
// script that takes five times as long.
func client(t testing.TB) string {
	if dir := find(); dir != "" {
		psql := program(dir, "psql")
		if _, err := os.Stat(psql); err == nil {
			return psql
		}
	}
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Fatal(err)
	}
	return psql
}

// createOn creates a database, a copy of another one unless that is "", for as long as the
// test runs.
func createOn(t testing.TB, server, master string) string {
	t.Helper()
	psql := client(t)
	at, name, err := create(psql, server, master)
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
func create(psql, server, master string) (at, name string, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", "", err
	}
	name = "renga_" + strings.ToLower(rand.Text()[:12])
	u.Path = "/" + name
	statement := "CREATE DATABASE " + name
	if master != "" {
		statement += " TEMPLATE " + master + " STRATEGY file_copy"
	}
	return u.String(), name, query(psql, server, statement)
}

// query runs one statement outside of a transaction.
func query(psql, server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--command="+statement,
		server)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", statement, err, out)
	}
	return nil
}

// Restore gives the URL of a fresh database with what a dump in SQL holds.
func Restore(t testing.TB, dump io.Reader) string {
	t.Helper()
	at := New(t)
	cmd := exec.CommandContext(t.Context(), client(t), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--output="+
		os.DevNull, at)
	cmd.Stdin = dump
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the dump cannot be restored: %v: %s", err, out)
	}
	return at
}
