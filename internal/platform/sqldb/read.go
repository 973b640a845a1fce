package sqldb

import (
	"context"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fair"
)

// maxRead bounds a read transaction: while one runs, the write-ahead log cannot restart.
const maxRead = 5 * time.Second

// read runs fn on a read-only connection. The engine has one of its own.
func (db *lite) read(ctx context.Context, priority Priority, fn Func) error {
	readers := db.readers
	if priority == Engine {
		readers = db.own
	}
	c, err := readers.acquire(ctx)
	if err != nil {
		return sqliteDialect.wrap("sqldb.read", err)
	}
	tx := &Tx{conn: c, reads: true}
	defer func() {
		tx.over = true
		readers.release(ctx, c, c.rollback())
	}()
	if _, err := c.exec(ctx, "BEGIN"); err != nil {
		return sqliteDialect.wrap("sqldb.read", err)
	}
	db.stats.reads.Add(1)
	return fn(ctx, tx)
}

// readers is a pool of connections, opened on demand.
type readers struct {
	dial    func() (*conn, error)
	places  *fair.Places // one per connection
	free    chan *conn   // nil: not open
	drained atomic.Int64 // by drain
	done    chan struct{}
}

func newReaders(n int, dial func() (*conn, error)) *readers {
	r := &readers{dial: dial, places: halves(n), free: make(chan *conn, n), done: make(chan struct{})}
	for range n {
		r.free <- nil
	}
	return r
}

func (r *readers) busy() int { return cap(r.free) - len(r.free) - int(r.drained.Load()) }

// halves are places of which a tenant, or the process itself, gets at most half.
func halves(n int) *fair.Places {
	half := max(1, n/2)
	return fair.NewPlaces(fair.Config{Places: n, Each: half, Own: half})
}

func (r *readers) acquire(ctx context.Context) (*conn, error) {
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
	case <-ctx.Done(): // drain has the connections
		r.places.Leave(keyOf(ctx))
		return nil, ctx.Err()
	}
	if c != nil {
		return c, nil
	}
	c, err := r.dial()
	if err != nil {
		r.release(ctx, nil, nil)
	}
	return c, err
}

// release returns a connection, or drops a broken one.
func (r *readers) release(ctx context.Context, c *conn, broken error) {
	if broken != nil {
		_ = c.close()
		c = nil
	}
	r.free <- c
	r.places.Leave(keyOf(ctx))
}

// drain takes all connections, busy ones when they return, and reports whether it got them before ctx ended. Nobody
// else reads until release.
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

// close waits for every connection and closes it.
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
