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

// Sizes of the write-ahead log, in bytes.
const (
	walStep  = 16 << 20  // new since the last checkpoint: run one beside the writes
	walReset = 64 << 20  // in all: let the loop copy the short rest, so that the log restarts
	walCap   = 256 << 20 // in all: hold up reads, and log who keeps it from restarting
)

// How long, and how often, reads of this process are held up so that a log over its limit can restart.
const (
	maxHold   = time.Second
	holdEvery = 10 * time.Second
)

// The pauses between attempts at a log that a reader keeps from restarting.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

func nextPause(last time.Duration) time.Duration {
	return min(max(2*last, firstPause), maxPause)
}

// wal keeps the write-ahead log short. It checkpoints on a connection of its own, beside the writes; since that
// cannot catch up with a writer that never rests, the loop copies the small rest of a long log.
//
// No commit waits for a reader, so the log grows while one reads an old part of it. Overlapping reads of this process
// would let it grow for ever: over the limit new ones wait a moment. Outside readers are logged and counted, and the
// checkpoint is retried after a pause.
type wal struct {
	path        string
	dial        func() (*conn, error)
	reads       func() int                                       // of this process, under way
	drain       func(context.Context) (release func(), all bool) // see readers; not the engine's own
	look        func()                                           // wakes the loop
	log         *slog.Logger
	wake        chan struct{}
	reset       atomic.Bool // asks the loop to copy the rest
	fatal       atomic.Pointer[fault.Error]
	checkpoints atomic.Uint64
	blocked     atomic.Uint64 // checkpoints over the limit that a reader blocked

	step, start, limit int64 // walStep, walReset, walCap
	pause              func(last time.Duration) time.Duration
	hold, every        time.Duration // maxHold, holdEvery

	copied chan checkpointed // by the loop, after reset
	held   time.Time         // when reads were last held up

	fresh int // pages since the last wakeup of run; guarded by the loop's baton
}

func newWAL(path string, dial func() (*conn, error), reads func() int, log *slog.Logger) *wal {
	return &wal{
		path: path, dial: dial, reads: reads, log: log, wake: make(chan struct{}, 1),
		step: walStep, start: walReset, limit: walCap, pause: nextPause,
		hold: maxHold, every: holdEvery, copied: make(chan checkpointed, 1),
	}
}

func (w *wal) size() int64 {
	info, err := os.Stat(w.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// broken is why nothing may be written any more; nil: all is well.
func (w *wal) broken() error {
	if err := w.fatal.Load(); err != nil {
		return err
	}
	return nil
}

// stop records that the disk cannot be trusted.
func (w *wal) stop(cause error) error {
	return w.end("sqldb.sync", fmt.Errorf("the disk could not be synced, so what it holds is unknown; stopping: %w",
		cause))
}

// end records why nothing may be written any more. The first reason stands.
func (w *wal) end(op string, cause error) error {
	w.fatal.CompareAndSwap(nil, &fault.Error{Op: op, Err: cause})
	return w.broken()
}

// committed is called after each commit. It reports whether the loop must call shorten, after it has answered the
// callers.
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

// shorten copies the rest of the log on the loop's connection, as far as no reader needs it; it waits for nobody.
func (w *wal) shorten(c *conn) error {
	if !w.reset.Swap(false) {
		return nil
	}
	done, err := w.checkpoint(c)
	select {
	case w.copied <- done:
	default:
	}
	return err
}

// run checkpoints whenever the log has grown, until ctx ends, and retries a blocked checkpoint even when nothing is
// written: the reader may be gone.
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

// startOver copies the log while no read of this process is running; overlapping reads never leave such a moment by
// themselves. New reads wait for at most hold. It returns the state of the log.
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
	case <-w.copied: // of before
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

// await returns when the log has grown or a pause is over.
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

// report logs and counts a log over its limit that does not get shorter, and its recovery. It returns the pause
// before the next attempt; 0: all is well.
func (w *wal) report(done checkpointed, pause time.Duration) time.Duration {
	size := w.size()
	if reason := done.reason(); reason != "" && size >= w.limit {
		w.blocked.Add(1)
		if done.reads > 0 {
			pause = 0 // they end soon: keep it short
		}
		pause = w.pause(pause)
		w.log.Warn("write-ahead log cannot be shortened", "reason", reason, "bytes", size, "ms", pause.Milliseconds())
		return pause
	}
	if pause > 0 && size >= w.limit {
		return pause // all is copied: the next commit restarts it
	}
	if pause > 0 {
		w.log.Info("write-ahead log is short again", "bytes", size)
	}
	return 0
}

// checkpointed is the result of a checkpoint.
type checkpointed struct {
	busy          bool  // another connection ran one
	pages, copied int64 // in the log, and copied to the database
	reads         int   // of this process, under way
}

func (c checkpointed) rest() int64 { return c.pages - c.copied }

// reason is why the log cannot restart; "": it can.
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

// checkpoint copies the log as far as no reader needs it. An ordinary failure is logged and retried later; after an
// error nothing may follow.
func (w *wal) checkpoint(c *conn) (done checkpointed, err error) {
	for row, err := range c.query(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)") {
		if err == nil {
			err = row.Scan(&done.busy, &done.pages, &done.copied)
		}
		if err == nil {
			continue
		}
		c.lost = nil // no transaction is open
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

// pagesWritten is how many pages the connection wrote since the last call.
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
