package sqldb

import (
	"context"
	"time"
)

// maxRead is how long a read transaction may last in a server: as long as one lasts, the
// write-ahead log cannot start over.
const maxRead = 5 * time.Second

// read runs fn on a connection that cannot write. The engine has one to itself.
func (db *lite) read(ctx context.Context, lane Lane, fn func(context.Context, *Tx) error) error {
	readers := db.readers
	if lane == Engine {
		readers = db.own
	}
	c, err := readers.take(ctx)
	if err != nil {
		return sqliteDialect.wrap("sqldb.read", err)
	}
	tx := &Tx{conn: c, reads: true}
	defer func() {
		tx.over = true
		readers.give(c, c.rollback())
	}()
	if _, err := c.exec(ctx, "BEGIN"); err != nil {
		return sqliteDialect.wrap("sqldb.read", err)
	}
	db.stats.reads.Add(1)
	return fn(ctx, tx)
}

// readers is a small pool of connections, opened when they are first needed.
type readers struct {
	dial func() (*conn, error)
	free chan *conn // holds nil for a connection that is not open
	done chan struct{}
}

func newReaders(n int, dial func() (*conn, error)) *readers {
	r := &readers{dial: dial, free: make(chan *conn, n), done: make(chan struct{})}
	for range n {
		r.free <- nil
	}
	return r
}

// take gives a connection, waiting for one as long as ctx allows.
func (r *readers) take(ctx context.Context) (*conn, error) {
	closed := unavailable("sqldb.read", codeStopped, "the database is closed", nil)
	select {
	case <-r.done:
		return nil, closed
	default:
	}
	var c *conn
	select {
	case c = <-r.free:
	case <-r.done:
		return nil, closed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c != nil {
		return c, nil
	}
	c, err := r.dial()
	if err != nil {
		r.free <- nil
	}
	return c, err
}

// give takes a connection back; one that could not end its transaction is replaced.
func (r *readers) give(c *conn, broken error) {
	if broken != nil {
		_ = c.close()
		c = nil
	}
	r.free <- c
}

// close waits for every connection to come back and closes it.
func (r *readers) close() error {
	select {
	case <-r.done:
		return nil
	default:
	}
	close(r.done)
	var first error
	for range cap(r.free) {
		if c := <-r.free; c != nil {
			if err := c.close(); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}
