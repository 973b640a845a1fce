package sqldb

import (
	"context"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fair"
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
		readers.give(ctx, c, c.rollback())
	}()
	if _, err := c.exec(ctx, "BEGIN"); err != nil {
		return sqliteDialect.wrap("sqldb.read", err)
	}
	db.stats.reads.Add(1)
	return fn(ctx, tx)
}

// readers is a small pool of connections, opened when they are first needed.
type readers struct {
	dial    func() (*conn, error)
	places  *fair.Places // one for each connection
	free    chan *conn   // holds nil for a connection that is not open
	drained atomic.Int64 // that drain has
	done    chan struct{}
}

func newReaders(n int, dial func() (*conn, error)) *readers {
	r := &readers{dial: dial, places: halves(n), free: make(chan *conn, n), done: make(chan struct{})}
	for range n {
		r.free <- nil
	}
	return r
}

// busy is how many of its connections somebody reads with.
func (r *readers) busy() int { return cap(r.free) - len(r.free) - int(r.drained.Load()) }

// halves are places of which one tenant has at most half, and the process itself too.
func halves(n int) *fair.Places {
	half := max(1, n/2)
	return fair.NewPlaces(fair.Config{Places: n, Each: half, Own: half})
}

// take gives a connection, waiting for one as long as ctx allows.
func (r *readers) take(ctx context.Context) (*conn, error) {
	closed := unavailable("sqldb.read", codeStopped, "the database is closed", nil)
	select {
	case <-r.done:
		return nil, closed
	default:
	}
	if err := r.places.Enter(ctx, keyOf(ctx)); err != nil {
		return nil, err
	}
	var c *conn
	select {
	case c = <-r.free:
	case <-r.done:
		r.places.Leave(keyOf(ctx))
		return nil, closed
	case <-ctx.Done(): // drain has it
		r.places.Leave(keyOf(ctx))
		return nil, ctx.Err()
	}
	if c != nil {
		return c, nil
	}
	c, err := r.dial()
	if err != nil {
		r.give(ctx, nil, nil)
	}
	return c, err
}

// give takes a connection back; one that could not end its transaction is replaced.
func (r *readers) give(ctx context.Context, c *conn, broken error) {
	if broken != nil {
		_ = c.close()
		c = nil
	}
	r.free <- c
	r.places.Leave(keyOf(ctx))
}

// drain takes all connections, those in use as soon as they come back, and reports whether it has
// got them before ctx ended. Until release is called nobody else reads.
func (r *readers) drain(ctx context.Context) (release func(), all bool) {
	var taken []*conn
	release = func() {
		for _, c := range taken {
			r.drained.Add(-1)
			r.free <- c
		}
	}
	for range cap(r.free) {
		select {
		case c := <-r.free:
			r.drained.Add(1)
			taken = append(taken, c)
		case <-ctx.Done():
			return release, false
		}
	}
	return release, true
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
