package bus

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// MaxTries is the default of Consumer.MaxTries.
const MaxTries = 10

// Status is the state of a dead letter. The values are stored.
type Status uint8

const (
	Open      Status = iota // awaits a decision
	Redriving               // is being retried
	Skipping                // is about to be skipped
	Applied                 // by a redrive
	Skipped
	Stale     // a newer event of its key was applied before the redrive
	Duplicate // it was applied before the redrive
)

var statusNames = [...]string{"OPEN", "REDRIVING", "SKIPPING", "APPLIED", "SKIPPED", "STALE", "DUPLICATE"}

func (s Status) String() string { return statusNames[s] }

func (v verdict) ended() Status {
	switch v {
	case duplicate:
		return Duplicate
	case stale:
		return Stale
	}
	return Applied
}

func conflictOf(e *events.Event, last keyVersion) error {
	return fault.New(fault.Conflict, "EVENT_CONFLICT",
		"event %s has version %v, index %d of its key, and so has event %s, which was taken before",
		e.ID, e.Version, e.Index, last.eventID)
}

func failure(at canonical.Stamp, attempt int, cause error) Failure {
	text := strings.ReplaceAll(strings.ToValidUTF8(cause.Error(), "\uFFFD"), "\x00", "\uFFFD") // PostgreSQL has no NUL
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return Failure{At: at, Attempt: attempt, Error: text}
}

func (c *Consumer) tries() int {
	if c.MaxTries > 0 {
		return c.MaxTries
	}
	return MaxTries
}

func codeOf(cause error) string {
	if f, ok := fault.As(cause); ok && f.Code != "" {
		return f.Code
	}
	return "HANDLER_FAILED"
}

// adviceOf classifies a failure. A permanent error without a kind is no outage: the event or the handler is wrong.
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

// deadLetterQueue is the dead letters of a partition (bus_dead).
type deadLetterQueue struct {
	partition
	deadKeys map[string]bool // keys whose dead letters the consumer moved past
}

func (dq *deadLetterQueue) isDead(ctx context.Context, tx *sqldb.Tx, e *events.Event) (bool, error) {
	var n int
	err := tx.Row(ctx, "SELECT count(*) FROM bus_dead WHERE consumer = $1 AND partition_key = $2 AND event_id = $3",
		dq.consumer.Name, e.Key, e.ID).Scan(&n)
	return n > 0, err
}

// isKnownDead reports whether a redelivered event is a dead letter that the consumer moved past. It stays with the
// operator, even if it could be applied now, and counts as a duplicate.
func (dq *deadLetterQueue) isKnownDead(ctx context.Context, t *changes, e *events.Event) (bool, error) {
	if !dq.consumer.Continue || !dq.deadKeys[e.Key] && !slices.Contains(t.deadKeys, e.Key) {
		return false, nil
	}
	again, err := dq.isDead(ctx, t.Tx, e)
	if again {
		t.counts.duplicate++
	}
	return again, err
}

// load reads deadKeys.
func (dq *deadLetterQueue) load(ctx context.Context, tx *sqldb.Tx) error {
	if !dq.consumer.Continue {
		return nil
	}
	keys, err := sqldb.Collect(ctx, tx, sqldb.Column[string], `SELECT DISTINCT partition_key FROM bus_dead
		WHERE consumer = $1 AND part = $2 AND status IN (0, 1, 2)`, dq.consumer.Name, dq.lease.part)
	for _, key := range keys {
		dq.deadKeys[key] = true
	}
	return err
}

func (dq *deadLetterQueue) add(
	ctx context.Context, t *changes, it *item, cause error, history []Failure,
) (int64, error) {
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
	err = t.Row(ctx, `INSERT INTO bus_dead (id, tenant_id, consumer, part, status, partition_key, event_id, event_type,
		version, idx, reason_class, reason_code, retry_advice, error, attempts, errors, first_failed_at, dead_at,
		redrive_at,
		decided_by, decided_at, reason, ended_at, body)
		VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, '', 0, '', 0,
			$19) RETURNING num`,
		id.String(), e.Tenant, dq.consumer.Name, dq.lease.part, e.Key, e.ID, e.Type, e.Version, e.Index,
		string(class), code, string(advice), last.Error, last.Attempt, text, history[0].At, t.now,
		dq.redriveAt(cause, t.now), it.Body).Scan(&num)
	t.deadKeys = append(t.deadKeys, e.Key)
	dq.bus.cfg.Passed("reader.dead")
	return num, err
}

// reopen opens a dead letter again after a failed redrive or skip.
func (dq *deadLetterQueue) reopen(
	ctx context.Context, t *changes, num int64, cause error, history []Failure,
) error {
	var text string
	if err := t.Row(ctx, "SELECT errors FROM bus_dead WHERE num = $1", num).Scan(&text); err != nil {
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
	_, err = t.Exec(ctx, `UPDATE bus_dead SET status = 0, reason_class = $2, retry_advice = $3, error = $4,
		attempts = attempts + $5, errors = $6, dead_at = $7, reason_code = $8, redrive_at = 0 WHERE num = $1`,
		num, string(class), string(advice), last.Error, last.Attempt, text, t.now, codeOf(cause))
	return err
}

func (dq *deadLetterQueue) end(ctx context.Context, t *changes, num int64, s Status) error {
	_, err := t.Exec(ctx, "UPDATE bus_dead SET status = $2, ended_at = $3 WHERE num = $1", num, int(s), t.now)
	dq.bus.cfg.Passed("reader.decided")
	return err
}

// decided finds dead letters whose decision is not carried out yet.
func (dq *deadLetterQueue) decided(ctx context.Context, tx *sqldb.Tx) ([]decidedLetter, error) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (l decidedLetter, err error) {
		m := Message{Part: dq.lease.part}
		err = row.Scan(&l.num, &l.status, &m.Body, &m.ID, &m.Tenant, &m.Type, &m.Key)
		l.item = examine(m)
		return l, err
	}, `SELECT num, status, body, event_id, tenant_id, event_type, partition_key
		FROM bus_dead d
		WHERE consumer = $1 AND part = $2 AND status IN (1, 2) AND NOT EXISTS (SELECT 1 FROM bus_parked p
			WHERE p.consumer = d.consumer AND p.partition_key = d.partition_key AND p.dead = d.num)
		ORDER BY num LIMIT $3`, dq.consumer.Name, dq.lease.part, decisionsAtOnce)
}
