package bus

import (
	"context"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// A server that has just become leader may not know the end of its stream, so an apparent loss is checked again.
const (
	lossTries = 3
	lossPause = 250 * time.Millisecond
)

// compare compares the stream with what it acknowledged and handles a loss.
func (r *relay) compare(ctx context.Context) error {
	seen, doubts := r.bus.carrier.Connections(), r.bus.gapReports.Load()
	doubted, err := r.gapReported(ctx)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		info, err := r.bus.carrier.Ensure(ctx, r.stream)
		if err != nil {
			return err
		}
		sound, err := r.intact(ctx, info)
		if err != nil {
			return err
		}
		if !sound && try < lossTries && created(info) == r.state.streamAt {
			wait(ctx, lossPause, nil)
			continue
		}
		if !sound || doubted {
			err = r.handleLoss(ctx, info)
		}
		if err == nil {
			r.seen, r.gapReports, r.compared, r.verifiedAt = seen, doubts, time.Now(), time.Now()
		}
		return err
	}
}

// gapReported reports whether a reader found a gap.
func (r *relay) gapReported(ctx context.Context) (bool, error) {
	return readValue[bool](ctx, r.bus, "bus.relay.doubted",
		"SELECT doubt FROM bus_relay WHERE source = $1 AND part = $2", r.source, r.lease.part)
}

// intact reports whether the stream has its last acknowledged message, or kept it as long as it keeps any.
func (r *relay) intact(ctx context.Context, info StreamInfo) (bool, error) {
	last := r.state.last
	switch {
	case created(info) != r.state.streamAt, last.Seq > info.Last:
		return false, nil
	case last.Seq < info.First, last.Event == "":
		return true, nil
	}
	return r.has(ctx, last)
}

// has reports whether a checkpoint's message is at its sequence.
func (r *relay) has(ctx context.Context, m checkpoint) (bool, error) {
	at, err := r.bus.carrier.At(ctx, r.stream, m.Seq)
	ok, err := found(err)
	return ok && m.Event != "" && at.ID == m.Event, err
}

// verifyAfterSend verifies that the last committed checkpoint is in the stream, which could hide a lost tail by
// growing. If not, it handles the loss, and new acknowledgements do not count.
//
// Readers find a loss between two waves: see continuityCheck.
func (r *relay) verifyAfterSend(ctx context.Context) (bool, error) {
	if last := r.state.last; last.Event != "" {
		ok, err := r.has(ctx, last)
		if ok {
			r.verifiedAt = time.Now()
		}
		if ok || err != nil {
			return ok, err
		}
	}
	epoch := r.state.epoch
	err := r.compare(ctx)
	return err == nil && r.state.epoch == epoch, err
}

// handleLoss stores in one transaction that the stream lost messages: the relay's epoch rises, its readers' leases
// end and they resume after what the stream has now, and publishing resumes at the loss or the slowest reader.
func (r *relay) handleLoss(ctx context.Context, info StreamInfo) error {
	r.bus.cfg.Passed("relay.loss-found")
	keep, err := r.survivor(ctx, info)
	if err != nil {
		return err
	}
	end, err := r.end(ctx, info)
	if err != nil {
		return err
	}
	oldest, err := r.oldest(ctx)
	if err != nil {
		return err
	}
	var s relayState
	err = r.write(ctx, "bus.relay.lose", func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		s = relayState{epoch: r.state.epoch + 1, streamAt: created(info), last: end}
		readers, err := r.stopReaders(ctx, tx)
		if err != nil {
			return err
		}
		if s.streamAt == r.state.streamAt {
			s.checkpoints = r.state.checkpoints.upto(keep)
		}
		if r.stream == events.Executions {
			r.resumeLog(&s, keep, readers, oldest)
		} else if err := r.resumeOutbox(ctx, tx, &s, keep, readers, now); err != nil {
			return err
		}
		s.checkpoints = s.checkpoints.upto(s.last)
		return tx.Batch(ctx, append(r.moveReaders(s), r.storeState(s), sqldb.Stmt{
			Query: "DELETE FROM bus_trail WHERE source = $1 AND part = $2 AND seq > $3",
			Args:  []any{r.source, r.lease.part, s.checkpoints.end().Seq},
		}, sqldb.Stmt{
			Query: "UPDATE bus_relay SET doubt = 0 WHERE source = $1 AND part = $2",
			Args:  []any{r.source, r.lease.part},
		})...)
	})
	if err != nil {
		return err
	}
	r.bus.cfg.Passed("relay.loss-noted")
	if first := r.stream == events.Executions && r.state.streamAt == 0; !first {
		r.bus.log.Warn("stream lost events; they are published again", "post", r.lease.String(), "since",
			s.last.At.String())
	}
	r.state, r.tail, r.next, r.pending, r.top, r.unnoted = s, s.last, s.last.Number, nil, checkpoint{}, 0
	wake(r.bus.coordinator.wake) // restart the readers at once
	return nil
}

// survivor is the newest checkpoint before the first lost one; zero: none.
func (r *relay) survivor(ctx context.Context, info StreamInfo) (last checkpoint, err error) {
	if created(info) != r.state.streamAt {
		return checkpoint{}, nil
	}
	for _, m := range append(slices.Clone(r.state.checkpoints), r.state.last) {
		if m.Seq >= info.First { // earlier ones expired
			if ok, err := r.has(ctx, m); !ok || err != nil {
				return last, err
			}
		}
		last = m
	}
	return last, nil
}

// end is the stream's newest message as a checkpoint.
func (r *relay) end(ctx context.Context, info StreamInfo) (checkpoint, error) {
	if info.Last == 0 {
		return checkpoint{}, nil
	}
	m, err := r.bus.carrier.At(ctx, r.stream, info.Last)
	_, err = found(err)
	return checkpoint{Seq: info.Last, Event: m.ID}, err
}

// oldest is where to read the log from if none of it is known to be in the stream.
func (r *relay) oldest(ctx context.Context) (int64, error) {
	if r.stream != events.Executions {
		return 0, nil
	}
	var now canonical.Stamp
	err := r.bus.read(ctx, "bus.relay.oldest", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		now, err = r.bus.now(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	return r.bus.cfg.Log.Before(ctx, now-canonical.Stamp(Horizon.Milliseconds()))
}

// stopReaders ends the readers' leases, so that none commits anything of the old stream, and returns their positions.
func (r *relay) stopReaders(ctx context.Context, tx *sqldb.Tx) (places []position, err error) {
	for _, part := range r.parts {
		// Also readers without a row yet, but not those of another stream.
		if _, err := tx.Exec(ctx, `UPDATE bus_lease SET epoch = epoch + 1 WHERE part = $1 AND name >= 'reader:'
			AND name < 'reader;'
			AND name NOT IN (SELECT 'reader:' || consumer FROM bus_reader 
				WHERE part = $1 AND stream <> $2)`, part, int64(r.stream)); err != nil {
			return nil, err
		}
	}
	for _, part := range r.parts {
		some, err := sqldb.Collect(ctx, tx, func(row *sqldb.Row) (p position, err error) {
			err = row.Scan(&p.streamAt, &p.seq, &p.relayed, &p.source)
			return p, err
		}, `SELECT stream_at, seq, relayed_at, source_id FROM bus_reader WHERE stream = $1 AND part = $2`,
			int64(r.stream), part)
		if err != nil {
			return nil, err
		}
		places = append(places, some...)
	}
	return places, nil
}

// passed is the newest checkpoint that a reader has passed; its own record advances only with wanted events.
func (r *relay) passed(s *relayState, p position) checkpoint {
	if p.streamAt != s.streamAt || s.streamAt != r.state.streamAt {
		return checkpoint{}
	}
	return s.checkpoints.at(p.seq)
}

// resumeOutbox sets the window to publish again.
func (r *relay) resumeOutbox(
	ctx context.Context, tx *sqldb.Tx, s *relayState, keep checkpoint, readers []position, now canonical.Stamp,
) error {
	since := keep.At
	if s.streamAt != r.state.streamAt {
		since = now - canonical.Stamp(Horizon.Milliseconds())
	}
	for _, p := range readers {
		since = min(since, max(p.relayed, r.passed(s, p).At))
	}
	s.last.At, s.window.since = since, since
	var from int64
	err := tx.Batch(ctx,
		sqldb.Stmt{
			Query: "SELECT min(id) FROM outbox_events WHERE part = $1 AND published_at >= $2",
			Args:  []any{r.lease.part, since},
			Row:   func(row *sqldb.Row) error { return row.Scan(&from) },
		},
		sqldb.Stmt{
			Query: "SELECT max(id) FROM outbox_events",
			Row:   func(row *sqldb.Row) error { return row.Scan(&s.window.to) },
		})
	if from == 0 {
		s.window = window{}
	} else {
		s.window.pos = from - 1
	}
	return err
}

// resumeLog sets the number to publish the log from.
func (r *relay) resumeLog(s *relayState, keep checkpoint, readers []position, oldest int64) {
	number := keep.Number
	for _, p := range readers {
		number = min(number, max(p.source, r.passed(s, p).Number))
	}
	s.last.Number = max(number, oldest)
	s.last.At = s.checkpoints.until(s.last.Number).At
}

// moveReaders moves the readers after the stream's present end. They ignore what earlier relay epochs still send.
func (r *relay) moveReaders(s relayState) (stmts []sqldb.Stmt) {
	for _, part := range r.parts {
		stmts = append(stmts, sqldb.Stmt{
			Query: `UPDATE bus_reader SET stream_at = $3, seq = $4, last_seq = $4, last_event = $5, min_relay = $6,
				relayed_at = $7, source_id = $8 WHERE stream = $1 AND part = $2`,
			Args: []any{int64(r.stream), part, s.streamAt, s.last.Seq, s.last.Event, s.epoch, s.last.At, s.last.Number},
		})
	}
	return stmts
}
