package bus

import (
	"context"
	"time"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

const (
	relayRows  = 512             // rows of the outbox that are published and marked together
	relayBytes = 8 << 20         // of their bodies, at most
	relayPages = 16              // of rows that are looked through for some whose keys are not set aside
	asideFor   = 2 * time.Second // that a key is left alone
)

// relayOutbox publishes what the outbox has of one partition.
//
// It reads by state, what is not published yet, and not on from where it was: on
// PostgreSQL a transaction that began first may commit last, and its rows come into
// sight behind higher ids. Those of one key never do, since whoever publishes holds
// the key.
func (b *Bus) relayOutbox(ctx context.Context, l lease) error {
	r := b.newRelay(l, "outbox", wire.Events, l.part)
	return r.run(ctx, r.turnOutbox)
}

// turnOutbox publishes one batch and notes that it did.
func (r *relay) turnOutbox(ctx context.Context) (rest time.Duration, err error) {
	if err := r.ready(ctx); err != nil {
		return 0, err
	}
	if r.state.window.pos < r.state.window.to {
		return 0, r.replayPage(ctx)
	}
	batch, more, err := r.readOutbox(ctx)
	if err != nil {
		return 0, err
	}
	if !more {
		rest = r.poll()
	}
	if len(batch.msgs) == 0 {
		return rest, nil
	}
	r.bus.cfg.Passed("relay.read")
	if ok, err := r.sure(ctx); !ok || err != nil {
		return 0, err
	}
	s := r.send(ctx, batch.msgs)
	r.bus.cfg.Passed("relay.published")
	r.setAside(batch.msgs, &s)
	if s.count < len(batch.msgs) && len(s.refused) == 0 {
		rest = 0 // the others come with the next batch
	}
	if s.count == 0 {
		return rest, s.away
	}
	if ok, err := r.linked(ctx, s.fell); !ok || err != nil {
		return 0, err
	}
	if err := r.mark(ctx, batch, s); err != nil {
		return 0, err
	}
	return rest, s.away
}

// outboxBatch is rows of the outbox as messages.
type outboxBatch struct {
	at   wire.Stamp
	ids  []int64
	msgs []Message
}

func (b *outboxBatch) add(id int64, m Message) {
	b.ids, b.msgs = append(b.ids, id), append(b.msgs, m)
}

// readOutbox reads the next rows that are not published. more says that there are
// others, or may be.
func (r *relay) readOutbox(ctx context.Context) (out outboxBatch, more bool, err error) {
	err = r.bus.read(ctx, "bus.relay.read", func(ctx context.Context, tx *sqldb.Tx) error {
		out = outboxBatch{}
		now, err := r.bus.now(ctx, tx)
		if err != nil {
			return err
		}
		out.at = r.begin(now)
		page := unpublished{part: r.lease.part}
		for range relayPages {
			if err := page.read(ctx, tx, func(id int64, m Message) { r.take(&out, id, m) }); err != nil {
				return err
			}
			if more = page.more; !more || len(r.aside) == 0 || len(out.msgs) >= relayRows/2 {
				return nil
			}
		}
		return nil
	})
	for i := range out.msgs {
		out.msgs[i].Relay = Relay{Epoch: r.state.epoch, At: out.at, Source: out.ids[i]}
	}
	return out, more && len(out.msgs) > 0, err
}

// take adds a row to a batch unless its key is set aside.
func (r *relay) take(out *outboxBatch, id int64, m Message) {
	if a, ok := r.aside[m.Key]; ok && time.Now().Before(a.until) {
		return
	}
	out.add(id, m)
}

// aside is a key that waits because the carrier does not take its next event.
type aside struct {
	event string
	until time.Time
}

// setAside leaves keys alone for a while whose next event the carrier does not take,
// such as one that is too large for a server. Others go on. The log tells of it once.
func (r *relay) setAside(msgs []Message, s *sent) {
	for i := range msgs {
		if s.acked[i] {
			delete(r.aside, msgs[i].Key)
		}
	}
	for _, m := range s.refused {
		known := r.aside[m.Key].event == m.ID
		r.aside[m.Key] = aside{m.ID, time.Now().Add(asideFor)}
		if known {
			continue
		}
		r.bus.log.Error("event cannot be published; its key waits", "post", r.lease.String(), "eventId", m.ID, "error", s.why)
	}
}

// mark notes what was acknowledged.
func (r *relay) mark(ctx context.Context, b outboxBatch, s sent) error {
	ids := make([]int64, 0, s.count)
	for i, ok := range s.acked {
		if ok {
			ids = append(ids, b.ids[i])
		}
	}
	s.top.At = b.at
	next, stmts := r.advance(s.top, r.state.window.pos)
	r.bus.cfg.Passed("relay.before-mark")
	err := r.write(ctx, "bus.relay.mark", func(ctx context.Context, tx *sqldb.Tx, _ wire.Stamp) error {
		return tx.Batch(ctx, append([]sqldb.Stmt{markOutbox(tx, ids, b.at)}, stmts...)...)
	})
	if err != nil {
		return err
	}
	r.state = next
	r.bus.cfg.Passed("relay.marked")
	return nil
}
