package bus

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// lane is a key that waits, as a reader remembers it. Its events are in bus_parked.
type blockedKey struct {
	tenant  string
	state   keyState
	attempt int        // tries of its head so far
	nextTry wire.Stamp // when its head is tried again
	since   wire.Stamp // when it began to wait
	nextNum int64      // number of the next event that is parked
	last    keyVersion // newest event of the key that is parked or dead; its event is not known

	isNew      bool      // it has no row yet
	dirty      bool      // its row must be written
	errors     []Failure // added in this turn
	dropErrors bool      // the errors of the head before go
}

type keyState int

const (
	keyRetrying keyState = 0 // its head is tried again
	keyBlocked  keyState = 1 // its head is a dead letter that somebody must decide about
)

// Failure is a try that failed.
type Failure struct {
	At      wire.Stamp `json:"at"`
	Attempt int        `json:"attempt"`
	Error   string     `json:"error"`
}

// What is kept of failures.
const (
	maxFailures  = 20   // of one event
	maxErrorText = 2000 // bytes
)

// laneOf is the lane of a key in a turn; nil: the key does not wait.
func (r *reader) blockedKey(t *changes, key string) *blockedKey {
	if l, ok := t.keys[key]; ok {
		return l
	}
	return r.keys[key]
}

// change gives the lane of a key for writing. What the reader remembers stays as it is
// until the turn is committed.
func (r *reader) change(t *changes, key string) *blockedKey {
	l, ok := t.keys[key]
	if !ok {
		was := *r.keys[key]
		l = &was
		t.keys[key] = l
	}
	l.dirty = true
	return l
}

// wait makes a lane for a key.
func (t *changes) block(e *wire.Event) *blockedKey {
	l := &blockedKey{tenant: e.Tenant, since: t.now, nextNum: 1, isNew: true, dirty: true}
	t.keys[e.Key] = l
	return l
}

// park puts an event at the end of its lane. One that is there already is not put
// there again; dead is the letter that it comes from, 0 for none.
func (r *reader) park(ctx context.Context, tx *sqldb.Tx, t *changes, it *item, dead int64) error {
	e := &it.event
	if dead == 0 {
		again, err := r.isParked(ctx, tx, t, it)
		if again {
			t.counts.duplicate++
		}
		if err != nil || again {
			return err
		}
	}
	l := r.change(t, e.Key)
	if p := versionOf(e); it.bad == nil && p.compare(l.last) > 0 {
		l.last = keyVersion{version: p.version, index: p.index}
	}
	n := l.nextNum
	l.nextNum++
	if dead != 0 {
		var err error
		if n, err = r.front(ctx, tx, e.Key); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO bus_parked (consumer, partition_key, n, event_id, event_type, at, version, idx, dead, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		r.consumer.Name, e.Key, n, e.ID, e.Type, t.now, e.Version, e.Index, dead, it.Body)
	return err
}

// isParked reports whether an event came to its lane before. Those of a key come in
// order, so one that is older than the newest there did.
func (r *reader) isParked(ctx context.Context, tx *sqldb.Tx, t *changes, it *item) (bool, error) {
	if it.bad == nil {
		switch c := versionOf(&it.event).compare(r.blockedKey(t, it.event.Key).last); {
		case c < 0:
			return true, nil
		case c > 0:
			return false, nil
		}
	}
	var n int
	err := tx.Row(ctx, `SELECT (SELECT count(*) FROM bus_parked WHERE consumer = $1 AND partition_key = $2 AND event_id = $3)
		+ (SELECT count(*) FROM bus_dead WHERE consumer = $1 AND partition_key = $2 AND event_id = $3)`,
		r.consumer.Name, it.event.Key, it.event.ID).Scan(&n)
	return n > 0, err
}

// front is the number of a place before all events of a lane.
func (r *reader) front(ctx context.Context, tx *sqldb.Tx, key string) (n int64, err error) {
	err = tx.Row(ctx, "SELECT coalesce(min(n), 1) - 1 FROM bus_parked WHERE consumer = $1 AND partition_key = $2", r.consumer.Name, key).Scan(&n)
	return n, err
}

// saveLanes writes the lanes that a turn changed.
func (r *reader) saveKeys(ctx context.Context, tx *sqldb.Tx, t *changes) error {
	for _, key := range slices.Sorted(maps.Keys(t.keys)) {
		l := t.keys[key]
		if l == nil {
			if _, err := tx.Exec(ctx, "DELETE FROM bus_lane WHERE consumer = $1 AND partition_key = $2", r.consumer.Name, key); err != nil {
				return err
			}
			continue
		}
		if !l.dirty {
			continue
		}
		history, err := r.history(ctx, tx, key, l)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO bus_lane (consumer, partition_key, part, tenant_id, state, attempt, next_at, since, next_n,
			last_version, last_idx, errors) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (consumer, partition_key) DO UPDATE SET state = excluded.state, attempt = excluded.attempt, next_at = excluded.next_at,
				next_n = excluded.next_n, last_version = excluded.last_version, last_idx = excluded.last_idx, errors = excluded.errors`,
			r.consumer.Name, key, r.lease.part, l.tenant, int(l.state), l.attempt, l.nextTry, l.since, l.nextNum,
			l.last.version, l.last.index, history); err != nil {
			return err
		}
		l.isNew, l.dirty, l.dropErrors, l.errors = false, false, false, nil
	}
	return nil
}

// history is the failures of a lane's head, as they are stored: those of before and
// those of this turn.
func (r *reader) history(ctx context.Context, tx *sqldb.Tx, key string, l *blockedKey) (string, error) {
	var all []Failure
	if !l.isNew && !l.dropErrors {
		var text string
		err := tx.Row(ctx, "SELECT errors FROM bus_lane WHERE consumer = $1 AND partition_key = $2", r.consumer.Name, key).Scan(&text)
		if err != nil {
			return "", err
		}
		if len(l.errors) == 0 {
			return text, nil
		}
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return "", err
		}
	}
	return encodeFailures(append(all, l.errors...))
}

// encodeFailures is the stored form of the newest failures.
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
