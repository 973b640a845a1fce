package automation

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// TestWhatIsRememberedStaysForExactlyItsTime has rows that are a millisecond too old, rows that
// are as old as they may be, and rows that stay however old they are.
func TestWhatIsRememberedStaysForExactlyItsTime(t *testing.T) {
	const dayLong = 24 * time.Hour
	now := time.UnixMilli(int64(1000 * dayLong / time.Millisecond))
	test := func(t *testing.T, where sqldb.Config) {
		db := sqltest.Open(t, where, Migration())
		s := New(db, Config{Retention: 30 * dayLong, Now: func() time.Time { return now }})
		for _, tt := range []struct {
			table, insert string // id is $1, the instant $2
			kept          time.Duration
		}{
			{"automation_run", `INSERT INTO automation_run VALUES ('t', $1, 'r', 'a', 'x', $2, 'e', 's', 'n',
				'notify', 'Lead',
				0, 1, '', '', '', '', 0, 0)`, 30 * dayLong},
			{
				"automation_cause", `INSERT INTO automation_cause VALUES ('t', 'Lead', $1, 1, 0, 0, '', $2)`,
				30 * dayLong,
			},
			{"automation_note", `INSERT INTO automation_note VALUES ('t', 'u', $1, $2, 'm', 'Lead', 'x', 's',
				'r', 'a', 'e', 0, '')`, 90 * dayLong},
			{"automation_task", `INSERT INTO automation_task VALUES ('t', $1, 'u', 0, 'm', '', 'Lead', 'x', 's',
				'r', 'a', 'e', $2, 'u')`, 365 * dayLong},
			{"automation_approval", `INSERT INTO automation_approval VALUES ('t', $1, 'u', $2)`, 365 * dayLong},
		} {
			last := now.Add(-tt.kept).UnixMilli()
			err := db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				return tx.Batch(ctx,
					sqldb.Stmt{Query: tt.insert, Args: []any{"old", last - 1}},
					sqldb.Stmt{Query: tt.insert, Args: []any{"young", last}})
			})
			if err != nil {
				t.Fatal(err)
			}
			key := map[string]string{
				"automation_run": "event_id", "automation_cause": "record_id", "automation_approval": "approval_id",
			}[tt.table]
			if key == "" {
				key = "id"
			}
			stays := func(want ...string) {
				t.Helper()
				if got := column(t, db, "SELECT "+key+" FROM "+tt.table+" ORDER BY 1"); !slices.Equal(got, want) {
					t.Errorf("%s: got %v, want %v", tt.table, got, want)
				}
			}
			stays("old", "young")
			if err := s.retain(t.Context()); err != nil {
				t.Fatal(err)
			}
			stays("young")
		}
		err := db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Batch(ctx,
				sqldb.Stmt{Query: "UPDATE automation_run SET outcome = 2, at = 1"},
				sqldb.Stmt{Query: "UPDATE automation_task SET at = 1, done_at = 0"})
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.retain(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"automation_run", "automation_task"} {
			if n := len(column(t, db, "SELECT tenant_id FROM "+table)); n != 1 {
				t.Errorf("%s: %d rows of what is not done yet, want 1", table, n)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { test(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}) })
	t.Run("postgres", func(t *testing.T) { test(t, sqldb.Config{URL: pgtest.New(t)}) })
}

// column are the texts that a query selects.
func column(t *testing.T, db *sqldb.DB, query string) (all []string) {
	t.Helper()
	err := db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, query) {
			var one string
			if err == nil {
				err = row.Scan(&one)
			}
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
