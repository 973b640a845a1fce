package sqldb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// TestTheLoopEndsWhenItsFilesAreGone takes the files away from under a database in every way
// that leaves it writing into files that nobody finds.
func TestTheLoopEndsWhenItsFilesAreGone(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(dir string) error
		want string
	}{
		"the folder is deleted": {func(dir string) (err error) {
			for range 100 { // a connection that is being opened may make a file in it meanwhile
				if err = os.RemoveAll(dir); err == nil {
					break
				}
			}
			return err
		}, "was "},
		"the folder is moved": {func(dir string) error { return os.Rename(dir, dir+".away") }, "was deleted or moved"},
		"the database is replaced": {func(dir string) error {
			other := filepath.Join(dir, "other.db")
			if err := os.WriteFile(other, nil, 0o600); err != nil {
				return err
			}
			return os.Rename(other, filepath.Join(dir, "test.db")) // in one step
		}, "was replaced"},
		"the lock is deleted": {func(dir string) error {
			return os.Remove(filepath.Join(dir, "test.db.lock"))
		}, "test.db.lock was deleted"},
		"the write-ahead log is deleted": {func(dir string) error {
			return os.Remove(filepath.Join(dir, "test.db-wal"))
		}, "test.db-wal was "}, // deleted, or replaced where a connection that was opened made a new one
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			db := open(t, Config{Path: filepath.Join(dir, "test.db")})
			db.lite().guard.every = time.Millisecond
			ended := make(chan error, 1)
			go func() { ended <- db.Run(context.WithoutCancel(t.Context())) }()
			if err := db.Write(t.Context(), Engine, insert(1, 1)); err != nil {
				t.Fatal(err)
			}
			if err := tc.do(dir); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Run: %v, want %q", err, tc.want)
			}
			if err := db.Write(t.Context(), Engine, insert(1, 2)); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("a later write: %v, want Unavailable", err)
			}
		})
	}
}

// TestNothingIsAcknowledgedOnceTheFilesAreGone notices the loss while a commit is under way.
func TestNothingIsAcknowledgedOnceTheFilesAreGone(t *testing.T) {
	db := open(t, Config{})
	gone := errors.New("gone")
	db.lite().conn.raw = &faulty{Conn: db.lite().conn.raw, fail: func(query string) error {
		if query == "COMMIT" {
			_ = db.lite().wal.end("test", gone)
		}
		return nil
	}}
	res := enqueue(t.Context(), db, Engine, insert(1, 1))
	if err := db.Run(t.Context()); !errors.Is(err, gone) {
		t.Errorf("Run: %v, want the reason", err)
	}
	if err := <-res; fault.KindOf(err) != fault.Unavailable {
		t.Errorf("the commit that was under way: %v, want Unavailable", err)
	}
}

// TestALostWriteAheadLogIsReportedAtTheStart copies the files of a database that is in use, as a
// kill leaves them, with and without the log.
func TestALostWriteAheadLogIsReportedAtTheStart(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "test.db")
	t.Run("use", func(t *testing.T) {
		db := start(t, Config{Path: path})
		if err := db.Write(t.Context(), Engine, insert(1, 1)); err != nil {
			t.Fatal(err)
		}
		copyFiles(t, dir, dir+".killed")
		copyFiles(t, dir, dir+".lost")
	})
	reopen := func(dir string) error {
		db, err := Open(t.Context(), Config{Path: filepath.Join(dir, "test.db"), Migrations: []Migration{rowTable}})
		if err == nil {
			err = db.Close()
		}
		return err
	}
	if err := errors.Join(reopen(dir), reopen(dir)); err != nil {
		t.Errorf("a database that was closed: %v", err)
	}
	if err := errors.Join(reopen(dir+".killed"), reopen(dir+".killed")); err != nil {
		t.Errorf("a database whose process was killed: %v", err)
	}
	lost := filepath.Join(dir+".lost", "test.db")
	if err := os.Remove(lost + "-wal"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a refusal changes nothing
		err := reopen(dir + ".lost")
		if err == nil || !strings.Contains(err.Error(), "the write-ahead log "+lost+"-wal is missing") {
			t.Errorf("without its log: %v, want a refusal", err)
		}
	}
	if err := os.Remove(lost + ".lock"); err != nil {
		t.Fatal(err)
	}
	if err := reopen(dir + ".lost"); err != nil {
		t.Errorf("after the operator has decided: %v", err)
	}
}

// copyFiles copies the files of a folder.
func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
