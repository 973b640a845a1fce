package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// rig is keys over a database of their own.
type rig struct {
	*testing.T
	idempotency.Keys
	db *sqldb.DB
}

func onEvery(t *testing.T, test func(r *rig)) {
	open := func(t *testing.T, where sqldb.Config) *rig {
		return &rig{
			T: t, Keys: idempotency.Keys{Service: "test", Retention: time.Hour}, db: sqltest.Open(t, where,
				idempotency.Migration()),
		}
	}
	t.Run("sqlite", func(t *testing.T) { test(open(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})) })
	t.Run("postgres", func(t *testing.T) { test(open(t, sqldb.Config{URL: pgtest.New(t)})) })
}

// call is a request with a key and a body, sent at an instant.
type call struct {
	tenant, endpoint, key, body string
	at                          canonical.Stamp
}

func (r *rig) request(c call) idempotency.Request {
	r.Helper()
	key, err := canonical.ParseIdempotencyKey(c.key, c.endpoint, []byte(c.body))
	if err != nil {
		r.Fatal(err)
	}
	return idempotency.Request{Tenant: c.tenant, Key: &key, At: c.at}
}

// do sends a request whose answer is said.
func (r *rig) do(c call, answer string) (got string, replay bool, err error) {
	r.Helper()
	request := r.request(c)
	err = r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		raw, again, err := r.Do(ctx, tx, request, func() ([]byte, error) { return []byte(answer), nil })
		got, replay = string(raw), again
		return err
	})
	return got, replay, err
}

// recall is what is remembered with the key of a request, "" for nothing.
func (r *rig) recall(c call) (known string) {
	r.Helper()
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		raw, err := r.Recall(ctx, tx, r.request(c))
		known = string(raw)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return known
}

func (r *rig) wants(c call, answer, want string) {
	r.Helper()
	if got, replay, err := r.do(c, answer); err != nil || got != want || replay != (answer != want) {
		r.Errorf("%+v: got %q (replay %t) %v, want %q", c, got, replay, err, want)
	}
}

func TestAKeyIsThatOfATenantAServiceAndAnEndpoint(t *testing.T) {
	onEvery(t, func(r *rig) {
		first := call{"acme", "POST /a", "k", `{"n":1}`, 1000}
		r.wants(first, "one", "one")
		r.wants(first, "two", "one")
		for _, other := range []call{
			{"zeta", "POST /a", "k", `{"n":1}`, 1000},
			{"acme", "POST /b", "k", `{"n":1}`, 1000},
			{"acme", "POST /a", "l", `{"n":1}`, 1000},
		} {
			if known := r.recall(other); known != "" {
				r.Errorf("%+v: got %q, which was never used", other, known)
			}
			r.wants(other, "another", "another")
		}
		other := *r
		other.Service = "other"
		other.wants(first, "of another service", "of another service")
		r.wants(first, "three", "one")
		first.body = `{"n":2}`
		_, _, err := r.do(first, "four")
		if f, ok := fault.As(err); !ok || f.Code != "IDEMPOTENCY_CONFLICT" {
			r.Errorf("another body: got %v, want a conflict", err)
		}
	})
}

// TestAKeyIsRememberedForExactlyItsTime looks a millisecond before the end and at the end, before
// and after what has expired is deleted.
func TestAKeyIsRememberedForExactlyItsTime(t *testing.T) {
	onEvery(t, func(r *rig) {
		const began, end = 1000, 1000 + 3_600_000
		c := call{"acme", "POST /a", "k", `{"n":1}`, began}
		retain := func(now canonical.Stamp, want int64) {
			r.Helper()
			var n int64
			err := r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) (err error) {
				n, err = idempotency.Retain(ctx, tx, now, r.Retention, 10)
				return err
			})
			if err != nil || n != want {
				r.Errorf("at %d: %d keys were deleted %v, want %d", now, n, err, want)
			}
		}
		r.wants(c, "first", "first")
		retain(end-1, 0)
		c.at = end - 1
		r.wants(c, "early", "first")
		c.at = end
		c.body = `{"n":2}` // it is another request, and no conflict
		r.wants(c, "second", "second")
		retain(end+1, 0) // used anew: its time begins again
		c.at = end + 1
		r.wants(c, "third", "second")
		retain(2*end-began+1, 1)
	})
}

func TestAnErrorIsNotRemembered(t *testing.T) {
	onEvery(t, func(r *rig) {
		c := call{"acme", "POST /a", "k", `{"n":1}`, 1000}
		refused := errors.New("refused")
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, _, err := r.Do(ctx, tx, r.request(c), func() ([]byte, error) { return nil, refused })
			return err
		})
		if !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
		r.wants(c, "now", "now")
	})
}

// TestASecondRequestWithAKeyWaitsForTheFirst lets two transactions have one key at once, on
// PostgreSQL: new, and one that was there before and has expired.
func TestASecondRequestWithAKeyWaitsForTheFirst(t *testing.T) {
	onEvery(t, func(r *rig) {
		if r.db.Dialect() == sqldb.SQLite {
			r.Skip("SQLite has one writer")
		}
		for _, at := range []canonical.Stamp{1000, 1000 + 3_600_000} {
			c, done := call{"acme", "POST /a", "k", `{"n":1}`, at}, 0
			one := func(ctx context.Context, tx *sqldb.Tx) error {
				_, _, err := r.Do(ctx, tx, r.request(c), func() ([]byte, error) {
					done++
					return []byte("x"), nil
				})
				return err
			}
			if !sqltest.Waits(r, r.db, one, one) || done != 1 {
				r.Errorf("at %d: two requests with one key were done %d times, want that the second waits", at, done)
			}
		}
	})
}

// TestAKeyThatIsUsedAnewIsNotDeletedMeanwhile looks for keys that have expired while one of them
// is used again, on PostgreSQL.
func TestAKeyThatIsUsedAnewIsNotDeletedMeanwhile(t *testing.T) {
	onEvery(t, func(r *rig) {
		if r.db.Dialect() == sqldb.SQLite {
			r.Skip("SQLite has one writer")
		}
		c := call{"acme", "POST /a", "k", `{"n":1}`, 1000}
		r.wants(c, "old", "old")
		c.at += 2 * 3_600_000
		anew := func(ctx context.Context, tx *sqldb.Tx) error {
			_, _, err := r.Do(ctx, tx, r.request(c), func() ([]byte, error) { return []byte("new"), nil })
			return err
		}
		deleted := int64(-1)
		retain := func(ctx context.Context, tx *sqldb.Tx) (err error) {
			deleted, err = idempotency.Retain(ctx, tx, c.at, r.Retention, 10)
			return err
		}
		if waits := sqltest.Waits(r, r.db, anew, retain); !waits || deleted != 0 || r.recall(c) != "new" {
			r.Errorf("waits %t, %d keys were deleted, %q is remembered; want a key that stays", waits, deleted,
				r.recall(c))
		}
	})
}

// TestARequestWithoutAKeyIsExecutedEveryTime does one twice, and looks for a row.
func TestARequestWithoutAKeyIsExecutedEveryTime(t *testing.T) {
	onEvery(t, func(r *rig) {
		n, rows := 0, 0
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for range 2 {
				if known, err := r.Recall(ctx, tx, idempotency.Request{Tenant: "acme"}); known != nil || err != nil {
					t.Errorf("recalled %q %v", known, err)
				}
				_, replay, err := r.Do(ctx, tx, idempotency.Request{Tenant: "acme"}, func() ([]byte, error) {
					n++
					return nil, nil
				})
				if replay || err != nil {
					t.Errorf("replay %t %v", replay, err)
				}
			}
			return tx.Row(ctx, "SELECT count(*) FROM idempotency_request").Scan(&rows)
		})
		if err != nil || n != 2 || rows != 0 {
			t.Errorf("%d times, %d rows, %v", n, rows, err)
		}
	})
}

// TestASweepDeletesAllThatHasExpired has more keys than one transaction deletes, of several services.
func TestASweepDeletesAllThatHasExpired(t *testing.T) {
	onEvery(t, func(r *rig) {
		const minutes, each = 120, 10
		left, now := 0, time.Now().Add(30*time.Second)
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for i := range minutes * each {
				keys, at := idempotency.Keys{Service: fmt.Sprint(i % each)}, now.Add(-time.Duration(i/each)*time.Minute)
				c := call{"acme", "POST /a", fmt.Sprint(i), `{}`, canonical.Stamp(at.UnixMilli())}
				if _, _, err := keys.Do(ctx, tx, r.request(c), func() ([]byte, error) {
					return []byte("x"),
						nil
				}); err != nil {
					return err
				}
			}
			return nil
		})
		retention := idempotency.Retention{DB: r.db, For: time.Hour}
		deleted, swept := retention.Sweep(t.Context())
		err = errors.Join(err, swept, r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Row(ctx, "SELECT count(*) FROM idempotency_request").Scan(&left)
		}))
		if err != nil || left != 61*each || deleted != 59*each {
			t.Errorf("%d keys were deleted and %d are left, want %d and %d: %v", deleted, left, 59*each, 61*each, err)
		}
	})
}
