package bus

import (
	"cmp"
	"context"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

type replay struct {
	id       string
	tenant   string
	from, to canonical.Stamp
	pos      int64
}

// heldBackFor is how long a replay waits for the stream.
const heldBackFor = 100 * time.Millisecond

// replayer consumes from the source what a replay asks for or the stream dropped.
type replayer struct {
	*parts
	applier  *applier
	replayAt time.Time // no page before; then a timer wakes the reader
}

// run does a page of the oldest replay. A process does one page at a time and rests as long, so that replays leave
// room for requests; early wakeups change nothing.
func (rp *replayer) run(ctx context.Context) error {
	if time.Now().Before(rp.replayAt) {
		return nil
	}
	p, err := rp.oldest(ctx)
	if err != nil || p.id == "" {
		return err
	}
	rest := heldBackFor
	if rp.bus.replaying.TryLock() {
		defer rp.bus.replaying.Unlock()
		began := time.Now()
		again, err := rp.page(ctx, &p)
		if err != nil {
			return err
		}
		if again {
			rest = min(max(time.Since(began), time.Millisecond), time.Second)
		}
	}
	rp.replayAt = time.Now().Add(rest)
	time.AfterFunc(rest, func() { rp.bus.wakes.wake(rp.lease.assignment) })
	return nil
}

// oldest returns the running replay; no id: none.
func (rp *replayer) oldest(ctx context.Context) (p replay, err error) {
	err = rp.bus.read(ctx, "bus.replays", func(ctx context.Context, tx *sqldb.Tx) error {
		p = replay{}
		err := tx.Row(ctx, `SELECT id, tenant_id, from_at, to_at, pos FROM bus_replay
			WHERE consumer = $1 AND part = $2 AND status = 0 ORDER BY id LIMIT 1`,
			rp.consumer.Name, rp.lease.part).Scan(&p.id, &p.tenant, &p.from, &p.to, &p.pos)
		return ignoreNoRow(err)
	})
	return p, err
}

// page replays a page; again: there may be more.
func (rp *replayer) page(ctx context.Context, p *replay) (again bool, err error) {
	found, err := rp.outboxPage(ctx, backfillRange{
		after: p.pos, tenant: p.tenant, made: [2]canonical.Stamp{p.from, p.to},
		sent: always,
	})
	if err != nil {
		return false, err
	}
	held, err := rp.holdBack(ctx, &found)
	if err != nil {
		return false, err
	}
	if held && len(found.items) == 0 {
		return false, nil
	}
	return true, rp.apply(ctx, p, found)
}

// holdBack cuts a page before the first event that the stream may not have delivered yet: an event that overtook an
// older one of its key would make that stale.
func (rp *replayer) holdBack(ctx context.Context, found *backfillPage) (held bool, err error) {
	i := slices.IndexFunc(found.items, func(it item) bool { return it.Relay.At >= rp.progress.pos.relayed })
	if i < 0 {
		return false, nil
	}
	newest := slices.MaxFunc(found.items, func(a, b item) int { return cmp.Compare(a.Relay.At, b.Relay.At) })
	if all, err := rp.hasAll(ctx, newest.Relay.At); err != nil || all {
		return false, err
	}
	found.upto, found.more = found.items[i].Relay.Source-1, true
	found.items = found.items[:i]
	return true, nil
}

// hasAll reports whether the stream has delivered everything marked as published up to an instant. The time of the
// last event does not show it: others of its batch may be in flight, those of other types may be later, and what was
// published again carries an earlier time.
//
// A relay commits the position and time of a batch in the last transaction that marks its rows; until then some are
// not marked.
func (rp *replayer) hasAll(ctx context.Context, upto canonical.Stamp) (bool, error) {
	n, err := readValue[int](ctx, rp.bus, "bus.replays",
		`SELECT 1 FROM bus_relay WHERE source = 'outbox' AND part = $1 AND stream_at = $2 AND last_seq <= $3
			AND replay_pos >= replay_to AND (last_at >= $4 OR NOT EXISTS (
				SELECT 1 FROM outbox_events WHERE part = $1 AND published_at IS NULL))`,
		rp.lease.part, rp.progress.pos.streamAt, rp.progress.pos.seq, upto)
	return n > 0, err
}

func (rp *replayer) apply(ctx context.Context, p *replay, found backfillPage) error {
	rp.bus.cfg.Passed("reader.replay")
	return rp.progress.commit(ctx, nil, func(ctx context.Context, t *changes) error {
		for i := range found.items {
			if err := rp.applier.applyOne(ctx, t, &found.items[i]); err != nil {
				return err
			}
		}
		status, ended := ReplayRunning, canonical.Stamp(0)
		if !found.more {
			status, ended = ReplayDone, t.now
		}
		_, err := t.Exec(ctx, `UPDATE bus_replay SET pos = $3, status = $4, ended_at = $5, applied = applied + $6,
			duplicate = duplicate + $7,
			stale = stale + $8, failed = failed + $9 WHERE id = $1 AND part = $2 AND status = 0`,
			p.id, rp.lease.part, found.upto, int(status), ended, t.counts.applied, t.counts.duplicate, t.counts.stale,
			t.counts.failed)
		return err
	})
}
