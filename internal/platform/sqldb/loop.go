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

// loop owns the write connection. Turns are done by whoever has the baton: the goroutine in run, or a caller that
// finds it free, whose job then wakes nobody.
type loop struct {
	conn  *conn
	queue *queue
	wal   *wal
	stats *counters
	watch func(Commit)
	log   *slog.Logger
	first func()                        // called before the first commit is answered
	since func(time.Time) time.Duration // time.Since

	running atomic.Bool

	baton sync.Mutex // guards the fields below and the connection
	share share      // of time in this turn
	jobs  []*job     // of this turn, in order
	open  bool       // a transaction is open, with a job that succeeded
	fixed bool       // with one of the engine, which must not run again
	wary  int        // turns in which every job gets a savepoint
	long  bool       // the log must be shortened
	dead  error      // why there are no more turns

	begun  time.Time     // this turn
	oldest time.Time     // its first job was queued
	locked time.Duration // waiting for the file lock in this turn
	busy   busy          // what kept later jobs waiting
}

// help does a turn if nobody is at it. Whoever is at it checks the queue after releasing the baton, so no job is
// overlooked. The rest is left to run.
func (l *loop) help() {
	if !l.running.Load() || !l.baton.TryLock() {
		return
	}
	defer fault.Fatal() // a panic leaves the transaction in an unknown state
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

// run serves jobs until ctx ends and the queue is empty, or until the disk cannot be trusted.
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

func (l *loop) serve(ctx context.Context) error {
	for {
		if err := l.turns(); err != nil {
			return err
		}
		if l.queue.any() {
			continue
		}
		select {
		case <-l.queue.wakeup:
		case <-ctx.Done():
			return nil
		}
	}
}

// turns does turns until nothing waits. An error ends the loop.
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

// abandon answers the remaining jobs.
func (l *loop) abandon(why error) {
	l.running.Store(false)
	l.queue.close(why)
	l.baton.Lock()
	defer l.baton.Unlock()
	l.gather()
	l.answer(why)
}

// turn is one transaction: the given job and those that come while there is room. An error ends the loop.
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
		l.share.ran[j.priority] += max(took, 1)
		l.queue.charge(j, took)
		if j.priority == Engine {
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
	c := Commit{Took: ended.Sub(l.begun), Sync: ended.Sub(sync), Pages: l.conn.pagesWritten()}
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

// explain logs why the jobs of this turn waited long, and remembers it for later ones. It precedes every answer.
func (l *loop) explain(sync, ended time.Time) {
	w := waits{queue: l.begun.Sub(l.oldest), lock: l.locked, job: sync.Sub(l.begun) - l.locked, sync: ended.Sub(sync)}
	l.stats.stalled(l.log, w, len(l.jobs), l.busy.since(l.oldest))
	l.busy.did(w.turn(), l.begun, ended)
}

// waryTurns is how many turns use savepoints after a failure.
const waryTurns = 32

// do runs a job. The first success needs no savepoint: until then a rollback undoes only the job itself. Jobs that
// may run again do without while none fails, since a savepoint copies every changed page, which costs more than a
// small job. The error of do has ended the transaction for all; a job's own error stays in j.err.
func (l *loop) do(j *job) error {
	ctx := context.WithValue(j.ctx, inJob{}, true)
	tx := &Tx{conn: l.conn, waits: j.waits}
	bare := !l.open || !l.fixed && l.wary == 0 && j.priority == Other
	if !l.open {
		began := time.Now()
		_, err := l.conn.exec(ctx, "BEGIN IMMEDIATE")
		l.locked += time.Since(began)
		if err != nil {
			l.gather() // they would fare no better
			return err
		}
	}
	if bare {
		j.err = call(ctx, tx, j.fn)
	} else {
		j.err = tx.Savepoint(ctx, func(ctx context.Context) error { return call(ctx, tx, j.fn) })
	}
	tx.over, j.after = true, tx.after // before undo, which may run j again
	if l.conn.lost != nil {
		return l.conn.lost
	}
	if j.err != nil && bare {
		return l.undo(j)
	}
	if j.err == nil {
		l.open, l.fixed = true, l.fixed || j.priority == Engine
	}
	return nil
}

// undo rolls back for a job that failed without a savepoint, and runs the jobs before it again, now with savepoints,
// and itself too: it may have seen their writes.
func (l *loop) undo(failed *job) error {
	if err := l.conn.rollback(); err != nil || !l.open {
		return err
	}
	l.open, l.wary = false, waryTurns
	for _, j := range l.jobs {
		if j != failed && j.err != nil {
			continue // it was alone and saw no writes
		}
		l.stats.again.Add(1)
		if err := l.do(j); err != nil {
			return err
		}
	}
	return nil
}

// gather takes every waiting job into this turn.
func (l *loop) gather() {
	for j := l.queue.next(share{}); j != nil; j = l.queue.next(share{}) {
		l.jobs = append(l.jobs, j)
	}
}

// call turns a panic of a job into an error.
func call(ctx context.Context, tx *Tx, fn Func) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.Wrap("sqldb.write", fmt.Errorf("a job panicked: %v\n%s", r, debug.Stack()))
		}
	}()
	return fn(ctx, tx)
}

// fail undoes the transaction and answers all its jobs, failed ones too: they may have seen what is undone. sync is
// when their work was done. An error ends the loop.
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

// refuse answers the jobs of an undone transaction. Those that met damage, or all if that is unknown, get that error;
// the others may try again.
func (l *loop) refuse(err, cause error) {
	again := err
	if fault.KindOf(err) != fault.Unavailable {
		again = unavailable("sqldb.commit", codeIO, "the commit failed; nothing was stored", cause)
	}
	met := slices.ContainsFunc(l.jobs, func(j *job) bool { return IsDamage(j.err) })
	priority := Other
	for _, j := range l.jobs {
		if !IsDamage(err) || met && !IsDamage(j.err) {
			j.err = again
			continue
		}
		j.err, priority = err, min(priority, j.priority)
	}
	l.stats.pulse.failed(priority, err)
	l.answer(nil)
}

// answer answers the jobs: with err, or each with its own error.
func (l *loop) answer(err error) {
	for i, j := range l.jobs {
		if err != nil {
			j.err = err
		}
		if j.err == nil {
			committed(j.after)
		}
		l.stats.job(j.priority, j.err)
		close(j.done)
		l.jobs[i] = nil
	}
	l.jobs, l.open, l.fixed = l.jobs[:0], false, false
}
