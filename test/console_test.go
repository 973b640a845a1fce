package test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"renga.dev/renga/internal/platform/bus/jet/jettest"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// consoleFolder names the folder of the console, whose packages are installed. make test-web-postgres does it.
const consoleFolder = "RENGA_TEST_CONSOLE"

// storage is what processes share.
type storage struct {
	Database string `json:"database"`
	NATS     string `json:"nats"`
}

// TestTheConsoleOnPostgreSQL runs the browser tests of sessions and executions. Each server in them is two processes
// that share a database and a NATS server, and that get the requests of the browser in turn.
func TestTheConsoleOnPostgreSQL(t *testing.T) {
	folder := os.Getenv(consoleFolder)
	if folder == "" {
		t.Skip("SKIP: make test-web-postgres runs it, with a browser")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	wanted := make(chan chan storage)
	servant := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made := make(chan storage, 1)
		select {
		case wanted <- made:
			_ = json.NewEncoder(w).Encode(<-made)
		case <-r.Context().Done():
		}
	})}
	go func() { _ = servant.Serve(listener) }()
	t.Cleanup(func() { _ = servant.Close() })

	tests := exec.CommandContext(t.Context(), "npx", "playwright", "test", "--project=postgres")
	tests.Dir, tests.Stdout, tests.Stderr = folder, os.Stdout, os.Stderr
	tests.Env = append(os.Environ(), "RENGA_TEST_STORAGE=http://"+listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- tests.Run() }()
	for {
		select {
		case made := <-wanted:
			made <- storage{Database: pgtest.CopyOf(t, prepare), NATS: jettest.Start(t).URL()}
		case err := <-ended:
			if err != nil {
				t.Errorf("the browser tests ended with %v", err)
			}
			return
		}
	}
}
