package sqldb

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

const (
	maxRedo     = 6                    // repetitions of a job
	maxRedoTime = 10 * time.Second     // after which no repetition starts
	redoPause   = 5 * time.Millisecond // before the first, at most; then doubled
	// to learn what became of a COMMIT: the server ends an idle transaction after 5 s
	maxDoubt   = 15 * time.Second
	doubtPause = 100 * time.Millisecond
)

// write runs fn in a transaction, again after a failure that may pass.
func (db *postgres) write(ctx context.Context, priority Priority, fn Func) (err error) {
	asked := time.Now()
	leave, err := db.enter(ctx, priority)
	if err != nil {
		return err
	}
	defer leave()
	began := time.Now()
	w := waits{queue: began.Sub(asked)}
	defer func() {
		db.stats.job(priority, err)
		if err != nil && ctx.Err() == nil && ofDatabase(err) {
			db.stats.pulse.failed(priority, err)
		}
		db.stats.stalled(db.log, w, 1, "")
	}()
	for n := 0; ; n++ {
		again := false
		w.again = time.Since(began)
		if again, err = db.attempt(ctx, priority, fn, &w); !again {
			db.stats.redone[n].Add(1)
			return err
		}
		db.stats.failed.Add(1)
		if n == maxRedo || time.Since(began) > maxRedoTime || !pause(ctx, rand.N(redoPause<<n)) {
			db.stats.redone[n].Add(1)
			return err
		}
	}
}

// ofDatabase reports whether a write failed because of the database, not of the job or another transaction.
func ofDatabase(err error) bool {
	f, ok := fault.As(err)
	return ok && slices.Contains([]string{codeFull, codeIO, codeDenied, codeDown, codeUnknown, codeDamaged}, f.Code)
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt runs fn once. again: nothing was stored, and a repetition may succeed.
func (db *postgres) attempt(
	ctx context.Context, priority Priority, fn Func, w *waits,
) (again bool, err error) {
	asked := time.Now()
	s, err := db.begin(ctx, beginWrite)
	began := time.Now()
	w.link, w.job, w.sync = began.Sub(asked), 0, 0
	if err != nil {
		return false, postgresDialect.wrap("sqldb.write", err)
	}
	defer s.end()
	by, bounded := ctx.Deadline()
	if end := began.Add(maxJob); !bounded || by.After(end) {
		by = end
	}
	if priority != Engine {
		s.within = min(longTrip, max(shortTrip, by.Sub(began))) // also for COMMIT
	}
	job, cancel := context.WithDeadline(context.WithValue(context.WithoutCancel(ctx), inJob{}, true), by)
	defer cancel()
	tx := &Tx{pg: s, waits: ctx.Err}
	err = call(job, tx, fn)
	tx.over = true
	sync := time.Now()
	w.job = sync.Sub(began)
	switch {
	case s.redo != nil:
		return true, postgresDialect.wrap("sqldb.write", s.redo)
	case err != nil:
		return false, err
	case s.begun && s.failed():
		return false, s.failure()
	case !s.begun:
		committed(tx.after)
		return false, nil
	}
	again, err = s.commit()
	w.sync = time.Since(sync)
	if err != nil {
		return again, err
	}
	committed(tx.after)
	if s.xid != "" {
		db.stats.pulse.wrote(priority == Engine)
	}
	c := Commit{Took: time.Since(began), Sync: w.sync}
	db.stats.commit(c)
	db.watch(c)
	return false, nil
}

func (s *session) failure() error {
	if s.cause == nil {
		return fault.Wrap("sqldb.commit", errText("the server rolled back instead of committing"))
	}
	return postgresDialect.wrap("sqldb.commit", s.cause)
}

// commit commits. When the answer is lost, another connection asks for the outcome.
func (s *session) commit() (again bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.within)
	defer cancel()
	s.pg.stats.trips.Add(1)
	tag, err := s.link.simple(ctx, "COMMIT")
	switch {
	case err == nil && tag == "COMMIT":
		return false, nil
	case err == nil:
		return false, s.failure()
	}
	err = s.note(ctx, err)
	if !s.link.raw.IsClosed() { // refused by the server
		return s.redo != nil, postgresDialect.wrap("sqldb.commit", err)
	}
	if s.xid == "" {
		return false, nil // nothing was written
	}
	s.conn.Release()
	return s.pg.settle(s.xid, s.link.life, err)
}

// settle asks for the outcome of a COMMIT without an answer. In another life of the server the id may be reused,
// unless it was committed.
func (db *postgres) settle(xid, life string, cause error) (again bool, err error) {
	db.stats.doubts.Add(1)
	db.log.Warn("the answer to a COMMIT was lost; asking for its outcome", "error", cause)
	db.pool.Reset()
	ctx, cancel := context.WithTimeout(context.Background(), db.doubt)
	defer cancel()
	for {
		status, now, err := db.status(ctx, xid)
		switch {
		case err == nil && status == "committed" && now == life:
			return false, nil
		case err == nil && (status == "aborted" || status == "in progress" && now != life):
			return true, postgresDialect.wrap("sqldb.commit", cause)
		case err == nil && (status == "" || now != life), fault.KindOf(err) == fault.Internal &&
			err != nil: // the server does not know
			return false, unknown(cause)
		}
		if !pause(ctx, doubtPause) { // still running, or no answer
			return false, unknown(errors.Join(cause, err))
		}
	}
}

func unknown(cause error) error {
	return unavailable("sqldb.commit", codeUnknown, "the outcome is unknown; repeat with the same key", cause)
}

// status asks for the status of a transaction, and in which life of the server that is.
func (db *postgres) status(ctx context.Context, xid string) (status, life string, err error) {
	s, err := db.begin(ctx, beginRead)
	if err != nil {
		return "", "", postgresDialect.wrap("sqldb.settle", err)
	}
	defer s.end()
	err = (&Tx{pg: s}).Row(ctx, "SELECT coalesce(pg_xact_status($1::text::xid8), '')", xid).Scan(&status)
	return status, s.link.life, err
}
