package sqldb

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// TestALostAnswerToACommitIsSettled cuts connections around COMMITs: whatever is
// cut, every job is stored exactly once.
func TestALostAnswerToACommitIsSettled(t *testing.T) {
	tier.System(t)
	for _, tt := range []struct {
		name   string
		at     pgtest.Cut
		redone bool
	}{
		{"the COMMIT did not arrive", pgtest.Before, true},
		{"the answer was cut off", pgtest.During, false},
		{"the answer was swallowed", pgtest.AfterAnswer, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxy := pgtest.NewProxy(t, pgtest.New(t))
			db := start(t, Config{URL: proxy.URL()})
			var commits atomic.Int64 // a run that found its connection closed is made again, and had none
			proxy.Choose(func(int) pgtest.Cut {
				if commits.Add(1)%2 == 1 {
					return tt.at
				}
				return pgtest.Whole
			})
			const jobs = 5
			for b := range jobs {
				if err := db.Write(t.Context(), Engine, insert(1, b)); err != nil {
					t.Fatal(err)
				}
			}
			if n := rows(t, db, 1); n != jobs {
				t.Errorf("%d rows, want %d", n, jobs)
			}
			s := db.Stats()
			if s.Doubts == 0 || int(s.Doubts) != proxy.Cuts(tt.at) {
				t.Errorf("%d doubts, %d cuts", s.Doubts, proxy.Cuts(tt.at))
			}
			if n := int(commits.Load()); (n > jobs) != tt.redone {
				t.Errorf("%d commits of %d jobs", n, jobs)
			}
		})
	}
}

func TestAnOutcomeThatCannotBeLearnedIsUnknown(t *testing.T) {
	tier.System(t)
	server := pgtest.Launch(t)
	proxy := pgtest.NewProxy(t, server.Database(t))
	db := start(t, Config{URL: proxy.URL()})
	db.postgres().doubt = 200 * time.Millisecond
	proxy.Choose(func(int) pgtest.Cut {
		server.KillPostmaster()
		return pgtest.AfterAnswer
	})
	err := db.Write(t.Context(), Engine, insert(1, 1))
	if f, _ := fault.As(err); f == nil || f.Kind != fault.Unavailable || f.Code != codeUnknown || f.RetryAfter == 0 {
		t.Errorf("got %v, want that the outcome is unknown", err)
	}
}

// TestATransactionInProgressIsWaitedFor asks about a transaction that is still open.
func TestATransactionInProgressIsWaitedFor(t *testing.T) {
	url := pgtest.New(t)
	db := start(t, Config{URL: url})
	cause := lost{errors.New("cut")}
	for _, tt := range []struct {
		end   string
		again bool
	}{{"COMMIT", false}, {"ROLLBACK", true}} {
		other := foreign(t, url)
		var xid string
		if _, err := other.Exec(t.Context(), "BEGIN"); err != nil {
			t.Fatal(err)
		}
		if err := other.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text").Scan(&xid); err != nil {
			t.Fatal(err)
		}
		var asked sync.WaitGroup
		asked.Go(func() {
			again, err := db.postgres().settle(xid, life(t, db), cause)
			if again != tt.again || (err != nil) != tt.again {
				t.Errorf("after %s: %t, %v", tt.end, again, err)
			}
		})
		for reads := db.Stats().Trips; db.Stats().Trips < reads+4; { // it has asked
			runtime.Gosched()
		}
		if _, err := other.Exec(t.Context(), tt.end); err != nil {
			t.Fatal(err)
		}
		asked.Wait()
	}
	if again, err := db.postgres().settle("4611686018427387904", life(t, db), cause); again ||
		fault.KindOf(err) != fault.Unavailable {
		t.Errorf("of a transaction that the server has not had: %t, %v", again, err)
	}
}

func TestDeadConnectionsAreReplaced(t *testing.T) {
	url := pgtest.New(t)
	proxy := pgtest.NewProxy(t, url)
	db := start(t, Config{URL: proxy.URL()})
	warm := func() {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_ = db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
					return tx.Row(ctx, "SELECT pg_sleep(0.02)").Scan(new(any))
				})
			})
		}
		all.Wait()
	}
	other := foreign(t, url)
	for b, kill := range []func(){
		func() { proxy.Sever() },
		func() {
			_, err := other.Exec(t.Context(),
				"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'renga'")
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		warm()
		kill()
		if err := db.Write(t.Context(), Engine, insert(1, b)); err != nil {
			t.Errorf("a write after %d: %v", b, err)
		}
		warm()
		kill()
		if n := rows(t, db, 1); n != b+1 {
			t.Errorf("%d rows", n)
		}
	}
	// In the middle of a transaction the connection takes the transaction along.
	runs := 0
	err := db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
		if err := insert(2, 1)(ctx, tx); err != nil {
			return err
		}
		if runs++; runs == 1 {
			proxy.Sever()
		}
		return insert(2, 2)(ctx, tx)
	})
	if err != nil || runs != 2 || rows(t, db, 2) != 2 {
		t.Errorf("cut in the middle: %v after %d runs, %d rows", err, runs, rows(t, db, 2))
	}
}

func TestItGoesOnAfterTheServerWasAway(t *testing.T) {
	tier.System(t)
	server := pgtest.Launch(t)
	db := start(t, Config{URL: server.Database(t)})
	for b, end := range []func(){server.Stop, server.KillPostmaster} {
		in(t, db, insert(1, b))
		end()
		// The processes of a postmaster that was killed may still answer for a moment.
		err := db.Write(t.Context(), Engine, func(context.Context, *Tx) error { return nil })
		for n := 0; err == nil; n++ {
			err = db.Write(t.Context(), Engine, insert(2+b, n))
		}
		if f, _ := fault.As(err); f == nil || f.Kind != fault.Unavailable || f.RetryAfter != retryAfter {
			t.Errorf("without a server: %v, want unavailable with an advice", err)
		}
		look := func(context.Context, *Tx) error { return nil }
		if err := db.Read(t.Context(), look); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a read without a server: %v, want unavailable", err)
		}
		server.Start(t)
		if err := db.Read(t.Context(), look); err != nil {
			t.Errorf("a read after the server came back: %v", err)
		}
		in(t, db, insert(1, 10+b))
		if rows(t, db, 1) != 2*b+2 || rows(t, db, 2) != 0 {
			t.Errorf("%d and %d rows", rows(t, db, 1), rows(t, db, 2))
		}
	}
}
