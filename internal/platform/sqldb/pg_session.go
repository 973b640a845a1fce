package sqldb

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// They do not depend on the server's defaults.
const (
	beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	beginRead  = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
)

// askXID asks for the id of the transaction, NULL before its first write.
const askXID = "SELECT pg_current_xact_id_if_assigned()::text"

// session is a transaction on a connection.
//
// BEGIN and SAVEPOINT travel with the next statement, and every trip asks for the transaction id until there is one.
// So a transaction costs its statements and a trip for COMMIT, and when that gets no answer the id is known.
type session struct {
	pg      *postgres
	conn    *pgxpool.Conn
	link    *link
	ahead   []string // to send before the next statement
	begun   bool     // the server has opened the transaction
	reads   bool
	within  time.Duration // limit of a trip
	xid     string        // "": nothing written
	cause   error         // why the transaction or its savepoint has failed
	redo    error         // a failure, if only in a savepoint, after which a repetition may succeed
	discard bool          // retire the connection
}

func (s *session) exec(ctx context.Context, query string, args []any) (n int64, err error) {
	err = s.trip(ctx, []Stmt{{Query: query, Args: args, Changed: &n}})
	return n, postgresDialect.wrap("sqldb.exec", err)
}

// query yields rows after reading them all, so that the connection is free meanwhile.
func (s *session) query(ctx context.Context, query string, args []any, yield func(*Row, error) bool) {
	var rows []*Row
	err := s.trip(ctx, []Stmt{{Query: query, Args: args, Row: func(r *Row) error {
		rows = append(rows, r)
		return nil
	}}})
	if err != nil {
		yield(nil, postgresDialect.wrap("sqldb.query", err))
		return
	}
	for _, row := range rows {
		if !yield(row, nil) {
			return
		}
	}
}

func (s *session) batch(ctx context.Context, stmts []Stmt) error {
	if len(stmts) == 0 {
		return nil
	}
	return postgresDialect.wrap("sqldb.batch", s.trip(ctx, stmts))
}

// trip sends statements, preceded by ahead, and reads their results. A connection that died while idle shows on the
// first trip; nothing was done yet, so another one replaces it.
func (s *session) trip(ctx context.Context, stmts []Stmt) error {
	if s.link.raw.IsClosed() && s.cause != nil {
		return s.cause
	}
	all := make([]Stmt, 0, len(s.ahead)+len(stmts)+1)
	for _, query := range s.ahead {
		all = append(all, Stmt{Query: query})
	}
	all = append(all, stmts...)
	if s.xid == "" && !s.reads {
		all = append(all, Stmt{Query: askXID, Row: func(r *Row) error { return r.Scan(&s.xid) }})
	}
	err := s.run(ctx, all)
	for range maxDead {
		if err == nil || s.begun || !s.link.raw.IsClosed() || ctx.Err() != nil {
			break
		}
		if e := s.replace(ctx); e != nil {
			err = e
			break
		}
		err = s.run(ctx, all)
	}
	if err == nil {
		return nil
	}
	return s.note(ctx, err)
}

// maxDead is how many dead connections a transaction replaces. The first resets the pool, so a second is bad luck.
const maxDead = 2

// run does a round trip. After a timeout it resets the pool: the others may be as dead.
func (s *session) run(ctx context.Context, all []Stmt) error {
	trip, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	err := s.runIn(trip, all)
	if err != nil && trip.Err() != nil && ctx.Err() == nil {
		s.pg.pool.Reset()
	}
	return err
}

func (s *session) runIn(ctx context.Context, all []Stmt) error {
	if !s.begun {
		if err := s.link.tidy(ctx); err != nil {
			return err
		}
	}
	s.pg.stats.trips.Add(1)
	return s.link.run(ctx, all, func() {
		s.begun = true
		if len(s.ahead) > 0 {
			s.ahead = s.ahead[1:]
		}
	})
}

// replace replaces a connection that was dead.
func (s *session) replace(ctx context.Context) error {
	s.conn.Release()
	s.pg.pool.Reset() // idle for as long
	conn, err := s.pg.acquire(ctx)
	if err != nil {
		return err
	}
	s.conn, s.link = conn, linkOf(conn)
	return nil
}

// note records what an error means for the transaction.
func (s *session) note(ctx context.Context, err error) error {
	closed := s.link.raw.IsClosed()
	if e := ctx.Err(); e != nil {
		err = errors.Join(e, err)
	}
	if closed {
		err = lost{err}
	}
	v, _ := postgresDialect.judge(err)
	if closed || s.failed() {
		if s.cause == nil {
			s.cause = err
		}
		if s.redo == nil && (v.redo || closed) {
			s.redo = err
		}
	}
	s.discard = s.discard || v.scope != statement
	return err
}

// failed reports whether the transaction or its savepoint can only be undone.
func (s *session) failed() bool { return s.link.raw.IsClosed() || s.link.raw.TxStatus() == 'E' }

// control queues a statement about a savepoint, to send with the next one.
func (s *session) control(query string) error {
	if s.failed() && s.cause != nil {
		return postgresDialect.wrap("sqldb.savepoint", s.cause)
	}
	name, isRelease := strings.CutPrefix(query, "RELEASE ")
	if last := len(s.ahead) - 1; isRelease && last >= 0 && s.ahead[last] == "SAVEPOINT "+name {
		s.ahead = s.ahead[:last] // the savepoint was empty
		return nil
	}
	s.ahead = append(s.ahead, query)
	return nil
}

// undo rolls back to a savepoint and releases it. If the whole transaction is gone, it fails.
func (s *session) undo(name string) error {
	i := slices.Index(s.ahead, "SAVEPOINT "+name)
	switch {
	case s.link.raw.IsClosed() || i >= 0 && s.failed():
		return postgresDialect.wrap("sqldb.savepoint", s.cause)
	case i >= 0:
		s.ahead = s.ahead[:i] // it was never sent
		return nil
	}
	s.ahead = nil
	ctx, cancel := context.WithTimeout(context.Background(), s.within)
	defer cancel()
	s.pg.stats.trips.Add(1)
	if _, err := s.link.simple(ctx, "ROLLBACK TO "+name+"; RELEASE "+name); err != nil {
		return postgresDialect.wrap("sqldb.savepoint", s.note(ctx, err))
	}
	s.cause = nil
	return nil
}

// end releases the connection, after a rollback if the transaction is open.
func (s *session) end() {
	raw := s.link.raw
	if !raw.IsClosed() && raw.TxStatus() != 'I' && !s.discard {
		ctx, cancel := context.WithTimeout(context.Background(), shortTrip)
		defer cancel()
		s.pg.stats.trips.Add(1)
		if _, err := s.link.simple(ctx, "ROLLBACK"); err != nil {
			s.discard = true
		}
	}
	if s.discard {
		ctx, cancel := context.WithTimeout(context.Background(), maxBye)
		defer cancel()
		_ = raw.Close(ctx)
	}
	s.conn.Release()
}
