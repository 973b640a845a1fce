package bus

import (
	"context"
	"errors"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	relayRows       = 1024            // rows of a batch
	markRows        = 512             // rows marked in a transaction
	relayBytes      = 8 << 20         // bodies of a batch, at most
	relayPages      = 16              // read in search of keys that are not backed off
	keyBackoffFor   = 2 * time.Second // that a key is backed off
	keyBackoffTries = 3               // first
	rereadEvery     = time.Second     // rereads the table despite recent rows
)

// outboxRelay publishes the outbox of a partition.
//
// It reads what is not marked as published, not from a position: on PostgreSQL rows may become visible after higher
// ids, if a transaction that began first commits last. Rows of a key never do, since the publisher locks the key.
type outboxRelay struct {
	*relay
	backoffs     map[string]keyBackoff
	useRecent    bool      // they have all unpublished rows
	recentReader uint64    // this relay's name there
	looked       time.Time // last read of the table
	reached      int64     // newest id read
}

func runOutboxRelay(ctx context.Context, b *Bus, l lease) error {
	r := &outboxRelay{relay: newRelay(b, l, "outbox", events.Events, l.part), backoffs: map[string]keyBackoff{}}
	defer func() { b.recent.detach(l.part, r.recentReader) }()
	return r.run(ctx, r.turnOutbox)
}

// turnOutbox publishes and marks a batch. It may use the recent rows once everything read was marked.
func (r *outboxRelay) turnOutbox(ctx context.Context) (rest time.Duration, err error) {
	follow := r.useRecent
	r.useRecent = false
	if err := r.ready(ctx); err != nil {
		return 0, err
	}
	if r.state.window.pos < r.state.window.to {
		return 0, r.replayPage(ctx)
	}
	batch, more, err := r.nextOutbox(ctx, follow)
	if err != nil {
		return 0, err
	}
	if !more {
		rest = r.poll()
	}
	if len(r.backoffs) > 0 {
		rest = min(rest, keyBackoffFor)
	}
	if len(batch.msgs) == 0 {
		r.useRecent = batch.recent
		return rest, nil
	}
	r.bus.cfg.Passed("relay.read")
	if ok, err := r.verifyBeforeSend(ctx); !ok || err != nil {
		return 0, err
	}
	s, ok, err := r.deliver(ctx, batch.msgs)
	if !ok || err != nil {
		return 0, err
	}
	r.bus.cfg.Passed("relay.published")
	r.backOff(batch.msgs, &s)
	if s.count == 0 {
		return rest, s.unavailable
	}
	if ok, err := r.verifyAfterSend(ctx); !ok || err != nil {
		return 0, err
	}
	if err := r.mark(ctx, batch, s); err != nil {
		return 0, err
	}
	switch {
	case s.unavailable != nil:
		return firstPause, nil
	case s.count+len(s.refused) < len(batch.msgs):
		return 0, nil // more with the next batch
	}
	r.useRecent = batch.recent && s.count == len(batch.msgs)
	return rest, nil
}

type outboxBatch struct {
	at     canonical.Stamp
	ids    []int64
	msgs   []Message
	gaps   bool // rows were left out
	recent bool // later rows are in the recent rows
}

func (b *outboxBatch) add(id int64, m Message) {
	b.ids, b.msgs = append(b.ids, id), append(b.msgs, m)
}

// nextOutbox returns unpublished rows: the recent ones if everything before is published, else from the table.
func (r *outboxRelay) nextOutbox(ctx context.Context, follow bool) (out outboxBatch, more bool, err error) {
	if follow && len(r.backoffs) == 0 {
		out, follow = r.bus.recent.read(r.lease.part, r.recentReader, r.reached)
		if follow && (len(out.ids) > 0 || time.Since(r.looked) < rereadEvery) {
			out.recent = true
			r.stamp(&out, stampOf(r.bus.cfg.Clock))
			return out, false, nil
		}
	}
	if !queriesOf(r.bus.db).shared {
		r.recentReader, r.looked = r.bus.recent.attach(r.lease.part), time.Now()
	}
	out, more, err = r.readOutbox(ctx)
	out.recent = r.recentReader > 0 && !more && !out.gaps
	return out, more && len(out.msgs) > 0, err
}

func (r *outboxRelay) stamp(out *outboxBatch, now canonical.Stamp) {
	if len(out.ids) == 0 {
		return
	}
	out.at, r.reached = r.begin(now), out.ids[len(out.ids)-1]
	for i := range out.msgs {
		out.msgs[i].Relay = Relay{Epoch: r.state.epoch, At: out.at, Source: out.ids[i]}
	}
}

// readOutbox reads the table; more: there may be more.
func (r *outboxRelay) readOutbox(ctx context.Context) (out outboxBatch, more bool, err error) {
	var now canonical.Stamp
	err = r.bus.read(ctx, "bus.relay.read", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		out = outboxBatch{}
		if now, err = r.bus.now(ctx, tx); err != nil {
			return err
		}
		q := queriesOf(tx)
		page := outboxRows{query: q.unpublished, part: r.lease.part, limit: relayRows}
		after := int64(0)
		for range relayPages {
			page.args = q.page(r.lease.part, after, relayRows)
			after, more, err = page.read(ctx, tx, func(id int64, m Message) { r.addUnlessBackedOff(&out, id, m) })
			if err != nil || !more || len(r.backoffs) == 0 || len(out.msgs) >= relayRows/2 {
				return err
			}
		}
		return nil
	})
	r.stamp(&out, now)
	return out, more, err
}

func (r *outboxRelay) addUnlessBackedOff(out *outboxBatch, id int64, m Message) {
	if a, ok := r.backoffs[m.Key]; ok && time.Now().Before(a.until) {
		out.gaps = true
		return
	}
	out.add(id, m)
}

// keyBackoff is a key whose next event the carrier refuses.
type keyBackoff struct {
	event string
	tries int
	until time.Time
}

// backOff backs off the keys of refused events, such as one too large for a server, and of events that keep failing
// while others succeed. Other keys go on. It logs once.
func (r *outboxRelay) backOff(msgs []Message, s *sent) {
	for i := range msgs {
		if s.seqs[i] > 0 {
			delete(r.backoffs, msgs[i].Key)
		}
	}
	for _, m := range s.refused {
		r.countFailure(m, keyBackoffTries, s.why)
	}
	if s.count == 0 {
		return
	}
	for _, m := range s.failed {
		r.countFailure(m, 1, s.unavailable)
	}
}

// countFailure backs a key off after too many failures of an event.
func (r *outboxRelay) countFailure(m *Message, tries int, why error) {
	a := r.backoffs[m.Key]
	if a.event != m.ID {
		a = keyBackoff{event: m.ID}
	}
	before := a.tries
	if a.tries += tries; a.tries >= keyBackoffTries {
		a.until = time.Now().Add(keyBackoffFor)
		if before < keyBackoffTries {
			r.bus.log.Error("event cannot be published; its key waits", "post", r.lease.String(), "eventId", m.ID,
				"error", why)
		}
	}
	r.backoffs[m.Key] = a
}

// mark marks acknowledged rows as published, in transactions that do not hold up the engine. The first stores the
// checkpoint too: if process and stream tail were lost in between, nothing else would show that marked rows must be
// published again.
func (r *outboxRelay) mark(ctx context.Context, b outboxBatch, s sent) error {
	ids := make([]int64, 0, s.count)
	for i, seq := range s.seqs {
		if seq > 0 {
			ids = append(ids, b.ids[i])
		}
	}
	s.top.At = b.at
	next, stmts := r.advance(s.top, r.state.window.pos)
	whole := !b.gaps && len(ids) == len(b.ids)
	r.bus.cfg.Passed("relay.before-mark")
	for some := range slices.Chunk(ids, markRows) {
		if err := r.markRows(ctx, some, whole, b.at, stmts...); err != nil {
			return err
		}
		r.state, stmts = next, nil
	}
	r.bus.cfg.Passed("relay.marked")
	return nil
}

// markRows marks rows; whole: they are all unpublished rows up to the last.
func (r *outboxRelay) markRows(
	ctx context.Context,
	ids []int64,
	whole bool,
	at canonical.Stamp,
	more ...sqldb.Stmt,
) error {
	err := r.write(ctx, "bus.relay.mark", func(ctx context.Context, tx *sqldb.Tx, _ canonical.Stamp) error {
		q := queriesOf(tx)
		if !whole || q.shared {
			return tx.Batch(ctx, append([]sqldb.Stmt{q.markOutbox(ids, at)}, more...)...)
		}
		var n int64
		mark := markUpto(r.lease.part, ids[len(ids)-1], at)
		mark.Changed = &n
		err := tx.Batch(ctx, append([]sqldb.Stmt{mark}, more...)...)
		if err == nil && n != int64(len(ids)) {
			return errOthers
		}
		return err
	})
	if errors.Is(err, errOthers) {
		return r.markRows(ctx, ids, false, at, more...)
	}
	return err
}

// errOthers: rows that were not published would be marked.
var errOthers = errors.New("there are other rows before the last one")
