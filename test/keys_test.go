package test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"testing"
	"time"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
)

// keyTables are the tables that hold idempotency keys, after all migrations.
func keyTables(t *testing.T) (tables []string) {
	t.Helper()
	made, dropped := regexp.MustCompile(`CREATE TABLE (\w+) \([^;]*\n\tendpoint `),
		regexp.MustCompile(`DROP TABLE (\w+);`)
	gone := map[string]bool{}
	for _, m := range app.Migrations() {
		files, err := fs.Glob(m.FS, "sqlite/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := fs.ReadFile(m.FS, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range made.FindAllStringSubmatch(string(text), -1) {
				tables = append(tables, found[1])
			}
			for _, found := range dropped.FindAllStringSubmatch(string(text), -1) {
				gone[found[1]] = true
			}
		}
	}
	if len(tables) < 10 || len(gone) < 8 {
		t.Fatalf("only the tables %q, of which %d are gone: the test reads too little", tables, len(gone))
	}
	return slices.DeleteFunc(tables, func(table string) bool { return gone[table] })
}

// TestKeysAreDeletedAfterTheirTimeAndNotBefore gives every table of keys one that is older and
// one that is younger than a server with all of its services remembers them, and runs it. They
// are minutes away from that time, since a machine that is busy takes a while until it looks.
func TestKeysAreDeletedAfterTheirTimeAndNotBefore(t *testing.T) {
	const keep, away = 24 * time.Hour, 5 * time.Minute
	at, tables := newSite(t), keyTables(t)
	cfg := app.Config{Place: at.place(), Shards: 1, KeyRetention: keep}
	putKeys(t, cfg.Place, tables, map[string]time.Duration{"older": keep + away, "younger": keep - away})
	a := startApp(t, cfg)
	for _, table := range tables {
		eventually(t, "the older key of "+table+" to be deleted", maxWait, func() bool {
			return !slices.Contains(keysIn(t, a.DB, table), "older")
		})
		if left := keysIn(t, a.DB, table); !slices.Equal(left, []string{"younger"}) {
			t.Errorf("%s: the keys %q are left, want the younger one", table, left)
		}
	}
}

// putKeys writes keys of some ages into tables.
func putKeys(t *testing.T, at app.Place, tables []string, ages map[string]time.Duration) {
	t.Helper()
	db, err := app.OpenDB(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	running := make(chan error, 1)
	go func() { running <- db.Run(ctx) }()
	err = db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		for _, table := range tables {
			columns, values := "service, members, answer", "'records', '{}', 'done'"
			if table == "engine_key" {
				columns, values = "digest, body", "$2, $2"
			}
			for key, age := range ages {
				at := time.Now().Add(-age).UnixMilli()
				_, err := tx.Exec(ctx, fmt.Sprintf(
					"INSERT INTO %s (tenant, endpoint, key, hash, at, %s) VALUES ('t', 'e', $1, $2, $3, %s)",
					table, columns, values), key, []byte(key), at)
				if err != nil {
					return fmt.Errorf("%s: %w", table, err)
				}
			}
		}
		return nil
	})
	stop()
	if err := errors.Join(err, <-running, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// keysIn are the keys in a table, in order.
func keysIn(t *testing.T, db *sqldb.DB, table string) (keys []string) {
	t.Helper()
	err := db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		keys = nil
		for row, err := range tx.Query(ctx, "SELECT key FROM "+table+" ORDER BY key") {
			var key string
			if err == nil {
				err = row.Scan(&key)
			}
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
