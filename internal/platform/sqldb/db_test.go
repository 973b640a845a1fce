package sqldb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

func TestASecondOpenIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "test.db")
	db, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Path: path})
	if err == nil || !strings.Contains(err.Error(), "another process ("+strconv.Itoa(os.Getpid())+")") {
		t.Errorf("got %v, want a refusal that names the process", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err = Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestTablesOfANewerProgramAreRefused(t *testing.T) {
	for name, cfg := range map[string]Config{
		"sqlite": {Path: filepath.Join(t.TempDir(), "test.db")}, "postgres": {URL: pgtest.New(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("change", func(t *testing.T) {
				db := start(t, cfg)
				err := db.Write(t.Context(), Other, func(ctx context.Context, tx *Tx) error {
					_, err := tx.Exec(ctx, "INSERT INTO goose_"+rowTable.Name+
						" (version_id, is_applied) VALUES (99, true)")
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			})
			cfg.Migrations = []Migration{rowTable}
			if _, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "they have version 99") {
				t.Errorf("got %v, want a refusal that names the version", err)
			}
		})
	}
}

func TestPathsMayHoldAnything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c=d&e%20#f")
	db := open(t, Config{Path: path})
	if rows(t, db, 1) != 0 {
		t.Error("rows in a new database")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestSettingsOfEveryConnection(t *testing.T) {
	db := start(t, Config{})
	check := func(ctx context.Context, tx *Tx, queryOnly string) error {
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "wal_autocheckpoint": "0", "foreign_keys": "0",
			"busy_timeout": "5000", "page_size": "4096", "query_only": queryOnly,
		} {
			var got any
			if err := tx.Row(ctx, "PRAGMA "+pragma).Scan(&got); err != nil {
				return err
			}
			if n, ok := got.(int64); ok {
				got = strconv.FormatInt(n, 10)
			}
			if got != want {
				t.Errorf("%s is %v, want %s", pragma, got, want)
			}
		}
		return nil
	}
	err := errors.Join(
		db.Write(t.Context(), Other, func(ctx context.Context, tx *Tx) error { return check(ctx, tx, "0") }),
		db.Read(t.Context(), func(ctx context.Context, tx *Tx) error { return check(ctx, tx, "1") }))
	if err != nil {
		t.Error(err)
	}
}

func TestPackagesMigrateByThemselves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	file := func(sql string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql)} }
	one := Migration{Name: "one", FS: fstest.MapFS{"sqlite/00001_a.sql": file("CREATE TABLE one_a (x INTEGER);")}}
	two := Migration{Name: "two", FS: fstest.MapFS{"sqlite/00001_b.sql": file("CREATE TABLE two_b (x INTEGER);")}}
	reopen := func(all ...Migration) error {
		db, err := Open(t.Context(), Config{Path: path, Migrations: all})
		if err != nil {
			return err
		}
		return db.Close()
	}
	if err := reopen(one); err != nil {
		t.Fatal(err)
	}
	if err := reopen(two, one); err != nil {
		t.Fatal(err)
	}
	more := Migration{Name: "one", FS: fstest.MapFS{
		"sqlite/00001_a.sql": file("CREATE TABLE one_a (x INTEGER);"),
		"sqlite/00002_c.sql": file("CREATE TABLE one_c (x INTEGER); INSERT INTO one_c SELECT count(*) FROM two_b;"),
	}}
	if err := reopen(more, two); err != nil {
		t.Fatal(err)
	}
	bad := Migration{
		Name: "bad",
		FS:   fstest.MapFS{"sqlite/00001_x.sql": file("CREATE TABLE bad_x (x INTEGER); SELECT nothing FROM nowhere;")},
	}
	if err := reopen(bad); err == nil || !strings.Contains(err.Error(), "tables of bad") {
		t.Errorf("got %v, want an error that names the package", err)
	}
	db, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var tables int
	err = db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		return tx.Row(ctx, `SELECT count(*) FROM sqlite_schema WHERE name IN
			('one_a', 'one_c', 'two_b', 'goose_one', 'goose_two', 'bad_x')`).Scan(&tables)
	})
	if err != nil || tables != 5 {
		t.Errorf("%d tables, want 5 and not bad_x; %v", tables, err)
	}
}

func TestAReadSeesOneState(t *testing.T) {
	db := start(t, Config{})
	err := db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		count := func() (n int) {
			if err := tx.Row(ctx, "SELECT count(*) FROM test_row").Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
		before := count()
		if err := db.Write(ctx, Other, insert(1, 1)); err != nil {
			return err
		}
		if after := count(); after != before {
			t.Errorf("%d rows, then %d", before, after)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rows(t, db, 1) != 1 {
		t.Error("the next read does not see the commit")
	}
}

func TestAPanicInAReadGivesItsConnectionBack(t *testing.T) {
	db := open(t, Config{Readers: 1})
	func() {
		defer func() { _ = recover() }()
		_ = db.Read(t.Context(), func(context.Context, *Tx) error { panic("lost") })
	}()
	if rows(t, db, 1) != 0 {
		t.Error("rows in a new database")
	}
}

func TestAfterCloseNothingIsServed(t *testing.T) {
	db, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "test.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	nothing := func(context.Context, *Tx) error { return nil }
	if err := db.Read(t.Context(), nothing); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("read: %v", err)
	}
	if err := db.Write(t.Context(), Engine, nothing); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("write: %v", err)
	}
}
