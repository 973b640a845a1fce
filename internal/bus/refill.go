package bus

import (
	"context"
	"math"
	"slices"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// rangeOf is a part of the outbox that a reader takes from there.
type rangeOf struct {
	after  int64         // id of the last row that was taken
	tenant string        // "": all
	made   [2]wire.Stamp // created from the first to before the second
	sent   [2]wire.Stamp // published from the first to before the second
}

// always is a range of time without limits.
var always = [2]wire.Stamp{0, math.MaxInt64}

// outboxPage reads published events of the outbox in order, and the id of the last row
// that it looked at.
func (r *reader) outboxPage(ctx context.Context, of rangeOf) (items []item, last int64, err error) {
	err = r.bus.read(ctx, "bus.refill", func(ctx context.Context, tx *sqldb.Tx) error {
		items, last = nil, 0
		for row, err := range tx.Query(ctx, `SELECT id, event_type, tenant_id, event_id, partition_key, published_at, body FROM outbox_events
			WHERE id > $1 AND part = $2 AND published_at >= $3 AND published_at < $4 AND created_at >= $5 AND created_at < $6
			AND ($7 = '' OR tenant_id = $7) ORDER BY id LIMIT $8`,
			of.after, r.lease.part, of.sent[0], of.sent[1], of.made[0], of.made[1], of.tenant, batchMost) {
			if err != nil {
				return err
			}
			m := Message{Part: r.lease.part, Stream: wire.Events}
			if err := row.Scan(&m.Relay.Source, &m.Type, &m.Tenant, &m.ID, &m.Key, &m.Relay.At, &m.Body); err != nil {
				return err
			}
			last, m.Relay.Epoch = m.Relay.Source, math.MaxInt64
			if len(r.consumer.Types) == 0 || slices.Contains(r.consumer.Types, m.Type) {
				items = append(items, examine(m))
			}
		}
		return nil
	})
	return items, last, err
}

// catchUp takes from the source what the stream has dropped before this reader saw it,
// and moves the reader to the oldest message that the stream still has.
func (r *reader) catchUp(ctx context.Context, first uint64) error {
	r.bus.log.Warn("a reader was away for longer than its stream keeps messages; it reads the source", "consumer", r.consumer.Name, "partition", r.lease.part)
	page := r.outboxPage
	of := rangeOf{made: always, sent: [2]wire.Stamp{r.at.relayed, math.MaxInt64}}
	if r.consumer.Stream == wire.Executions {
		page, of.after = r.logPage, r.at.source
	}
	for {
		items, last, err := page(ctx, of)
		if err != nil {
			return err
		}
		if last == 0 {
			break
		}
		if len(items) > 0 {
			if err := r.take(ctx, items, r.at); err != nil {
				return err
			}
		}
		of.after = last
	}
	r.at.seq = first - 1 // noted with the next events
	return nil
}

// logPage reads the engine's log as outboxPage reads the outbox.
func (r *reader) logPage(ctx context.Context, of rangeOf) (items []item, last int64, err error) {
	if r.bus.cfg.Log == nil {
		return nil, 0, nil
	}
	msgs, upto, err := r.bus.cfg.Log.After(ctx, of.after, batchMost)
	if err != nil || upto == of.after {
		return nil, 0, err
	}
	for _, m := range msgs {
		if m.Part == r.lease.part {
			m.Relay.Epoch = math.MaxInt64
			items = append(items, examine(m))
		}
	}
	return items, upto, nil
}

// replay is a range of time that a consumer gets again.
type replay struct {
	id       string
	tenant   string
	from, to wire.Stamp
	pos      int64
}

// replays does a page of the oldest replay. It says whether there is more to do.
func (r *reader) replays(ctx context.Context) (more bool, err error) {
	var p replay
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
	if err != nil || p.id == "" {
		return false, err
	}
	// What the stream has not brought yet is not in it: an event that overtook an
	// older one of its key would make that stale.
	items, last, err := r.outboxPage(ctx, rangeOf{after: p.pos, tenant: p.tenant, made: [2]wire.Stamp{p.from, p.to}, sent: [2]wire.Stamp{0, r.at.relayed}})
	if err != nil {
		return false, err
	}
	return true, r.takeAgain(ctx, &p, items, last)
}

// takeAgain takes a page of a replay and notes how far it is.
func (r *reader) takeAgain(ctx context.Context, p *replay, items []item, last int64) error {
	r.bus.cfg.Passed("reader.replay")
	return r.commit(ctx, nil, func(ctx context.Context, tx *sqldb.Tx, t *turn) error {
		for i := range items {
			if err := r.takeOne(ctx, tx, t, &items[i]); err != nil {
				return err
			}
		}
		status, ended := 0, wire.Stamp(0)
		if last == 0 {
			status, ended, last = 1, t.now, p.pos
		}
		_, err := tx.Exec(ctx, `UPDATE bus_replay SET pos = $3, status = $4, ended_at = $5, applied = applied + $6, duplicate = duplicate + $7,
			stale = stale + $8, failed = failed + $9 WHERE id = $1 AND part = $2 AND status = 0`,
			p.id, r.lease.part, last, status, ended, t.counts.applied, t.counts.duplicate, t.counts.stale, t.counts.failed)
		return err
	})
}
