package export

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/sqldb"
)

// onSQLite is a rig for what does not depend on the database.
func onSQLite(t *testing.T) rig {
	return newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
}

// change rewrites a file of the folder.
func (r rig) change(name string, with func(raw []byte) []byte) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, with(raw), 0o600)
	}
	if err != nil {
		r.Fatal(err)
	}
}

func (r rig) remove(name string) {
	r.Helper()
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		r.Fatal(err)
	}
}

func TestEveryEntryIsWrittenOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		x := r.export(Config{})
		r.once(x)
		r.complete(r.dir)
		for range 5 {
			r.fill(150)
			r.once(x)
			r.complete(r.dir)
		}
		r.once(r.export(Config{})) // another process
		r.complete(r.dir)
	})
}

// TestWhatIsBehindThePlaceIsWrittenAgain leaves the file as crashes leave it: lines that
// are not in the place, a torn line, the rest of a page full of zeros.
func TestWhatIsBehindThePlaceIsWrittenAgain(t *testing.T) {
	for _, behind := range []string{`{"at":"20`, "\x00\x00\x00", "{}\n", strings.Repeat("x", 10_000) + "\n"} {
		r := onSQLite(t)
		r.fill(10)
		r.once(r.export(Config{}))
		r.change(fileName, func(raw []byte) []byte { return append(raw, behind...) })
		r.fill(10)
		r.once(r.export(Config{}))
		r.complete(r.dir)
	}
}

func TestFilesArePutAwayAtTheLimit(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		const limit = 4096
		for range 3 {
			r.fill(100)
			r.once(r.export(Config{MaxFile: limit}))
		}
		r.complete(r.dir)
		all := files(t, r.dir)
		if len(all) < 10 || filepath.Base(all[0]) != "audit_log-000001.jsonl" {
			t.Fatalf("got %q", all)
		}
		for i, name := range all {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > limit || i < len(all)-1 && info.Size() < limit/2 {
				t.Errorf("%s has %d bytes", name, info.Size())
			}
		}
	})
}

// TestARotationIsFinishedOrUndone meets every state that a crash can leave between
// the steps of a rotation.
func TestARotationIsFinishedOrUndone(t *testing.T) {
	for _, crash := range []string{"before the rename", "after the rename", "with a new file"} {
		t.Run(crash, func(t *testing.T) {
			r := onSQLite(t)
			r.fill(10)
			r.once(r.export(Config{}))
			p, known, err := readPlace(r.dir)
			if err != nil || !known {
				t.Fatal(p, err)
			}
			p.Rotating = 1
			if err := p.save(r.dir); err != nil {
				t.Fatal(err)
			}
			if crash != "before the rename" {
				if err := os.Rename(filepath.Join(r.dir, fileName), filepath.Join(r.dir, fmt.Sprintf(awayPattern,
					1))); err != nil {
					t.Fatal(err)
				}
			}
			if crash == "with a new file" {
				if err := os.WriteFile(filepath.Join(r.dir, fileName), []byte("{}\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r.fill(10)
			r.once(r.export(Config{}))
			r.complete(r.dir)
			if n, want := len(files(t, r.dir)),
				map[bool]int{true: 1, false: 2}[crash == "before the rename"]; n != want {
				t.Errorf("%d files, want %d", n, want)
			}
		})
	}
}

func TestAFileThatWasTakenAwayIsWrittenAgain(t *testing.T) {
	r := onSQLite(t)
	r.fill(100)
	r.once(r.export(Config{MaxFile: 8192}))
	n := len(files(t, r.dir))
	r.remove(fileName)
	said, log := newNotes()
	r.once(r.export(Config{MaxFile: 8192, Log: log}))
	r.complete(r.dir)
	if got := files(t, r.dir); len(got) != n ||
		!slices.Equal(said.said(), []string{"WARN the exported audit log was taken away and is written again"}) {
		t.Errorf("got %q, said %q", got, said.said())
	}
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	r.once(r.export(Config{}))
	r.complete(r.dir)
}

// TestWhatWasCutOffStaysSo cuts a file in the middle of a line, as an operator who wants
// room does.
func TestWhatWasCutOffStaysSo(t *testing.T) {
	r := onSQLite(t)
	r.write("1", "2", "3")
	r.once(r.export(Config{}))
	r.change(fileName, func(raw []byte) []byte { return raw[:len(raw)/2] })
	r.write("4")
	said, log := newNotes()
	r.once(r.export(Config{Log: log}))
	if got := subjects(t, r.dir); !slices.Equal(got, []string{"1", "4"}) || len(said.said()) != 1 {
		t.Errorf("got %q, said %q", got, said.said())
	}
}

// TestAFileThatChangesBesideIsNoticed truncates and moves the file while it is open.
func TestAFileThatChangesBesideIsNoticed(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"truncated": func(path string) error { return os.Truncate(path, 0) },
		"moved":     func(path string) error { return os.Rename(path, path+".old") },
		"appended": func(path string) error {
			return os.WriteFile(path, []byte("more than there was, by somebody else\n"), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := onSQLite(t)
			x := r.export(Config{})
			f, err := openFile(r.dir, MaxFile, x.cfg.Log)
			if err != nil {
				t.Fatal(err)
			}
			defer f.close()
			r.write("1")
			if err := x.catchUp(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			if err := change(f.path()); err != nil {
				t.Fatal(err)
			}
			r.write("2")
			if err := x.catchUp(t.Context(), f); err == nil {
				t.Error("it was not noticed")
			}
		})
	}
}

// TestFilesWithoutAPlaceAreSetAside removes and damages the place: what the files hold
// is not known then, so they are kept elsewhere and all is written anew.
func TestFilesWithoutAPlaceAreSetAside(t *testing.T) {
	for what, spoil := range map[string]func(r rig){
		"missing": func(r rig) { r.remove(placeName) },
		"empty":   func(r rig) { r.change(placeName, func([]byte) []byte { return nil }) },
		"damaged": func(r rig) { r.change(placeName, func(raw []byte) []byte { return raw[:len(raw)/2] }) },
		"absurd": func(r rig) {
			r.change(placeName, func([]byte) []byte { return []byte(`{"size":-1,"position":1}`) })
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := onSQLite(t)
			r.fill(50)
			r.once(r.export(Config{MaxFile: 8192}))
			before := files(t, r.dir)
			spoil(r)
			r.once(r.export(Config{MaxFile: 8192}))
			r.complete(r.dir)
			aside, err := filepath.Glob(filepath.Join(r.dir, "aside-000001", "*.jsonl"))
			if err != nil || len(aside) != len(before) || len(before) < 2 {
				t.Errorf("%d files, %d are set aside: %v", len(before), len(aside), err)
			}
		})
	}
}

// TestAnotherDatabaseIsRecognised puts the folder beside a database that was restored
// from a backup, where numbers were given out again, and beside an empty one.
func TestAnotherDatabaseIsRecognised(t *testing.T) {
	for what, n := range map[string]int{"shorter": 5, "empty": 0, "longer": 30} {
		t.Run(what, func(t *testing.T) {
			first, second := onSQLite(t), onSQLite(t)
			first.fill(20)
			first.once(first.export(Config{}))
			second.dir = first.dir
			if n > 0 {
				second.fill(n)
			}
			second.once(second.export(Config{}))
			second.complete(first.dir)
			if _, err := os.Stat(filepath.Join(first.dir, "aside-000001", fileName)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEntriesThatWereDeletedByAgeAreNoOtherDatabase(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		r.write("1", "2")
		r.once(r.export(Config{}))
		r.write("3")
		if err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM audit_log WHERE num <= 2")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		r.once(r.export(Config{}))
		if got := subjects(t, r.dir); !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestAFolderHasOneWriter(t *testing.T) {
	r := onSQLite(t)
	x := r.export(Config{})
	f, err := openFile(r.dir, MaxFile, x.cfg.Log)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := openFile(r.dir, MaxFile, x.cfg.Log); err == nil {
		_ = second.close()
		t.Error("a second one was let in")
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	r.once(x)
}
