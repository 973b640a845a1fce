package bus

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// How a failed event is tried again, in milliseconds: after twice as long each time,
// give or take half.
const (
	backoffFirst = 50
	backoffMost  = 60_000
)

// What one turn does for keys that wait, so that those that do not go on meanwhile.
const (
	lanesAtOnce  = 32
	eventsOfLane = 64
)

// backoff is how long after its nth failure an event is tried again.
func backoff(n int) wire.Stamp {
	d := int64(backoffMost)
	if n <= 10 {
		d = min(d, backoffFirst<<(n-1))
	}
	return wire.Stamp(d/2 + rand.Int64N(d)) // any value serves: it spreads tries
}

// retry tries the heads of lanes that are due, and what is behind those that succeed.
func (r *reader) retry(ctx context.Context) error {
	var next wire.Stamp
	r.bus.cfg.Passed("reader.retry")
	err := r.commit(ctx, nil, func(ctx context.Context, tx *sqldb.Tx, t *changes) error {
		keys, err := r.dueKeys(ctx, tx, t.now)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := r.drain(ctx, tx, t, key); err != nil {
				return err
			}
		}
		if err := r.saveKeys(ctx, tx, t); err != nil {
			return err
		}
		next, err = r.nextDue(ctx, tx)
		return err
	})
	if r.suspectsPoison(ctx, err) {
		return nil // it is due still
	}
	if err == nil {
		r.due, r.poison.isolate = next, false
	}
	return err
}

// dueLanes are the keys whose heads are due, the longest waiting first.
func (r *reader) dueKeys(ctx context.Context, tx *sqldb.Tx, now wire.Stamp) (keys []string, err error) {
	for row, err := range tx.Query(ctx, `SELECT partition_key FROM bus_lane WHERE consumer = $1 AND part = $2 AND state = 0 AND next_at <= $3
		ORDER BY next_at LIMIT $4`, r.consumer.Name, r.lease.part, now, r.atMost(lanesAtOnce)) {
		if err != nil {
			return nil, err
		}
		var key string
		if err := row.Scan(&key); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

// atMost is how many of something one transaction takes.
func (r *reader) atMost(n int) int {
	if r.poison.isolate {
		return 1
	}
	return n
}

// nextDue is when the next lane is due; 0: none is.
func (r *reader) nextDue(ctx context.Context, tx *sqldb.Tx) (at wire.Stamp, err error) {
	err = tx.Row(ctx, `SELECT coalesce(min(next_at), 0) FROM bus_lane WHERE consumer = $1 AND part = $2 AND state = 0`,
		r.consumer.Name, r.lease.part).Scan(&at)
	return at, err
}

// parked is an event that waits in a lane.
type parked struct {
	n, dead int64
	item    item
}

// drain tries the events of a lane in order, up to the first that fails.
func (r *reader) drain(ctx context.Context, tx *sqldb.Tx, t *changes, key string) error {
	if _, err := r.versionOfKey(ctx, tx, t, key); err != nil {
		return err
	}
	waiting, err := r.waiting(ctx, tx, key)
	if err != nil {
		return err
	}
	for i := range waiting {
		p := &waiting[i]
		v, failed, err := r.try(ctx, tx, t, &p.item)
		if err != nil {
			return err
		}
		if failed != nil {
			on, err := r.failedAgain(ctx, tx, t, key, p, failed)
			if err != nil || !on {
				return err
			}
			continue
		}
		if err := r.unpark(ctx, tx, t, key, p); err != nil {
			return err
		}
		if p.dead != 0 {
			if err := r.endDeadLetter(ctx, tx, t, p.dead, v.ended()); err != nil {
				return err
			}
		}
	}
	if len(waiting) < r.atMost(eventsOfLane) {
		t.keys[key] = nil // nothing is behind them
	}
	return nil
}

// waiting are the first events of a lane.
func (r *reader) waiting(ctx context.Context, tx *sqldb.Tx, key string) (all []parked, err error) {
	for row, err := range tx.Query(ctx, `SELECT n, dead, event_id, event_type, body FROM bus_parked
		WHERE consumer = $1 AND partition_key = $2 ORDER BY n LIMIT $3`, r.consumer.Name, key, r.atMost(eventsOfLane)) {
		if err != nil {
			return nil, err
		}
		var p parked
		m := Message{Key: key, Tenant: r.keys[key].tenant, Part: r.lease.part}
		if err := row.Scan(&p.n, &p.dead, &m.ID, &m.Type, &m.Body); err != nil {
			return nil, err
		}
		p.item = examine(m)
		all = append(all, p)
	}
	return all, nil
}

// unpark takes an event out of its lane and makes the next one its head.
func (r *reader) unpark(ctx context.Context, tx *sqldb.Tx, t *changes, key string, p *parked) error {
	l := r.change(t, key)
	l.attempt, l.nextTry, l.dropErrors, l.errors = 0, t.now, true, nil
	_, err := tx.Exec(ctx, "DELETE FROM bus_parked WHERE consumer = $1 AND partition_key = $2 AND n = $3", r.consumer.Name, key, p.n)
	return err
}

// failedAgain makes a lane wait for another try of its head, or its head a dead
// letter. It says whether the events behind may go on.
func (r *reader) failedAgain(ctx context.Context, tx *sqldb.Tx, t *changes, key string, p *parked, cause error) (on bool, err error) {
	t.counts.failed++
	l := r.change(t, key)
	l.attempt++
	f := failure(t.now, l.attempt, cause)
	if !IsPermanent(cause) && l.attempt < r.consumer.tries() {
		l.nextTry, l.errors = t.now+backoff(l.attempt), []Failure{f}
		return false, nil
	}
	history, err := r.failures(ctx, tx, key, l)
	if err != nil {
		return false, err
	}
	history = append(history, f)
	if p.dead != 0 {
		err = r.reopen(ctx, tx, t, p.dead, cause, history)
	} else {
		_, err = r.moveToDLQ(ctx, tx, t, &p.item, cause, history)
	}
	if err != nil {
		return false, err
	}
	if err := r.unpark(ctx, tx, t, key, p); err != nil {
		return false, err
	}
	if r.consumer.Continue {
		return true, nil
	}
	l.state, l.nextTry = keyBlocked, 0
	return false, nil
}

// failures are those of a lane's head before this turn.
func (r *reader) failures(ctx context.Context, tx *sqldb.Tx, key string, l *blockedKey) (all []Failure, err error) {
	if l.isNew || l.dropErrors {
		return nil, nil
	}
	var text string
	if err := tx.Row(ctx, "SELECT errors FROM bus_lane WHERE consumer = $1 AND partition_key = $2", r.consumer.Name, key).Scan(&text); err != nil {
		return nil, err
	}
	return all, json.Unmarshal([]byte(text), &all)
}
