package sqldb

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"modernc.org/sqlite"

	"renga.dev/renga/internal/fault"
)

// The sizes of the write-ahead log at which something is done about it, in bytes.
const (
	walStep  = 16 << 20  // new since the last time: copy it into the database, beside the writes
	walReset = 64 << 20  // in all: let the loop copy the short rest, so that the log starts over
	walCap   = 256 << 20 // in all: the loop waits until the log is empty
)

// wal keeps the write-ahead log short. Copying runs on a connection of its own,
// beside the writes. It cannot catch up with a writer that never rests, so when
// the log has grown the loop itself copies the little that is left.
type wal struct {
	path        string
	dial        func() (*conn, error)
	log         *slog.Logger
	wake        chan struct{}
	reset       atomic.Bool // the loop shall copy the rest
	fatal       atomic.Pointer[fault.Error]
	checkpoints atomic.Uint64
	stalls      atomic.Uint64

	step, start, limit int64 // walStep, walReset, walCap

	// Of whoever has the loop's baton:
	fresh int // pages since the sweeper was woken
	quiet int // pages until the cap is looked at again: a wait may not have helped
}

func newWAL(path string, dial func() (*conn, error), log *slog.Logger) *wal {
	return &wal{
		path: path, dial: dial, log: log, wake: make(chan struct{}, 1),
		step: walStep, start: walReset, limit: walCap,
	}
}

// size is the length of the log file.
func (w *wal) size() int64 {
	info, err := os.Stat(w.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// broken is why nothing may be written any more, nil while all is well.
func (w *wal) broken() error {
	if err := w.fatal.Load(); err != nil {
		return err
	}
	return nil
}

// stop notes that the disk cannot be trusted any more.
func (w *wal) stop(cause error) error {
	err := &fault.Error{Op: "sqldb.sync", Err: fmt.Errorf("the disk could not be synced, so what it holds is unknown; stopping: %w", cause)}
	w.fatal.CompareAndSwap(nil, err)
	return w.broken()
}

// committed is told of every commit. It reports whether the loop must shorten the
// log, which takes time: it does so when the callers were answered.
func (w *wal) committed(pages int) bool {
	w.fresh += pages
	w.quiet -= pages
	if int64(w.fresh)*pageSize >= w.step {
		w.fresh = 0
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return w.reset.Load() || w.full()
}

// full reports whether the log has reached its cap, and it is time to wait for it.
func (w *wal) full() bool { return w.quiet <= 0 && w.size() >= w.limit }

// shorten copies the rest of the log on the connection of the loop.
func (w *wal) shorten(c *conn) error {
	if w.reset.Swap(false) {
		if _, err := w.checkpoint(c, "PASSIVE"); err != nil {
			return err
		}
	}
	if !w.full() {
		return nil
	}
	w.stalls.Add(1)
	w.quiet = int(w.step / pageSize)
	_, err := w.checkpoint(c, "TRUNCATE")
	return err
}

// run copies the log into the database whenever it has grown, until ctx ends.
func (w *wal) run(ctx context.Context) error {
	c, err := w.dial()
	if err != nil {
		return err
	}
	defer func() {
		if w.broken() == nil {
			_ = c.close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return w.broken()
		case <-w.wake:
		}
		pages, err := w.checkpoint(c, "PASSIVE")
		if err != nil {
			return err
		}
		if int64(pages)*pageSize >= w.start {
			w.reset.Store(true)
		}
	}
}

// checkpoint copies the log into the database and gives the pages that the log
// holds then. That it could not be done is logged and tried again later; an error
// is one that nothing may follow.
func (w *wal) checkpoint(c *conn, mode string) (int, error) {
	var busy, pages, copied int
	for row, err := range c.query(context.Background(), "PRAGMA wal_checkpoint("+mode+")") {
		if err == nil {
			err = row.Scan(&busy, &pages, &copied)
		}
		if err == nil {
			continue
		}
		c.lost = nil // there is no transaction that could be
		if sqliteDialect.reach(err) == process {
			return 0, w.stop(err)
		}
		w.log.Warn("checkpoint failed", "mode", mode, "error", err)
		return 0, nil
	}
	w.checkpoints.Add(1)
	return pages, nil
}

// pagesWritten is how many pages the connection wrote since it was last asked.
func (c *conn) pagesWritten() int {
	s, ok := c.raw.(sqlite.DBStatus)
	if !ok {
		return 0
	}
	n, _, err := s.Status(sqlite.DBStatusCacheWrite, true)
	if err != nil {
		return 0
	}
	return n
}
