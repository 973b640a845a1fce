package bus

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
)

// replaySpan is how many ids a read examines.
const replaySpan = 20_000

// replayPage publishes the next rows of the window again, in order, and commits the progress; nothing else is
// published meanwhile.
//
// They carry the time of the window's begin, so that a loss before its end restarts it.
func (r *outboxRelay) replayPage(ctx context.Context) error {
	page, upto, err := r.readWindow(ctx)
	if err != nil {
		return err
	}
	top := checkpoint{At: r.state.window.since}
	for len(page) > 0 {
		s, ok, err := r.deliver(ctx, page)
		if !ok || err != nil {
			return err
		}
		if s.count == 0 {
			if err := firstOf(s.unavailable, s.why, ctx.Err()); err != nil {
				return err
			}
		}
		top.raise(s.top.Seq, s.top.Event)
		page = unacked(page, s.seqs)
	}
	r.bus.cfg.Passed("relay.replay-page")
	if ok, err := r.verifyAfterSend(ctx); !ok || err != nil {
		return err
	}
	next, stmts := r.advance(top, upto)
	if err := r.store(ctx, "bus.relay.replay", next, stmts); err != nil {
		return err
	}
	if upto == r.state.window.to {
		r.bus.cfg.Passed("relay.replayed")
		r.bus.log.Info("events that were lost are published again", "post", r.lease.String())
	}
	return nil
}

// readWindow reads rows of the window, up to the returned id.
func (r *outboxRelay) readWindow(ctx context.Context) (msgs []Message, upto int64, err error) {
	w := r.state.window
	end := min(w.to, w.pos+replaySpan)
	err = r.bus.read(ctx, "bus.relay.replay", func(ctx context.Context, tx *sqldb.Tx) error {
		msgs, upto = nil, end
		q := queriesOf(tx)
		rows := outboxRows{
			query: q.published, args: q.page(w.pos, end, r.lease.part, w.since, relayRows), part: r.lease.part,
			limit: relayRows,
		}
		last, full, err := rows.read(ctx, tx, func(id int64, m Message) {
			m.Relay = Relay{Epoch: r.state.epoch, At: w.since, Source: id}
			msgs = append(msgs, m)
		})
		if full {
			upto = last
		}
		return err
	})
	return msgs, upto, err
}

func unacked(msgs []Message, seqs []uint64) (rest []Message) {
	for i := range msgs {
		if seqs[i] == 0 {
			rest = append(rest, msgs[i])
		}
	}
	return rest
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
