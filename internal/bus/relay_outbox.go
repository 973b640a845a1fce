package bus

import (
	"context"
	"time"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

const (
	relayRows  = 1024            // rows of the outbox that are published together
	markRows   = 512             // of them that are marked in one job
	relayBytes = 8 << 20         // of their bodies, at most
	relayPages = 16              // of rows that are looked through for some whose keys are not set aside
	asideFor   = 2 * time.Second // that a key is left alone
	asideTries = 3               // before that
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
	if len(r.aside) > 0 {
		rest = min(rest, asideFor)
	}
	if len(batch.msgs) == 0 {
		return rest, nil
	}
	r.bus.cfg.Passed("relay.read")
	if ok, err := r.sure(ctx); !ok || err != nil {
		return 0, err
	}
	s, ok, err := r.deliver(ctx, batch.msgs)
	if !ok || err != nil {
		return 0, err
	}
	r.bus.cfg.Passed("relay.published")
	r.setAside(batch.msgs, &s)
	if s.count == 0 {
		return rest, s.away
	}
	if ok, err := r.linked(ctx); !ok || err != nil {
		return 0, err
	}
	if err := r.mark(ctx, batch, s); err != nil {
		return 0, err
	}
	switch {
	case s.away != nil:
		return firstPause, nil
	case s.count+len(s.refused) < len(batch.msgs):
		return 0, nil // the others come with the next batch
	}
	return rest, nil
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
	tries int
	until time.Time
}

// setAside leaves keys alone for a while whose next event the carrier does not take,
// such as one that is too large for a server, or takes again and again not while it
// takes those of other keys. The others go on. The log tells of it once.
func (r *relay) setAside(msgs []Message, s *sent) {
	for i := range msgs {
		if s.seqs[i] > 0 {
			delete(r.aside, msgs[i].Key)
		}
	}
	for _, m := range s.refused {
		r.leave(m, asideTries, s.why)
	}
	if s.count == 0 {
		return
	}
	for _, m := range s.failed {
		r.leave(m, 1, s.away)
	}
}

// leave counts tries of an event that failed, and sets its key aside when there were
// too many.
func (r *relay) leave(m *Message, tries int, why error) {
	a := r.aside[m.Key]
	if a.event != m.ID {
		a = aside{event: m.ID}
	}
	before := a.tries
	if a.tries += tries; a.tries >= asideTries {
		a.until = time.Now().Add(asideFor)
		if before < asideTries {
			r.bus.log.Error("event cannot be published; its key waits", "post", r.lease.String(), "eventId", m.ID, "error", why)
		}
	}
	r.aside[m.Key] = a
}

// mark notes what was acknowledged. All but the last of it goes in jobs of its own, so
// that none holds up the engine for long.
func (r *relay) mark(ctx context.Context, b outboxBatch, s sent) error {
	ids := make([]int64, 0, s.count)
	for i, seq := range s.seqs {
		if seq > 0 {
			ids = append(ids, b.ids[i])
		}
	}
	s.top.At = b.at
	next, stmts := r.advance(s.top, r.state.window.pos)
	r.bus.cfg.Passed("relay.before-mark")
	for len(ids) > markRows {
		if err := r.markRows(ctx, ids[:markRows], b.at); err != nil {
			return err
		}
		ids = ids[markRows:]
	}
	if err := r.markRows(ctx, ids, b.at, stmts...); err != nil {
		return err
	}
	r.state = next
	r.bus.cfg.Passed("relay.marked")
	return nil
}

// markRows notes when rows were published, and what else there is to note.
func (r *relay) markRows(ctx context.Context, ids []int64, at wire.Stamp, more ...sqldb.Stmt) error {
	return r.write(ctx, "bus.relay.mark", func(ctx context.Context, tx *sqldb.Tx, _ wire.Stamp) error {
		return tx.Batch(ctx, append([]sqldb.Stmt{markOutbox(tx, ids, at)}, more...)...)
	})
}
