package sqldb

import (
	"context"
	"errors"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// life is the life of a database's server.
func life(t *testing.T, db *DB) string {
	t.Helper()
	s, err := db.postgres().begin(t.Context(), beginRead)
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	return s.link.life
}

// TestAnIDThatIsUsedAgainSettlesNothing crashes a server that has told the id of a
// transaction and written nothing of it. Afterwards another transaction has that id and
// commits: that says nothing about the first.
func TestAnIDThatIsUsedAgainSettlesNothing(t *testing.T) {
	tier.System(t)
	server := pgtest.Launch(t)
	db := start(t, Config{URL: server.Database(t)})
	in(t, db, insert(1, 1))
	before := life(t, db)
	var xid string
	err := db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
		if err := insert(2, 2)(ctx, tx); err != nil {
			return err
		}
		xid = tx.pg.xid
		server.KillPostmaster()
		server.Start(t)
		return errors.New("the end")
	})
	if err == nil || xid == "" {
		t.Fatalf("transaction %q: %v", xid, err)
	}
	cause := lost{errors.New("cut")}
	again := ""
	for n := 0; again != xid; n++ {
		if n == 1000 {
			t.Fatalf("the id %s is not used again, but %s", xid, again)
		}
		in(t, db, func(ctx context.Context, tx *Tx) error {
			err := insert(3, n)(ctx, tx)
			again = tx.pg.xid
			if again == xid {
				if redo, err := db.postgres().settle(xid, before, cause); !redo {
					t.Errorf("while another is in progress under the same id: %v", err)
				}
			}
			return err
		})
	}
	if life(t, db) == before {
		t.Errorf("the server has the life of before, %s", before)
	}
	redo, err := db.postgres().settle(xid, before, cause)
	if f, _ := fault.As(err); redo || f == nil || f.Code != codeUnknown {
		t.Errorf("settled: again %t, %v; want that it is unknown", redo, err)
	}
	if redo, err := db.postgres().settle(xid, life(t, db), cause); redo || err != nil {
		t.Errorf("in its own life: again %t, %v", redo, err)
	}
}

// TestALifeEndsWithACrash kills one process of a server, which then recovers by itself.
func TestALifeEndsWithACrash(t *testing.T) {
	tier.System(t)
	server := pgtest.Launch(t)
	db := start(t, Config{URL: server.Database(t)})
	before := life(t, db)
	if again := life(t, db); again != before || before == "" {
		t.Errorf("one life is %q and %q", before, again)
	}
	server.KillBackend(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for failed := false; ; { // the postmaster takes a moment to notice
		s, err := db.postgres().begin(t.Context(), beginRead)
		if err == nil {
			err = s.trip(t.Context(), []Stmt{{Query: "SELECT 1"}})
			now := s.link.life
			s.end()
			if err == nil && now != before {
				return
			}
			if err == nil && failed {
				t.Fatalf("after a crash the life is still %s", now)
			}
		}
		failed = failed || err != nil
		if ctx.Err() != nil {
			t.Fatalf("the server has not crashed: %v", err)
		}
	}
}
