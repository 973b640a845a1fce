package bus

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

func TestKeysOfRequestsAreForgotten(t *testing.T) {
	for name, cfg := range map[string]sqldb.Config{
		"sqlite": {Path: filepath.Join(t.TempDir(), "test.db")}, "postgres": {URL: pgtest.New(t)},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Migrations = []sqldb.Migration{Migration()}
			db, err := sqldb.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- db.Run(ctx) }()
			t.Cleanup(func() {
				stop()
				if err := errors.Join(<-ended, db.Close()); err != nil {
					t.Error(err)
				}
			})
			b := New(db, nil, Config{KeyRetention: time.Hour})
			left := 0
			err = errors.Join(db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				for minutes := range 120 {
					if _, err := tx.Exec(ctx, "INSERT INTO bus_once (tenant, endpoint, key, hash, members, at, answer) VALUES ('t', 'e', $1, $2, '{}', $3, '{}')",
						fmt.Sprint(minutes), []byte{1}, time.Now().Add(30*time.Second-time.Duration(minutes)*time.Minute).UnixMilli()); err != nil {
						return err
					}
				}
				return nil
			}), (&retention{b}).retainAll(t.Context()), db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				return tx.Row(ctx, "SELECT count(*) FROM bus_once").Scan(&left)
			}))
			if err != nil || left != 61 {
				t.Errorf("%d keys are left, want 61: %v", left, err)
			}
		})
	}
}
