package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// MaxTries is how often an event is tried before it becomes a dead letter, unless its
// consumer says otherwise.
const MaxTries = 10

// Status is where a dead letter stands. The values are stored.
type Status uint8

// The statuses of dead letters.
const (
	Open      Status = iota // somebody must decide
	Redriving               // it is tried again
	Skipping                // it is about to be passed over
	Applied                 // a redrive took it
	Skipped                 // it was passed over
	Stale                   // driven again, and a newer event of its key had been taken
	Duplicate               // driven again, and it had been taken before
)

var statusNames = [...]string{"OPEN", "REDRIVING", "SKIPPING", "APPLIED", "SKIPPED", "STALE", "DUPLICATE"}

func (s Status) String() string { return statusNames[s] }

// ended is the status of a letter that was driven again, by what the guard said of it.
func (v verdict) ended() Status {
	switch v {
	case duplicate:
		return Duplicate
	case stale:
		return Stale
	}
	return Applied
}

// conflictOf says that two events claim one place.
func conflictOf(e *wire.Event, last keyVersion) error {
	return fault.New(fault.Conflict, "EVENT_CONFLICT", "event %s has version %v, index %d of its key, and so has event %s, which was taken before",
		e.ID, e.Version, e.Index, last.eventID)
}

// failure describes a try that failed.
func failure(at wire.Stamp, attempt int, cause error) Failure {
	text := strings.ReplaceAll(strings.ToValidUTF8(cause.Error(), "\uFFFD"), "\x00", "\uFFFD") // PostgreSQL has no NUL
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return Failure{At: at, Attempt: attempt, Error: text}
}

// tries is how often the consumer tries an event.
func (c *Consumer) tries() int {
	if c.MaxTries > 0 {
		return c.MaxTries
	}
	return MaxTries
}

// failed makes a key wait whose event, fresh from the stream, could not be taken.
func (r *reader) fail(ctx context.Context, tx *sqldb.Tx, t *changes, it *item, cause error) error {
	e := &it.event
	if again, err := r.isDead(ctx, tx, e); err != nil || again {
		t.counts.duplicate++
		return err
	}
	t.counts.failed++
	f := failure(t.now, 1, cause)
	l := t.block(e)
	if it.bad == nil { // the place that a broken event claims says nothing of those after it
		l.last = keyVersion{version: e.Version, index: e.Index}
	}
	if IsPermanent(cause) || r.consumer.tries() == 1 {
		if _, err := r.moveToDLQ(ctx, tx, t, it, cause, []Failure{f}); err != nil {
			return err
		}
		l.state = keyBlocked
		if r.consumer.Continue || e.Key == "" {
			delete(t.keys, e.Key)
		}
		return nil
	}
	l.attempt, l.nextTry, l.errors = 1, t.now+backoff(1), []Failure{f}
	return r.park(ctx, tx, t, it, 0)
}

// isBuried reports whether an event is, or was, a dead letter.
func (r *reader) isDead(ctx context.Context, tx *sqldb.Tx, e *wire.Event) (bool, error) {
	var n int
	err := tx.Row(ctx, "SELECT count(*) FROM bus_dead WHERE consumer = $1 AND partition_key = $2 AND event_id = $3",
		r.consumer.Name, e.Key, e.ID).Scan(&n)
	return n > 0, err
}

// isLetter reports whether an event that comes again is a dead letter behind which the
// consumer has gone on. It is for somebody to decide about then, also when it could be
// taken by now. Such events are counted as duplicates.
func (r *reader) isKnownDead(ctx context.Context, tx *sqldb.Tx, t *changes, e *wire.Event) (bool, error) {
	if !r.consumer.Continue || !r.deadKeys[e.Key] && !slices.Contains(t.deadKeys, e.Key) {
		return false, nil
	}
	again, err := r.isDead(ctx, tx, e)
	if again {
		t.counts.duplicate++
	}
	return again, err
}

// loadLetters reads the keys behind whose dead letters the consumer has gone on.
func (r *reader) loadDeadKeys(ctx context.Context, tx *sqldb.Tx) error {
	if !r.consumer.Continue {
		return nil
	}
	for row, err := range tx.Query(ctx, "SELECT DISTINCT partition_key FROM bus_dead WHERE consumer = $1 AND part = $2 AND status IN (0, 1, 2)",
		r.consumer.Name, r.lease.part) {
		var key string
		if err == nil {
			err = row.Scan(&key)
		}
		if err != nil {
			return err
		}
		r.deadKeys[key] = true
	}
	return nil
}

// bury makes a dead letter of an event.
func (r *reader) moveToDLQ(ctx context.Context, tx *sqldb.Tx, t *changes, it *item, cause error, history []Failure) (int64, error) {
	e, code := &it.event, codeOf(cause)
	class, advice := adviceOf(cause)
	text, err := encodeFailures(history)
	if err != nil {
		return 0, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return 0, err
	}
	last := history[len(history)-1]
	var num int64
	err = tx.Row(ctx, `INSERT INTO bus_dead (id, tenant_id, consumer, part, status, partition_key, event_id, event_type, version, idx,
		reason_class, reason_code, retry_advice, error, attempts, errors, first_failed_at, dead_at, redrive_at,
		decided_by, decided_at, reason, ended_at, body)
		VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, '', 0, '', 0, $19) RETURNING num`,
		id.String(), e.Tenant, r.consumer.Name, r.lease.part, e.Key, e.ID, e.Type, e.Version, e.Index,
		string(class), code, string(advice), last.Error, last.Attempt, text, history[0].At, t.now, r.redriveAt(cause, t.now), it.Body).Scan(&num)
	t.deadKeys = append(t.deadKeys, e.Key)
	r.bus.cfg.Passed("reader.buried")
	return num, err
}

// codeOf is the code of a failure.
func codeOf(cause error) string {
	if f, ok := fault.As(cause); ok && f.Code != "" {
		return f.Code
	}
	return "HANDLER_FAILED"
}

// adviceOf is the class of a failure, and what to do about it. What a handler calls
// permanent without saying what it is, is no outage that passes: the event or the
// handler is wrong.
func adviceOf(cause error) (fault.ReasonClass, fault.RetryAdvice) {
	kind := fault.KindOf(cause)
	if f, ok := fault.As(cause); ok && f.Reason == fault.Damaged {
		return f.Reason.Class, f.Reason.Advice
	}
	if kind == fault.Internal && IsPermanent(cause) {
		kind = fault.Invalid
	}
	return kind.Advice()
}

// buryAgain opens a dead letter again that was driven and failed.
func (r *reader) reopen(ctx context.Context, tx *sqldb.Tx, t *changes, num int64, cause error, history []Failure) error {
	var text string
	if err := tx.Row(ctx, "SELECT errors FROM bus_dead WHERE num = $1", num).Scan(&text); err != nil {
		return err
	}
	var all []Failure
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return err
	}
	text, err := encodeFailures(append(all, history...))
	if err != nil {
		return err
	}
	class, advice := adviceOf(cause)
	last := history[len(history)-1]
	_, err = tx.Exec(ctx, `UPDATE bus_dead SET status = 0, reason_class = $2, retry_advice = $3, error = $4, attempts = attempts + $5,
		errors = $6, dead_at = $7, reason_code = $8, redrive_at = 0 WHERE num = $1`,
		num, string(class), string(advice), last.Error, last.Attempt, text, t.now, codeOf(cause))
	return err
}

// letter is a dead letter that somebody has decided about.
type decidedLetter struct {
	num    int64
	status Status
	item   item
}

// decisions carries out what was decided about dead letters. It says whether there may
// be more.
func (r *reader) runDecisions(ctx context.Context) (more bool, err error) {
	more, err = r.autoRedrive(ctx)
	if err != nil {
		return false, err
	}
	var found []decidedLetter
	err = r.bus.read(ctx, "bus.decisions", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		found, err = r.decided(ctx, tx)
		return err
	})
	if err != nil || len(found) == 0 {
		return more, err
	}
	err = r.commit(ctx, nil, func(ctx context.Context, tx *sqldb.Tx, t *changes) error {
		for i := range found {
			if err := r.carryOut(ctx, tx, t, &found[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return more || len(found) == decisionsAtOnce, err
}

// decisionsAtOnce is how many decisions one transaction carries out.
const decisionsAtOnce = 64

// decided finds letters that somebody has decided about and that are not in a lane yet.
func (r *reader) decided(ctx context.Context, tx *sqldb.Tx) (all []decidedLetter, err error) {
	for row, err := range tx.Query(ctx, `SELECT num, status, body, event_id, tenant_id, event_type, partition_key FROM bus_dead d
		WHERE consumer = $1 AND part = $2 AND status IN (1, 2) AND NOT EXISTS (SELECT 1 FROM bus_parked p
			WHERE p.consumer = d.consumer AND p.partition_key = d.partition_key AND p.dead = d.num)
		ORDER BY num LIMIT $3`, r.consumer.Name, r.lease.part, decisionsAtOnce) {
		if err != nil {
			return nil, err
		}
		var l decidedLetter
		m := Message{Part: r.lease.part}
		if err := row.Scan(&l.num, &l.status, &m.Body, &m.ID, &m.Tenant, &m.Type, &m.Key); err != nil {
			return nil, err
		}
		l.item = examine(m)
		all = append(all, l)
	}
	return all, nil
}

// carryOut carries out one decision.
func (r *reader) carryOut(ctx context.Context, tx *sqldb.Tx, t *changes, l *decidedLetter) error {
	if l.status == Skipping {
		return r.skip(ctx, tx, t, l)
	}
	e := &l.item.event
	if e.Key == "" { // nobody can read it, so it has no lane
		return r.reopen(ctx, tx, t, l.num, l.item.bad, []Failure{failure(t.now, 1, l.item.bad)})
	}
	if r.blockedKey(t, e.Key) == nil {
		t.block(e)
	}
	if err := r.park(ctx, tx, t, &l.item, l.num); err != nil {
		return err
	}
	r.retryNow(t, e.Key)
	return nil
}

// proceed lets the head of a lane be tried at once.
func (r *reader) retryNow(t *changes, key string) {
	l := r.change(t, key)
	l.state, l.attempt, l.nextTry, l.dropErrors = keyRetrying, 0, t.now, true
}

// passOver notes an event as taken that nobody applied, and lets its key go on. When its
// consumer cannot give it up, the letter is open again with the reason.
func (r *reader) skip(ctx context.Context, tx *sqldb.Tx, t *changes, l *decidedLetter) error {
	e := &l.item.event
	if l.item.bad == nil {
		failed, err := r.markSkipped(ctx, tx, t, e)
		if err != nil {
			return err
		}
		if failed != nil {
			return r.reopen(ctx, tx, t, l.num, failed, []Failure{failure(t.now, 1, failed)})
		}
	}
	if err := r.endDeadLetter(ctx, tx, t, l.num, Skipped); err != nil {
		return err
	}
	if r.blockedKey(t, e.Key) == nil || r.blockedKey(t, e.Key).state != keyBlocked {
		return nil
	}
	var waiting int
	if err := tx.Row(ctx, "SELECT count(*) FROM bus_parked WHERE consumer = $1 AND partition_key = $2", r.consumer.Name, e.Key).Scan(&waiting); err != nil {
		return err
	}
	if waiting == 0 {
		t.keys[e.Key] = nil
		return nil
	}
	r.retryNow(t, e.Key)
	return nil
}

// giveUp notes an event as taken and tells the consumer that it never comes. failed is why
// the consumer cannot do without it, and nothing was written then: other letters are not
// held up by one that fails. err is why the transaction cannot go on.
func (r *reader) markSkipped(ctx context.Context, tx *sqldb.Tx, t *changes, e *wire.Event) (failed, err error) {
	err = tx.Savepoint(ctx, func(ctx context.Context) error {
		if _, err := tx.Exec(ctx, r.processed(e).Query, r.processed(e).Args...); err != nil {
			return err
		}
		return r.handleSkipped(ctx, tx, e)
	})
	switch {
	case fault.KindOf(err) == fault.Unavailable:
		return nil, err
	case err != nil:
		return fmt.Errorf("the event cannot be skipped: %w", err), nil
	}
	p, err := r.versionOfKey(ctx, tx, t, e.Key)
	if err != nil || versionOf(e).compare(p) <= 0 {
		return nil, err
	}
	t.versions[e.Key] = versionOf(e)
	return nil, r.saveVersions(ctx, tx, t, []string{e.Key})
}

// tellGivenUp calls the consumer's GivenUp. A panic of it is an error like any other.
func (r *reader) handleSkipped(ctx context.Context, tx *sqldb.Tx, e *wire.Event) (err error) {
	if r.consumer.GivenUp == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			r.bus.log.Error("a handler of skipped events panicked", "consumer", r.consumer.Name, "eventType", e.Type, "stack", string(debug.Stack()))
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	return r.consumer.GivenUp(ctx, tx, e)
}

// placeOfKey is the newest place of a key, as a turn knows it.
func (r *reader) versionOfKey(ctx context.Context, tx *sqldb.Tx, t *changes, key string) (keyVersion, error) {
	if p, ok := t.versions[key]; ok {
		return p, nil
	}
	p, ok := r.newest[key]
	t.versions[key] = p
	if ok {
		return p, nil
	}
	err := r.readVersions(ctx, tx, t, []string{key})
	return t.versions[key], err
}

// endLetter ends a dead letter.
func (r *reader) endDeadLetter(ctx context.Context, tx *sqldb.Tx, t *changes, num int64, s Status) error {
	_, err := tx.Exec(ctx, "UPDATE bus_dead SET status = $2, ended_at = $3 WHERE num = $1", num, int(s), t.now)
	r.bus.cfg.Passed("reader.decided")
	return err
}
