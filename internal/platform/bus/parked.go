package bus

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// blockedKey is a key whose event failed, as its reader caches it (a row of bus_lane). Its later events are parked in
// order (bus_parked) while other keys go on.
type blockedKey struct {
	tenant  string
	state   keyState
	attempt int             // of its head
	nextTry canonical.Stamp // of its head
	since   canonical.Stamp
	nextNum int64      // number of the next parked event
	last    keyVersion // newest event that is parked or dead, without its id

	isNew      bool      // no row yet
	dirty      bool      // row must be written
	errors     []Failure // of this transaction
	dropErrors bool      // forget those of the previous head
}

type keyState int

const (
	keyRetrying keyState = 0 // its head is retried
	keyBlocked  keyState = 1 // its head is a dead letter that awaits a decision
)

// Failure is a failed try.
type Failure struct {
	At      canonical.Stamp `json:"at"`
	Attempt int             `json:"attempt"`
	Error   string          `json:"error"`
}

const (
	maxFailures  = 20   // kept per event
	maxErrorText = 2000 // bytes
)

// parkedEvents are the blocked keys of a partition and their parked events.
type parkedEvents struct {
	partition
	keys map[string]*blockedKey
	due  canonical.Stamp // next retry; 0: none
}

type parked struct {
	n, dead int64 // number; dead letter that it comes from, 0: none
	item    item
}

func (t *changes) block(e *events.Event) *blockedKey {
	l := &blockedKey{tenant: e.Tenant, since: t.now, nextNum: 1, isNew: true, dirty: true}
	t.keys[e.Key] = l
	return l
}

// encodeFailures encodes the newest failures.
func encodeFailures(all []Failure) (string, error) {
	if over := len(all) - maxFailures; over > 0 {
		all = all[over:]
	}
	if all == nil {
		all = []Failure{}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// of is the blocked key as the transaction sees it; nil: not blocked.
func (pk *parkedEvents) of(t *changes, key string) *blockedKey {
	if l, ok := t.keys[key]; ok {
		return l
	}
	return pk.keys[key]
}

// change returns a copy of a blocked key for writing: memory changes after the commit.
func (pk *parkedEvents) change(t *changes, key string) *blockedKey {
	l, ok := t.keys[key]
	if !ok {
		was := *pk.keys[key]
		l = &was
		t.keys[key] = l
	}
	l.dirty = true
	return l
}

// park appends an event to the queue of its blocked key, unless it is there; one from a dead letter goes to the
// front.
func (pk *parkedEvents) park(ctx context.Context, t *changes, it *item, dead int64) error {
	e := &it.event
	if dead == 0 {
		again, err := pk.isParked(ctx, t, it)
		if again {
			t.counts.duplicate++
		}
		if err != nil || again {
			return err
		}
	}
	l := pk.change(t, e.Key)
	if p := versionOf(e); it.bad == nil && p.compare(l.last) > 0 {
		l.last = keyVersion{version: p.version, index: p.index}
	}
	n := l.nextNum
	l.nextNum++
	if dead != 0 {
		var err error
		if n, err = pk.front(ctx, t.Tx, e.Key); err != nil {
			return err
		}
	}
	_, err := t.Exec(ctx, `INSERT INTO bus_parked (consumer, partition_key, n, event_id, event_type, at, version, idx,
		dead, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		pk.consumer.Name, e.Key, n, e.ID, e.Type, t.now, e.Version, e.Index, dead, it.Body)
	return err
}

// isParked reports whether an event was parked or died before. Events of a key come in order, so one older than the
// newest parked one was.
func (pk *parkedEvents) isParked(ctx context.Context, t *changes, it *item) (bool, error) {
	if it.bad == nil {
		switch c := versionOf(&it.event).compare(pk.of(t, it.event.Key).last); {
		case c < 0:
			return true, nil
		case c > 0:
			return false, nil
		}
	}
	var n int
	err := t.Row(ctx, `SELECT (SELECT count(*) FROM bus_parked WHERE consumer = $1 AND partition_key = $2
		AND event_id = $3)
		+ (SELECT count(*) FROM bus_dead WHERE consumer = $1 AND partition_key = $2 AND event_id = $3)`,
		pk.consumer.Name, it.event.Key, it.event.ID).Scan(&n)
	return n > 0, err
}

// front is a number before all parked events of a key.
func (pk *parkedEvents) front(ctx context.Context, tx *sqldb.Tx, key string) (n int64, err error) {
	err = tx.Row(ctx, "SELECT coalesce(min(n), 1) - 1 FROM bus_parked WHERE consumer = $1 AND partition_key = $2",
		pk.consumer.Name, key).Scan(&n)
	return n, err
}

func (pk *parkedEvents) save(ctx context.Context, t *changes) error {
	for _, key := range slices.Sorted(maps.Keys(t.keys)) {
		l := t.keys[key]
		if l == nil {
			if _, err := t.Exec(ctx, "DELETE FROM bus_lane WHERE consumer = $1 AND partition_key = $2",
				pk.consumer.Name, key); err != nil {
				return err
			}
			continue
		}
		if !l.dirty {
			continue
		}
		all, err := pk.failures(ctx, t.Tx, key, l)
		if err != nil {
			return err
		}
		history, err := encodeFailures(append(all, l.errors...))
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `INSERT INTO bus_lane (consumer, partition_key, part, tenant_id, state, attempt,
			next_at, since, next_n, last_version, last_idx, errors)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (consumer, partition_key) DO UPDATE SET state = excluded.state, attempt = excluded.attempt,
			next_at = excluded.next_at, next_n = excluded.next_n, last_version = excluded.last_version,
			last_idx = excluded.last_idx, errors = excluded.errors`,
			pk.consumer.Name, key, pk.lease.part, l.tenant, int(l.state), l.attempt, l.nextTry, l.since, l.nextNum,
			l.last.version, l.last.index, history); err != nil {
			return err
		}
		l.isNew, l.dirty, l.dropErrors, l.errors = false, false, false, nil
	}
	return nil
}

// failures are those of a key's head before this transaction.
func (pk *parkedEvents) failures(
	ctx context.Context, tx *sqldb.Tx, key string, l *blockedKey,
) (all []Failure, err error) {
	if l.isNew || l.dropErrors {
		return nil, nil
	}
	var text string
	if err := tx.Row(ctx, "SELECT errors FROM bus_lane WHERE consumer = $1 AND partition_key = $2", pk.consumer.Name,
		key).Scan(&text); err != nil {
		return nil, err
	}
	return all, json.Unmarshal([]byte(text), &all)
}

func (pk *parkedEvents) first(ctx context.Context, tx *sqldb.Tx, key string, limit int) ([]parked, error) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (p parked, err error) {
		m := Message{Key: key, Tenant: pk.keys[key].tenant, Part: pk.lease.part}
		err = row.Scan(&p.n, &p.dead, &m.ID, &m.Type, &m.Body)
		p.item = examine(m)
		return p, err
	}, `SELECT n, dead, event_id, event_type, body FROM bus_parked
		WHERE consumer = $1 AND partition_key = $2 ORDER BY n LIMIT $3`, pk.consumer.Name, key, limit)
}

// unpark removes an event from its queue; the next one becomes the head.
func (pk *parkedEvents) unpark(ctx context.Context, t *changes, key string, p *parked) error {
	l := pk.change(t, key)
	l.attempt, l.nextTry, l.dropErrors, l.errors = 0, t.now, true, nil
	_, err := t.Exec(ctx, "DELETE FROM bus_parked WHERE consumer = $1 AND partition_key = $2 AND n = $3",
		pk.consumer.Name, key, p.n)
	return err
}

// dueKeys are keys to retry; the limit keeps the longest overdue.
func (pk *parkedEvents) dueKeys(
	ctx context.Context, tx *sqldb.Tx, now canonical.Stamp, limit int,
) (keys []string, err error) {
	keys, err = sqldb.Collect(ctx, tx, sqldb.Column[string], `SELECT partition_key FROM bus_lane
		WHERE consumer = $1 AND part = $2 AND state = 0 AND next_at <= $3 ORDER BY next_at LIMIT $4`,
		pk.consumer.Name, pk.lease.part, now, limit)
	slices.Sort(keys)
	return keys, err
}

// nextDue is when the next retry is due; 0: none.
func (pk *parkedEvents) nextDue(ctx context.Context, tx *sqldb.Tx) (at canonical.Stamp, err error) {
	err = tx.Row(ctx, `SELECT coalesce(min(next_at), 0) FROM bus_lane WHERE consumer = $1 AND part = $2 AND state = 0`,
		pk.consumer.Name, pk.lease.part).Scan(&at)
	return at, err
}

func (pk *parkedEvents) schedule(l *blockedKey) {
	if l.state == keyRetrying && (pk.due == 0 || l.nextTry < pk.due) {
		pk.due = l.nextTry
	}
}

// retryNow makes the head of a key due.
func (pk *parkedEvents) retryNow(t *changes, key string) {
	l := pk.change(t, key)
	l.state, l.attempt, l.nextTry, l.dropErrors = keyRetrying, 0, t.now, true
}
