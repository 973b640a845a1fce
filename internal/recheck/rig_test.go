package recheck

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenantA, tenantB = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"

// rig is strategies in a database of their own.
type rig struct {
	*testing.T
	*Strategies
	where sqldb.Config
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)})) })
}

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	where.Migrations = []sqldb.Migration{Migration(), idempotency.Migration()}
	r := &rig{T: t, where: where}
	r.Strategies = r.process()
	return r
}

// process is a process on the rig's database.
func (r *rig) process() *Strategies {
	r.Helper()
	db, err := sqldb.Open(r.Context(), r.where)
	if err != nil {
		r.Fatal(err)
	}
	serve, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- db.Run(serve) }()
	r.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, db.Close()); err != nil {
			r.Error(err)
		}
	})
	return NewStrategies(db)
}

// put stores a draft for tenant A.
func (r *rig) put(id, body string) (s Strategy, created bool) {
	r.Helper()
	d, err := ParseDraft([]byte(body))
	if err == nil {
		s, created, err = r.Put(r.Context(), tenantA, id, d)
	}
	if err != nil {
		r.Fatalf("put %s %s: %v", id, body, err)
	}
	return s, created
}

// ids lists tenant A's strategies in one process.
func (r *rig) ids(s *Strategies, q Query) (ids []string, total int) {
	r.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	page, total, err := s.List(r.Context(), tenantA, q)
	if err != nil {
		r.Fatal(err)
	}
	for _, row := range page {
		ids = append(ids, row.ID)
	}
	return ids, total
}

// exec changes the tables behind everybody's back.
func (r *rig) exec(query string, args ...any) {
	r.Helper()
	err := r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
}

// count is how many rows a table has.
func (r *rig) count(table string) (n int) {
	r.Helper()
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// deleteOld deletes once what ended before an instant, and says whether there is more.
func (r *rig) deleteOld(re *Rechecks, before time.Time) (more bool) {
	r.Helper()
	err := re.write(r.Context(), "test", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		more, err = re.deleteOld(ctx, tx, before.UnixMilli())
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return more
}

// message is the message of a refusal, "" when it is none.
func message(err error) string {
	if failure, ok := fault.As(err); ok && failure.Kind == fault.Invalid {
		return failure.Message
	}
	return ""
}
