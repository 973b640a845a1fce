package sqldb

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// swallower stands between a database and its server. Connections that it has
// swallowed stay open and bring nothing any more; new ones work.
type swallower struct {
	net.Listener
	server string
	age    atomic.Int64 // connections of an earlier age are swallowed
	ended  chan struct{}
}

// between gives the URL of a server as seen through a swallower.
func between(t *testing.T, server string) (*swallower, string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &swallower{Listener: l, server: u.Host, ended: make(chan struct{})}
	go s.serve()
	u.Host = l.Addr().String()
	return s, u.String()
}

func (s *swallower) serve() {
	for {
		client, err := s.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", s.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		go func() { <-s.ended; _ = client.Close() }()
		age := s.age.Load()
		go s.pass(age, client, server)
		go s.pass(age, server, client)
	}
}

// pass carries bytes from one to the other, or swallows them.
func (s *swallower) pass(age int64, from, to net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if s.age.Load() != age {
			_, _ = io.Copy(io.Discard, from)
			<-s.ended // nor does a goodbye come through
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestConnectionsThatFellSilentAreReplaced lets all connections fall silent, without a
// reset. What the engine writes goes through soon all the same.
func TestConnectionsThatFellSilentAreReplaced(t *testing.T) {
	tier.System(t)
	relay, place := between(t, pgtest.New(t))
	db := start(t, Config{URL: place})
	defer close(relay.ended) // a goodbye would not be heard
	write := func(a int) error {
		return db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
			_, err := tx.Exec(ctx, insertRow, a, 1, nil)
			return err
		})
	}
	if err := write(1); err != nil {
		t.Fatal(err)
	}
	relay.age.Add(1)
	began := time.Now()
	if err := write(2); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > shortTrip+3*time.Second {
		t.Errorf("it took %v", took)
	}
	if got := rows(t, db, 2); got != 1 {
		t.Errorf("%d rows, want 1", got)
	}
}

// TestAWriteOnAServerThatHangsEndsWithItsDeadline hangs the server in the middle of a job,
// whose caller has less time than a trip may take.
func TestAWriteOnAServerThatHangsEndsWithItsDeadline(t *testing.T) {
	relay, place := between(t, pgtest.New(t))
	db := start(t, Config{URL: place})
	defer close(relay.ended) // a goodbye would not be heard
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began, jobs := time.Now(), 0
	err := db.Write(ctx, Other, func(ctx context.Context, tx *Tx) error {
		if jobs++; jobs == 1 {
			if _, err := tx.Exec(ctx, insertRow, 1, 1, nil); err != nil {
				return err
			}
			relay.age.Add(1)
		}
		_, err := tx.Exec(ctx, insertRow, 2, 1, nil)
		return err
	})
	if took := time.Since(began); fault.KindOf(err) != fault.Unavailable || took > longTrip/2 {
		t.Errorf("after %v: %v", took, err)
	}
	if got := rows(t, db, 1) + rows(t, db, 2); got != 0 {
		t.Errorf("%d rows, want none", got)
	}
}
