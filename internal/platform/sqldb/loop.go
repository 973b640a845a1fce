package sqldb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// loop is the one owner of the write connection. Whoever has its baton does the
// turns: the goroutine in run, or a caller that found it idle, whose job is then
// done without waking anybody.
type loop struct {
	conn  *conn
	queue *queue
	wal   *wal
	stats *counters
	watch func(Commit)
	log   *slog.Logger
	first func()                        // called before the first commit is answered
	since func(time.Time) time.Duration // how long a job took; time.Since

	running atomic.Bool

	baton sync.Mutex // guards what follows, and the connection
	share share      // how the time of this turn is divided
	jobs  []*job     // of this turn, in order
	open  bool       // a transaction is open: a job of this turn succeeded
	fixed bool       // one of the engine did: it is not run again
	wary  int        // turns in which every job gets a savepoint
	long  bool       // the write-ahead log must be shortened
	dead  error      // why there is no further turn

	begun  time.Time     // this turn
	oldest time.Time     // when the first of its jobs was put into the queue
	locked time.Duration // what this turn waited for the lock of the file
	busy   busy          // what kept later jobs waiting
}

// help does one turn if nobody is at it. Whoever is at it looks again after
// letting the baton go, so a job that is in the queue is always seen. What nobody
// waits for, and the end of the loop, is left to the goroutine in run.
func (l *loop) help() {
	if !l.running.Load() || !l.baton.TryLock() {
		return
	}
	defer fault.Fatal() // what a panic left of the transaction is unknown
	if l.dead == nil {
		if j := l.queue.next(l.share); j != nil {
			l.dead = l.turn(j)
		}
	}
	rest := l.long || l.dead != nil
	l.baton.Unlock()
	if rest || l.queue.any() {
		l.queue.wake()
	}
}

// run serves jobs until ctx ends and the queue is empty, or until the disk can no
// longer be trusted.
func (l *loop) run(ctx context.Context) error {
	why := unavailable("sqldb.write", codeStopped, "the server is stopping", nil)
	defer func() { l.abandon(why) }()
	l.running.Store(true)
	err := l.serve(ctx)
	if err == nil {
		l.queue.close(why)
		err = l.turns()
	}
	if err != nil {
		why = unavailable("sqldb.write", codeIO, "the disk failed; the server must be restarted", err)
	}
	return err
}

// serve does turns until ctx ends.
func (l *loop) serve(ctx context.Context) error {
	for {
		if err := l.turns(); err != nil {
			return err
		}
		if l.queue.any() {
			continue
		}
		select {
		case <-l.queue.kick:
		case <-ctx.Done():
			return nil
		}
	}
}

// turns does turns until nothing waits. Its error is one that ends the loop,
// whoever came upon it.
func (l *loop) turns() error {
	l.baton.Lock()
	defer l.baton.Unlock()
	for l.dead == nil {
		if l.long || l.wal.reset.Load() {
			l.long = false
			began := time.Now()
			l.dead = l.wal.shorten(l.conn)
			l.busy.did("checkpoint", began, time.Now())
			continue
		}
		j := l.queue.next(l.share)
		if j == nil {
			return nil
		}
		l.dead = l.turn(j)
	}
	return l.dead
}

// abandon answers whoever is left when the loop ends.
func (l *loop) abandon(why error) {
	l.running.Store(false)
	l.queue.close(why)
	l.baton.Lock()
	defer l.baton.Unlock()
	l.gather()
	l.answer(why)
}

// turn is one transaction: the job given, and all that come while it has room.
// Its error is one that ends the loop.
func (l *loop) turn(first *job) error {
	if err := l.wal.broken(); err != nil {
		l.jobs = append(l.jobs, first)
		return err
	}
	l.begun, l.oldest, l.locked = time.Now(), first.put, 0
	defer func() {
		l.share = l.share.next(l.queue.more(Other))
		l.wary = max(0, l.wary-1)
	}()
	for j := first; j != nil; j = l.queue.next(l.share) {
		l.jobs = append(l.jobs, j)
		if j.put.Before(l.oldest) {
			l.oldest = j.put
		}
		started := time.Now()
		err := l.do(j)
		l.share.jobs++
		took := l.since(started)
		l.share.ran[j.lane] += max(took, 1)
		l.queue.charge(j, took)
		if j.lane == Engine {
			l.share.slow = took > maxRun
		}
		if err != nil {
			return l.fail(time.Now(), err)
		}
	}
	sync := time.Now()
	if !l.open {
		l.explain(sync, sync)
		l.answer(nil)
		return nil
	}
	if _, err := l.conn.exec(context.Background(), "COMMIT"); err != nil {
		return l.fail(sync, err)
	}
	if err := l.wal.broken(); err != nil {
		return err // run answers the jobs: nobody will find what was written
	}
	ended := time.Now()
	c := Commit{Jobs: len(l.jobs), Took: ended.Sub(l.begun), Sync: ended.Sub(sync), Pages: l.conn.pagesWritten()}
	engine := l.fixed
	l.explain(sync, ended)
	if c.Pages > 0 && l.first != nil {
		l.first()
		l.first = nil
	}
	l.answer(nil)
	if c.Pages > 0 {
		l.stats.pulse.wrote(engine)
	}
	l.stats.commit(c)
	l.watch(c)
	l.long = l.wal.committed(c.Pages)
	return nil
}

// explain says why the jobs of this turn waited, if they waited long, and remembers it for
// those after them. It comes before they are answered, however that is.
func (l *loop) explain(sync, ended time.Time) {
	w := waits{queue: l.begun.Sub(l.oldest), lock: l.locked, job: sync.Sub(l.begun) - l.locked, sync: ended.Sub(sync)}
	l.stats.stalled(l.log, w, len(l.jobs), l.busy.since(l.oldest))
	l.busy.did(w.turn(), l.begun, ended)
}

// waryTurns is for how long jobs get savepoints after one of them failed.
const waryTurns = 32

// do runs one job. The first that succeeds needs no savepoint: while it is alone
// in the transaction, rolling back undoes just it. Those that may be run again need
// none either, as long as nobody fails: a savepoint costs more than a small job does,
// since it keeps a copy of every page that is changed in it. An error of do is one that
// ended the transaction for all; the error of a job stays with the job.
func (l *loop) do(j *job) error {
	ctx := context.WithValue(j.ctx, inJob{}, true)
	tx := &Tx{conn: l.conn, waits: j.waits}
	bare := !l.open || !l.fixed && l.wary == 0 && j.lane == Other
	if !l.open {
		began := time.Now()
		_, err := l.conn.exec(ctx, "BEGIN IMMEDIATE")
		l.locked += time.Since(began)
		if err != nil {
			l.gather() // none of those who wait would fare better
			return err
		}
	}
	if bare {
		j.err = call(ctx, tx, j.fn)
	} else {
		j.err = tx.Savepoint(ctx, func(ctx context.Context) error { return call(ctx, tx, j.fn) })
	}
	tx.over, j.after = true, tx.after // before undo, which may run it again
	if l.conn.lost != nil {
		return l.conn.lost
	}
	if j.err != nil && bare {
		return l.undo(j)
	}
	if j.err == nil {
		l.open, l.fixed = true, l.fixed || j.lane == Engine
	}
	return nil
}

// undo rolls back because of a job that failed without a savepoint. Those that were in
// the transaction before it are run again, with savepoints now and for a while, and it
// is too: it may have seen what has become of them the first time.
func (l *loop) undo(failed *job) error {
	if err := l.conn.rollback(); err != nil || !l.open {
		return err
	}
	l.open, l.wary = false, waryTurns
	for _, j := range l.jobs {
		if j != failed && j.err != nil {
			continue // it was alone then, and saw nobody's
		}
		l.stats.again.Add(1)
		if err := l.do(j); err != nil {
			return err
		}
	}
	return nil
}

// gather takes every job that waits into this turn.
func (l *loop) gather() {
	for j := l.queue.next(share{}); j != nil; j = l.queue.next(share{}) {
		l.jobs = append(l.jobs, j)
	}
}

// call runs a job's function and turns a panic into an error.
func call(ctx context.Context, tx *Tx, fn func(context.Context, *Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.Wrap("sqldb.write", fmt.Errorf("a job panicked: %v\n%s", r, debug.Stack()))
		}
	}()
	return fn(ctx, tx)
}

// fail undoes the transaction and tells all of its jobs, also those that had an
// error of their own: they may have seen what is now undone. sync is when they had
// done their work. It gives the error back when the loop must not go on.
func (l *loop) fail(sync time.Time, cause error) error {
	l.stats.failed.Add(1)
	l.explain(sync, time.Now())
	if sqliteDialect.reach(cause) == process {
		return l.wal.stop(cause) // run answers the jobs
	}
	undo := l.conn.rollback()
	l.refuse(sqliteDialect.wrap("sqldb.commit", cause), cause)
	l.conn.pagesWritten()
	if undo != nil {
		return fault.Wrap("sqldb.rollback", errors.Join(undo, cause))
	}
	return nil
}

// refuse answers the jobs of a transaction that is undone. Those who met damage are told so,
// and not to try again; if it is not known who did, all are. The others may try again.
func (l *loop) refuse(err, cause error) {
	again := err
	if fault.KindOf(err) != fault.Unavailable {
		again = unavailable("sqldb.commit", codeIO, "the commit failed; nothing was stored", cause)
	}
	met := slices.ContainsFunc(l.jobs, func(j *job) bool { return IsDamage(j.err) })
	lane := Other
	for _, j := range l.jobs {
		if !IsDamage(err) || met && !IsDamage(j.err) {
			j.err = again
			continue
		}
		j.err, lane = err, min(lane, j.lane)
	}
	l.stats.pulse.failed(lane, err)
	l.answer(nil)
}

// answer tells the jobs of the transaction how it ended: by err, or each by its own.
func (l *loop) answer(err error) {
	for i, j := range l.jobs {
		if err != nil {
			j.err = err
		}
		if j.err == nil {
			committed(j.after)
		}
		l.stats.job(j.lane, j.err)
		close(j.done)
		l.jobs[i] = nil
	}
	l.jobs, l.open, l.fixed = l.jobs[:0], false, false
}
