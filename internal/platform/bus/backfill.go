package bus

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// rangeOf is a part of the outbox that a reader takes from there.
type backfillRange struct {
	after  int64         // id up to which it was looked through
	tenant string        // "": all
	made   [2]wire.Stamp // created from the first to before the second
	sent   [2]wire.Stamp // published from the first to before the second
}

// always is a range of time without limits.
var always = [2]wire.Stamp{0, math.MaxInt64}

// refill is what was found in a part of a source.
type backfillPage struct {
	items []item
	upto  int64 // id up to which it was looked through
	more  bool  // there may be something behind
}

// A page is looked for by id alone, in a part of the table: the index of what is
// published would have all of it sorted for every page.
const (
	selectBackfill = "SELECT " + outboxColumns + `, published_at FROM outbox_events
		WHERE id > $1 AND id <= $2 AND part + 0 = $3 AND published_at >= $4 AND published_at < $5
		AND created_at >= $6 AND created_at < $7 AND ($8 = '' OR tenant_id = $8) ORDER BY id LIMIT $9`
	selectBackfillPG = "SELECT " + outboxColumns + ", published_at FROM (SELECT " + outboxColumns + `, published_at, sum(octet_length(body)) OVER (ORDER BY id) AS total
		FROM outbox_events WHERE id > $1 AND id <= $2 AND part + 0 = $3 AND published_at >= $4 AND published_at < $5
		AND created_at >= $6 AND created_at < $7 AND ($8 = '' OR tenant_id = $8) ORDER BY id LIMIT $9) AS page WHERE total <= $10`
)

// outboxPage reads published events of the outbox in order.
func (r *reader) outboxPage(ctx context.Context, of backfillRange) (found backfillPage, err error) {
	err = r.bus.read(ctx, "bus.refill", func(ctx context.Context, tx *sqldb.Tx) error {
		found = backfillPage{upto: of.after + replaySpan}
		full, err := r.readBackfill(ctx, tx, of, &found)
		if found.more = full; full || err != nil {
			return err
		}
		var next int64
		var made wire.Stamp
		err = tx.Row(ctx, "SELECT id, created_at FROM outbox_events WHERE id > $1 ORDER BY id LIMIT 1", found.upto).Scan(&next, &made)
		if found.more = err == nil && made-skew < of.made[1]; found.more {
			found.upto = next - 1
		}
		return ignoreNoRow(err)
	})
	return found, err
}

// refillRows reads the rows of a page. It is full when it has as many as one may have, or
// as large ones.
func (r *reader) readBackfill(ctx context.Context, tx *sqldb.Tx, of backfillRange, found *backfillPage) (full bool, err error) {
	query, args := selectBackfill, []any{
		of.after, found.upto, r.lease.part, of.sent[0], of.sent[1], of.made[0], of.made[1], of.tenant, batchMost,
	}
	if tx.Dialect() == sqldb.Postgres {
		query, args = selectBackfillPG, append(args, relayBytes)
	}
	n, size := 0, 0
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return false, err
		}
		var id int64
		m := Message{Part: r.lease.part, Stream: wire.Events, Relay: Relay{Epoch: math.MaxInt64}}
		if err := row.Scan(&id, &m.ID, &m.Tenant, &m.Type, &m.Key, &m.OccurredAt, &m.Service, &m.Body, &m.Relay.At); err != nil {
			return false, err
		}
		m.Relay.Source = id
		if r.consumer.wants(m.Type) {
			found.items = append(found.items, examine(m))
		}
		n++
		if size += len(m.Body); n == batchMost || size > relayBytes-wire.MaxEvent {
			found.upto = id
			return true, nil
		}
	}
	return false, nil
}

// wants reports whether a consumer takes events of a type.
func (c *Consumer) wants(typ string) bool { return len(c.Types) == 0 || slices.Contains(c.Types, typ) }

// catchUp takes from the source what the stream has dropped before this reader saw it,
// and moves the reader to the oldest message that the stream still has.
func (r *reader) catchUp(ctx context.Context, first uint64) error {
	r.bus.log.Warn("a reader was away for longer than its stream keeps messages; it reads the source", "consumer", r.consumer.Name, "partition", r.lease.part)
	page := r.outboxPage
	of := backfillRange{made: always, sent: [2]wire.Stamp{r.pos.relayed, math.MaxInt64}}
	if r.consumer.Stream == wire.Executions {
		page, of.after = r.logPage, r.pos.source
	}
	for more := true; more; {
		found, err := page(ctx, of)
		if err != nil {
			return err
		}
		if len(found.items) > 0 {
			if err := r.consume(ctx, found.items, func([]item) position { return r.pos }); err != nil {
				return err
			}
		}
		of.after, more = found.upto, found.more
	}
	r.pos.seq = first - 1 // noted with the next events
	return nil
}

// logPage reads the engine's log as outboxPage reads the outbox.
func (r *reader) logPage(ctx context.Context, of backfillRange) (found backfillPage, err error) {
	if r.bus.cfg.Log == nil {
		return found, nil
	}
	msgs, upto, err := r.bus.cfg.Log.After(ctx, of.after, batchMost)
	if err != nil {
		return found, err
	}
	for _, m := range msgs {
		if m.Part == r.lease.part && r.consumer.wants(m.Type) {
			m.Relay.Epoch = math.MaxInt64
			found.items = append(found.items, examine(m))
		}
	}
	found.upto, found.more = upto, upto != of.after
	return found, nil
}

// replay is a range of time that a consumer gets again.
type replay struct {
	id       string
	tenant   string
	from, to wire.Stamp
	pos      int64
}

// replays does a page of the oldest replay. A process does one page at a time, and rests as
// long as it took: replays are as long as somebody likes, and requests go on beside them.
// Whoever wakes the reader before that, as the look for what others wrote does every second,
// neither gets a page nor starts another timer.
func (r *reader) runReplay(ctx context.Context) error {
	if time.Now().Before(r.replayAt) {
		return nil
	}
	p, err := r.oldestReplay(ctx)
	if err != nil || p.id == "" {
		return err
	}
	rest := heldBackFor
	if r.bus.replaying.TryLock() {
		defer r.bus.replaying.Unlock()
		began := time.Now()
		again, err := r.replayPage(ctx, &p)
		if err != nil {
			return err
		}
		if again {
			rest = min(max(time.Since(began), time.Millisecond), time.Second)
		}
	}
	r.replayAt = time.Now().Add(rest)
	time.AfterFunc(rest, func() { r.bus.wakes.wake(r.lease.assignment) })
	return nil
}

// oldestReplay finds the replay that the reader is at; its id is empty when there is none.
func (r *reader) oldestReplay(ctx context.Context) (p replay, err error) {
	err = r.bus.read(ctx, "bus.replays", func(ctx context.Context, tx *sqldb.Tx) error {
		p = replay{}
		for row, err := range tx.Query(ctx, `SELECT id, tenant_id, from_at, to_at, pos FROM bus_replay
			WHERE consumer = $1 AND part = $2 AND status = 0 ORDER BY id LIMIT 1`, r.consumer.Name, r.lease.part) {
			if err != nil {
				return err
			}
			if err := row.Scan(&p.id, &p.tenant, &p.from, &p.to, &p.pos); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

// replayPart takes a page of a replay. It says whether there may be another one.
func (r *reader) replayPage(ctx context.Context, p *replay) (again bool, err error) {
	found, err := r.outboxPage(ctx, backfillRange{after: p.pos, tenant: p.tenant, made: [2]wire.Stamp{p.from, p.to}, sent: always})
	if err != nil {
		return false, err
	}
	held, err := r.holdBack(ctx, &found)
	if err != nil {
		return false, err
	}
	if held && len(found.items) == 0 {
		return false, nil
	}
	return true, r.applyReplayed(ctx, p, found)
}

// heldBackFor is how long a replay waits for the stream before it looks again.
const heldBackFor = 100 * time.Millisecond

// holdBack takes out of a page of a replay what the stream may not have brought yet: an
// event that overtook an older one of its key would make that stale. It says whether
// there was such a one; the page ends before it then.
func (r *reader) holdBack(ctx context.Context, found *backfillPage) (held bool, err error) {
	i := slices.IndexFunc(found.items, func(it item) bool { return it.Relay.At >= r.pos.relayed })
	if i < 0 {
		return false, nil
	}
	newest := slices.MaxFunc(found.items, func(a, b item) int { return cmp.Compare(a.Relay.At, b.Relay.At) })
	if all, err := r.hasAll(ctx, newest.Relay.At); err != nil || all {
		return false, err
	}
	found.upto, found.more = found.items[i].Relay.Source-1, true
	found.items = found.items[:i]
	return true, nil
}

// hasAll reports whether the stream has brought everything that was noted as published up
// to an instant before it was asked. When the last event was sent does not tell that:
// others of its batch may be on their way, of other types there may be later ones, and
// what was published again after a loss carries the time at which that began.
//
// A relay marks the rows of a batch in several transactions and notes its place and the
// time of the batch in the last of them; until then some rows are not marked.
func (r *reader) hasAll(ctx context.Context, upto wire.Stamp) (all bool, err error) {
	err = r.bus.read(ctx, "bus.replays", func(ctx context.Context, tx *sqldb.Tx) error {
		all = false
		return tx.Batch(ctx, sqldb.Stmt{
			Query: `SELECT 1 FROM bus_relay WHERE source = 'outbox' AND part = $1 AND stream_at = $2 AND last_seq <= $3 AND replay_pos >= replay_to
				AND (last_at >= $4 OR NOT EXISTS (SELECT 1 FROM outbox_events WHERE part = $1 AND published_at IS NULL))`,
			Args: []any{r.lease.part, r.pos.streamAt, r.pos.seq, upto},
			Row:  func(*sqldb.Row) error { all = true; return nil },
		})
	})
	return all, err
}

// takeAgain takes a page of a replay and notes how far it is.
func (r *reader) applyReplayed(ctx context.Context, p *replay, found backfillPage) error {
	r.bus.cfg.Passed("reader.replay")
	return r.commit(ctx, nil, func(ctx context.Context, tx *sqldb.Tx, t *changes) error {
		for i := range found.items {
			if err := r.applyOne(ctx, tx, t, &found.items[i]); err != nil {
				return err
			}
		}
		status, ended := ReplayRunning, wire.Stamp(0)
		if !found.more {
			status, ended = ReplayDone, t.now
		}
		_, err := tx.Exec(ctx, `UPDATE bus_replay SET pos = $3, status = $4, ended_at = $5, applied = applied + $6, duplicate = duplicate + $7,
			stale = stale + $8, failed = failed + $9 WHERE id = $1 AND part = $2 AND status = 0`,
			p.id, r.lease.part, found.upto, int(status), ended, t.counts.applied, t.counts.duplicate, t.counts.stale, t.counts.failed)
		return err
	})
}
