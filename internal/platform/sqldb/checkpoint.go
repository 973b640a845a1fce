package sqldb

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"renga.dev/renga/internal/platform/fault"
)

// The sizes of the write-ahead log at which something is done about it, in bytes.
const (
	walStep  = 16 << 20  // new since the last time: copy it into the database, beside the writes
	walReset = 64 << 20  // in all: let the loop copy the short rest, so that the log starts over
	walCap   = 256 << 20 // in all: hold up reads, and say that somebody keeps it from starting over
)

// How long reads of this process are held up so that a log beyond its limit can start over, and
// how often.
const (
	maxHold   = time.Second
	holdEvery = 10 * time.Second
)

// The pauses between two attempts at a log that a reader keeps from starting over.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// nextPause is the pause after the one given, 0 before the first.
func nextPause(last time.Duration) time.Duration {
	return min(max(2*last, firstPause), maxPause)
}

// wal keeps the write-ahead log short. Copying runs on a connection of its own,
// beside the writes. It cannot catch up with a writer that never rests, so when
// the log has grown the loop itself copies the little that is left.
//
// No commit ever waits for a reader: as long as one reads what the log held when it began, the
// log grows. Reads of this process that overlap would keep it growing for ever, so beyond the
// limit new ones wait for a moment. Readers outside are logged and counted, and the log is tried
// again after a pause.
type wal struct {
	path        string
	dial        func() (*conn, error)
	reads       func() int                                       // reads of this process that are under way
	drain       func(context.Context) (release func(), all bool) // see readers; not of the engine's own
	look        func()                                           // has the loop look at reset
	log         *slog.Logger
	wake        chan struct{}
	reset       atomic.Bool // the loop shall copy the rest
	fatal       atomic.Pointer[fault.Error]
	checkpoints atomic.Uint64
	blocked     atomic.Uint64 // attempts at a log beyond its limit that a reader kept from starting over

	step, start, limit int64 // walStep, walReset, walCap
	pause              func(last time.Duration) time.Duration
	hold, every        time.Duration // maxHold, holdEvery

	copied chan checkpointed // what the loop has done about reset
	held   time.Time         // of run: when reads were held up last

	fresh int // of whoever has the loop's baton: pages since the sweeper was woken
}

func newWAL(path string, dial func() (*conn, error), reads func() int, log *slog.Logger) *wal {
	return &wal{
		path: path, dial: dial, reads: reads, log: log, wake: make(chan struct{}, 1),
		step: walStep, start: walReset, limit: walCap, pause: nextPause,
		hold: maxHold, every: holdEvery, copied: make(chan checkpointed, 1),
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
	return w.end("sqldb.sync", fmt.Errorf("the disk could not be synced, so what it holds is unknown; stopping: %w",
		cause))
}

// end notes why nothing may be written or acknowledged any more. The first reason stands.
func (w *wal) end(op string, cause error) error {
	w.fatal.CompareAndSwap(nil, &fault.Error{Op: op, Err: cause})
	return w.broken()
}

// committed is told of every commit. It reports whether the loop must shorten the
// log, which takes time: it does so when the callers were answered.
func (w *wal) committed(pages int) bool {
	w.fresh += pages
	if int64(w.fresh)*pageSize >= w.step {
		w.fresh = 0
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return w.reset.Load()
}

// shorten copies the rest of the log on the connection of the loop, as far as no reader
// needs it: it waits for nobody.
func (w *wal) shorten(c *conn) error {
	if !w.reset.Swap(false) {
		return nil
	}
	done, err := w.checkpoint(c)
	select {
	case w.copied <- done:
	default: // nobody waits for it
	}
	return err
}

// run copies the log into the database whenever it has grown, until ctx ends. A log that
// somebody keeps from starting over is tried again after a pause, also when nothing is
// written: who read it may have gone.
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
	var pause time.Duration
	for {
		if err := w.await(ctx, pause); err != nil || ctx.Err() != nil {
			return err
		}
		done, err := w.checkpoint(c)
		if err != nil {
			return err
		}
		if done.pages*pageSize >= w.start && done.rest()*pageSize <= w.step {
			w.reset.Store(true)
		}
		if w.size() >= w.limit && time.Since(w.held) >= w.every {
			if done, err = w.startOver(ctx, c, done); err != nil {
				return err
			}
		}
		pause = w.report(done, pause)
	}
}

// startOver copies the log while nobody of this process reads, so that the next commit finds no
// reader of it but such from outside: reads that overlap leave no such moment by themselves. New
// reads wait until it is done, for hold at most. What it gives is what is known of the log then.
func (w *wal) startOver(ctx context.Context, c *conn, last checkpointed) (checkpointed, error) {
	w.held = time.Now()
	ctx, cancel := context.WithTimeout(ctx, w.hold)
	defer cancel()
	release, all := w.drain(ctx)
	defer release()
	if !all {
		return last, nil
	}
	last, err := w.checkpoint(c)
	if err != nil || last.rest()*pageSize > w.step {
		return last, err // the loop would take too long
	}
	select {
	case <-w.copied: // what it did before
	default:
	}
	w.reset.Store(true)
	w.look()
	select {
	case last = <-w.copied:
	case <-ctx.Done():
	}
	return last, nil
}

// await returns when there is something to copy: the log has grown, or a pause is over.
func (w *wal) await(ctx context.Context, pause time.Duration) error {
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return w.broken()
	}
	select {
	case <-w.wake:
	case <-ctx.Done():
	}
	return w.broken()
}

// report says and counts that a log beyond its limit does not get shorter, and that it does
// again. It gives the pause before the next attempt, 0 when all is well.
func (w *wal) report(done checkpointed, pause time.Duration) time.Duration {
	size := w.size()
	if reason := done.reason(); reason != "" && size >= w.limit {
		w.blocked.Add(1)
		if done.reads > 0 {
			pause = 0 // they end soon: it does not get longer
		}
		pause = w.pause(pause)
		w.log.Warn("write-ahead log cannot be shortened", "reason", reason, "bytes", size, "ms", pause.Milliseconds())
		return pause
	}
	if pause > 0 && size >= w.limit {
		return pause // all of it is copied: the next commit starts it over
	}
	if pause > 0 {
		w.log.Info("write-ahead log is short again", "bytes", size)
	}
	return 0
}

// checkpointed is what a checkpoint found and did.
type checkpointed struct {
	busy          bool  // another connection was at one
	pages, copied int64 // of the log: all, and those that the database has
	reads         int   // of this process that were under way
}

func (c checkpointed) rest() int64 { return c.pages - c.copied }

// reason is why the log cannot start over, "" when it can.
func (c checkpointed) reason() string {
	switch {
	case c.busy:
		return "another process copies the log"
	case c.rest() > 0 && c.reads == 0:
		return "another process reads the database file"
	case c.rest() > 0:
		return "somebody reads the database, this process too"
	}
	return ""
}

// checkpoint copies the log into the database, as far as no reader needs what is in it. That
// it could not be done is logged and tried again later; an error is one that nothing may
// follow.
func (w *wal) checkpoint(c *conn) (done checkpointed, err error) {
	for row, err := range c.query(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)") {
		if err == nil {
			err = row.Scan(&done.busy, &done.pages, &done.copied)
		}
		if err == nil {
			continue
		}
		c.lost = nil // there is no transaction that could be
		if sqliteDialect.reach(err) == process {
			return done, w.stop(err)
		}
		w.log.Warn("checkpoint failed", "error", err)
		return checkpointed{}, nil
	}
	w.checkpoints.Add(1)
	done.reads = w.reads()
	return done, nil
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
