package bus

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// load reads the committed state, or begins.
func (r *relay) load(ctx context.Context) error {
	var known bool
	var now, newest canonical.Stamp
	err := r.bus.read(ctx, "bus.relay.load", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if now, err = r.bus.now(ctx, tx); err != nil {
			return err
		}
		if newest, err = r.newest(ctx, tx); err != nil {
			return err
		}
		known, err = r.readState(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	epoch, sent, err := r.ahead(ctx)
	if err != nil {
		return err
	}
	if sent > now+day {
		sent = 0 // not by our clocks
	}
	r.at = max(newest, sent)
	if !known {
		if err := r.first(ctx, epoch); err != nil {
			return err
		}
	}
	r.loaded = true
	return nil
}

func (r *relay) readState(ctx context.Context, tx *sqldb.Tx) (bool, error) {
	var s relayState
	err := tx.Row(ctx, `SELECT epoch, stream_at, last_seq, last_event, last_at, position, replay_pos, replay_to,
		replay_since FROM bus_relay WHERE source = $1 AND part = $2`, r.source, r.lease.part).Scan(
		&s.epoch, &s.streamAt, &s.last.Seq, &s.last.Event, &s.last.At, &s.last.Number, &s.window.pos, &s.window.to,
		&s.window.since)
	if errors.Is(err, sqldb.ErrNoRow) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.checkpoints, err = sqldb.Collect(ctx, tx, scanCheckpoint, `SELECT seq, event, at, number FROM bus_trail
		WHERE source = $1 AND part = $2 ORDER BY seq`, r.source, r.lease.part)
	if err != nil {
		return false, err
	}
	r.state, r.tail, r.next = s, s.last, s.last.Number
	return true, nil
}

// newest is the latest known batch time.
func (r *relay) newest(ctx context.Context, tx *sqldb.Tx) (newest canonical.Stamp, err error) {
	note := func(query string, args ...any) {
		var at canonical.Stamp
		if err == nil {
			err = tx.Row(ctx, query, args...).Scan(&at)
		}
		newest = max(newest, at)
	}
	for _, part := range r.parts {
		note("SELECT max(relayed_at) FROM bus_reader WHERE stream = $1 AND part = $2", int64(r.stream), part)
		if r.stream == events.Events {
			note("SELECT max(published_at) FROM outbox_events WHERE part = $1 AND published_at IS NOT NULL", part)
		}
	}
	return newest, err
}

// ahead is the highest relay epoch and batch time in the partitions' last messages, which a crashed relay may not
// have committed.
func (r *relay) ahead(ctx context.Context) (epoch int64, at canonical.Stamp, err error) {
	if _, err := r.bus.carrier.Ensure(ctx, r.stream); err != nil {
		return 0, 0, err
	}
	for _, part := range r.parts {
		m, err := r.bus.carrier.Last(ctx, r.stream, part)
		if ok, err := found(err); err != nil {
			return 0, 0, err
		} else if ok {
			epoch, at = max(epoch, m.Relay.Epoch), max(at, m.Relay.At)
		}
	}
	return epoch, at, nil
}

// first begins with a stream that this database never published to, whose content is not ours. If the database has
// published, it is another stream: a loss.
func (r *relay) first(ctx context.Context, epoch int64) error {
	info, err := r.bus.carrier.Ensure(ctx, r.stream)
	if err != nil {
		return err
	}
	r.state = relayState{epoch: epoch}
	published, err := r.published(ctx)
	if err != nil {
		return err
	}
	if published || r.stream == events.Executions {
		return r.handleLoss(ctx, info)
	}
	end, err := r.end(ctx, info)
	if err != nil {
		return err
	}
	s := relayState{epoch: epoch + 1, streamAt: created(info), last: end}
	if err := r.store(ctx, "bus.relay.first", s, []sqldb.Stmt{r.storeState(s)}); err != nil {
		return err
	}
	r.tail = s.last
	return nil
}

// store commits the statements of a state under the lease; then the state is the relay's.
func (r *relay) store(ctx context.Context, op string, s relayState, stmts []sqldb.Stmt) error {
	err := r.write(ctx, op, func(ctx context.Context, tx *sqldb.Tx, _ canonical.Stamp) error {
		return tx.Batch(ctx, stmts...)
	})
	if err == nil {
		r.state = s
	}
	return err
}

// published reports whether the outbox has published events of the partition.
func (r *relay) published(ctx context.Context) (bool, error) {
	if r.stream != events.Events {
		return false, nil
	}
	n, err := readValue[int](ctx, r.bus, "bus.relay.first",
		"SELECT 1 FROM outbox_events WHERE part = $1 AND published_at IS NOT NULL LIMIT 1", r.lease.part)
	return n > 0, err
}

// storeState stores the state, but leaves gap reports.
func (r *relay) storeState(s relayState) sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO bus_relay (source, part, epoch, stream_at, last_seq, last_event, last_at, position,
			replay_pos, replay_to, replay_since, doubt) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0)
			ON CONFLICT (source, part) DO UPDATE SET epoch = excluded.epoch, stream_at = excluded.stream_at,
			last_seq = excluded.last_seq, last_event = excluded.last_event, last_at = excluded.last_at,
			position = excluded.position, replay_pos = excluded.replay_pos, replay_to = excluded.replay_to,
			replay_since = excluded.replay_since`,
		Args: []any{
			r.source, r.lease.part, s.epoch, s.streamAt, s.last.Seq, s.last.Event, s.last.At, s.last.Number,
			s.window.pos, s.window.to, s.window.since,
		},
	}
}

// advance returns the state after acknowledged messages, up to pos of the window, and the statements that store it.
func (r *relay) advance(m checkpoint, pos int64) (relayState, []sqldb.Stmt) {
	s := r.state
	s.window.pos = pos
	if m.Seq <= s.last.Seq { // duplicates only
		m.Seq, m.Event = s.last.Seq, s.last.Event
	}
	s.last = m
	var added bool
	var gone []checkpoint
	s.checkpoints, added, gone = s.checkpoints.add(m)
	stmts := []sqldb.Stmt{r.storeState(s)}
	if added {
		stmts = append(stmts, r.insertCheckpoint(m, gone)...)
	}
	return s, stmts
}

func created(info StreamInfo) int64 { return info.Created.UnixNano() }
