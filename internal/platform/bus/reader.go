package bus

import (
	"context"
	"errors"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	pollEvery       = time.Second            // for decisions and replays from other processes
	reopenAfter     = 200 * time.Millisecond // after a feed failed
	commitIdleEvery = 30 * time.Second       // while no event comes
)

// partition is a partition of a consumer's stream, assigned under a lease.
type partition struct {
	bus      *Bus
	consumer *Consumer
	lease    lease
}

// machineNow only says when to look; the database's clock decides what is due.
func (p *partition) machineNow() canonical.Stamp { return stampOf(p.bus.cfg.Clock) }

// reader consumes a partition. It runs the loop over its parts: progress commits, applier applies events, retrier
// retries parked ones, decider carries out decisions, replayer reads the outbox again.
//
// Their caches are valid while the lease stands: nobody else writes.
type reader struct {
	*parts
	applier   *applier
	retrier   *retrier
	decisions *decider
	replays   *replayer

	lookForWork bool      // decisions or replays
	noted       time.Time // last commit of a position without an event
	reported    int64     // minRelay+1 at the last gap report
	stall       stall
}

// parts is what the parts of a reader share.
type parts struct {
	partition
	progress *progress
	versions *versionStore
	dedupe   *dedupe
	parked   *parkedEvents
	dlq      *deadLetterQueue
	handler  *invoker
}

func newReader(b *Bus, c *Consumer, l lease) *reader {
	p := partition{bus: b, consumer: c, lease: l}
	all := &parts{
		partition: p, dedupe: &dedupe{p}, parked: &parkedEvents{partition: p}, dlq: &deadLetterQueue{partition: p},
		handler: &invoker{partition: p},
	}
	all.versions = &versionStore{partition: p, parked: all.parked, newest: map[string]keyVersion{}}
	all.progress = &progress{parts: all}
	applier := &applier{parts: all, most: batchMost}
	return &reader{
		parts: all, applier: applier, retrier: &retrier{parts: all, applier: applier}, decisions: &decider{all},
		replays: &replayer{parts: all, applier: applier}, lookForWork: true,
	}
}

// run consumes until ctx ends or the lease is lost.
func (r *reader) run(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		err := r.follow(ctx)
		if g := gapOf(err); g != nil && r.reported != r.progress.pos.minRelay+1 {
			err = r.reportGap(ctx, g)
		}
		if err == nil || errors.Is(err, errLeaseLost) {
			return err
		}
		r.stalled(ctx, err)
		if err := r.pause(ctx, reopenAfter); err != nil {
			return err
		}
	}
	return nil
}

type batch struct {
	items   []item
	upto    uint64 // sequence
	pending uint64
}

// item is an event to apply.
type item struct {
	Message
	event events.Event
	bad   error // why no handler can take it; nil: well formed
}

// examine decodes and checks a message. If it cannot be decoded, the carrier's headers stand in, except for a key of
// another partition, which its own reader blocks.
func examine(m Message) item {
	it := item{Message: m}
	it.event, it.bad = events.ParseEvent(m.Body)
	if it.bad == nil {
		it.bad = it.event.CheckReceived()
	}
	e := &it.event
	if it.bad == nil && (e.Tenant != m.Tenant || e.Type != m.Type || events.Partition(e.Key) != m.Part) {
		it.bad = fault.New(fault.Invalid, events.CodeEventInvalid,
			"the event is of tenant %s, type %s and key %s, and its subject says otherwise",
			e.Tenant, e.Type, e.Key)
	}
	if it.bad != nil {
		e.ID, e.Tenant, e.Type, e.Key = m.ID, m.Tenant, m.Type, keyIn(m.Part, m.Key, e.Key)
		it.bad = Permanent(it.bad)
	}
	return it
}

func examineAll(msgs []Message) []item {
	items := make([]item, len(msgs))
	for i := range msgs {
		items[i] = examine(msgs[i])
	}
	return items
}

func keyIn(part int, keys ...string) string {
	for _, key := range keys {
		if key != "" && events.Partition(key) == part {
			return key
		}
	}
	return ""
}

// pause waits before the feed is opened again, and does background work.
func (r *reader) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(d):
	}
	if err := r.background(ctx); errors.Is(err, errLeaseLost) {
		return err
	}
	return nil // tried again
}

// follow consumes the stream until ctx ends; after an error the feed must be reopened.
func (r *reader) follow(ctx context.Context) error {
	feed, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer feed.Close()
	stopped, stop := context.WithCancel(ctx)
	batches, broken := make(chan batch), make(chan error, 1)
	done := make(chan struct{})
	chain := &continuityCheck{carrier: r.bus.carrier, minRelay: r.progress.pos.minRelay}
	go func() {
		defer close(done)
		if err := r.fetch(stopped, feed, chain, batches); err != nil {
			broken <- err
		}
	}()
	defer func() { stop(); <-done }()
	wake, look := r.bus.wakes.of(r.lease.assignment), time.NewTicker(pollEvery)
	defer look.Stop()
	for {
		timer := r.retrier.untilDue()
		select {
		case <-ctx.Done():
			return nil
		case err := <-broken:
			return err
		case got := <-batches:
			if err := r.process(ctx, got); err != nil {
				return err
			}
			r.resumed()
		case <-wake:
			r.lookForWork = true
		case <-look.C:
			r.resumed() // idle, not stalled
			r.lookForWork = r.lookForWork || !r.bus.cfg.Exclusive || r.consumer.AutoRedrive > 0
		case <-timer:
		}
		if err := r.background(ctx); err != nil {
			return err
		}
	}
}

// process consumes a batch. One without events only advances the position, which is committed every commitIdleEvery.
func (r *reader) process(ctx context.Context, got batch) error {
	r.bus.cfg.Passed("reader.received")
	r.progress.pending = got.pending
	if len(got.items) > 0 {
		err := r.applier.consume(ctx, got.items, func(items []item) position { return r.progress.pos.after(items) })
		if err == nil {
			r.progress.pos.seq = max(r.progress.pos.seq, got.upto) // the rest is not for this reader
		}
		return err
	}
	to := r.progress.pos
	to.seq = got.upto
	if now := r.bus.cfg.Clock.Now(); now.Sub(r.noted) >= commitIdleEvery || r.progress.pending == 0 &&
		r.progress.waited {
		r.noted = now
		return r.progress.commit(ctx, &to, func(context.Context, *changes) error { return nil })
	}
	r.progress.pos = to
	return nil
}

// background does what does not come from the stream: decisions, retries, replays.
func (r *reader) background(ctx context.Context) error {
	if r.lookForWork {
		r.lookForWork = false
		more, err := r.decisions.run(ctx)
		if err != nil {
			r.lookForWork = true
			return err
		}
		if err := r.replays.run(ctx); err != nil {
			r.lookForWork = true
			return err
		}
		if r.lookForWork = more; more {
			r.bus.wakes.wake(r.lease.assignment)
		}
	}
	return r.retrier.runDue(ctx)
}

// open subscribes at the committed position.
func (r *reader) open(ctx context.Context) (*subscription, error) {
	info, err := r.bus.carrier.Ensure(ctx, r.consumer.Stream)
	if err != nil {
		return nil, err
	}
	created := info.Created.UnixNano()
	switch {
	case r.progress.pos.streamAt == 0:
		r.progress.pos.streamAt = created
		r.progress.pos.seq = max(info.First, 1) - 1
	case r.progress.pos.streamAt != created: // the relay will restart this reader
		return nil, Lost("the stream is another one than before")
	case r.progress.pos.seq+1 < info.First: // it was away too long
		if err := r.replays.catchUp(ctx, info.First); err != nil {
			return nil, err
		}
	}
	from := From{
		Stream: r.consumer.Stream, Created: info.Created, Part: r.lease.part, Types: r.consumer.Types,
		After: r.progress.pos.seq,
	}
	if r.progress.pos.last+1 >= info.First { // else that expired
		from.After, from.AfterID = r.progress.pos.last, r.progress.pos.lastID
	}
	return r.bus.openSubscription(ctx, from)
}

// load reads the committed position, blocked keys and dead letters.
func (r *reader) load(ctx context.Context) error {
	return r.bus.write(ctx, "bus.load", func(ctx context.Context, tx *sqldb.Tx) error {
		if _, err := r.bus.fence(ctx, tx, r.lease); err != nil {
			return err
		}
		r.progress.pos, r.dlq.deadKeys = position{}, map[string]bool{}
		r.parked.keys, r.parked.due = map[string]*blockedKey{}, 0
		name, part := r.consumer.Name, r.lease.part
		if _, err := tx.Exec(ctx,
			`INSERT INTO bus_reader (consumer, part, stream, stream_at, seq, relayed_at, source_id,
			min_relay,
			last_seq, last_event, pending, at, applied, duplicate, stale, failed)
			VALUES ($1, $2, $3, 0, 0, 0, 0, 0, 0, '', 0, 0, 0, 0, 0, 0)
			ON CONFLICT (consumer, part) DO NOTHING`, name, part, int(r.consumer.Stream)); err != nil {
			return err
		}
		err := tx.Row(ctx, `SELECT stream_at, seq, relayed_at, source_id, min_relay, last_seq, last_event
			FROM bus_reader WHERE consumer = $1 AND part = $2`, name, part).Scan(
			&r.progress.pos.streamAt, &r.progress.pos.seq, &r.progress.pos.relayed, &r.progress.pos.source,
			&r.progress.pos.minRelay, &r.progress.pos.last, &r.progress.pos.lastID)
		if err != nil {
			return err
		}
		for row, err := range tx.Query(ctx, `SELECT partition_key, tenant_id, state, attempt, next_at, since, next_n,
			last_version, last_idx
			FROM bus_lane WHERE consumer = $1 AND part = $2`, name, part) {
			if err != nil {
				return err
			}
			var key string
			l := &blockedKey{}
			if err := row.Scan(&key, &l.tenant, &l.state, &l.attempt, &l.nextTry, &l.since, &l.nextNum, &l.last.version,
				&l.last.index); err != nil {
				return err
			}
			r.parked.keys[key] = l
			r.parked.schedule(l)
		}
		return r.dlq.load(ctx, tx)
	})
}

// fetch reads the next batch while the previous one is applied.
func (r *reader) fetch(ctx context.Context, feed *subscription, chain *continuityCheck, out chan<- batch) error {
	upto, pending := feed.upto, feed.pending
	for ctx.Err() == nil {
		items, err := feed.next(ctx, batchMost)
		if err != nil {
			return err
		}
		n, broken := chain.verify(ctx, items)
		if items = items[:n]; broken != nil && n == 0 {
			return broken
		}
		if len(items) == 0 && feed.upto <= upto && feed.pending == pending {
			continue
		}
		upto, pending = feed.upto, feed.pending
		if broken != nil {
			upto = items[n-1].Seq
		}
		b := batch{items: items, upto: upto, pending: pending}
		select {
		case out <- b:
		case <-ctx.Done():
		}
		if broken != nil {
			return broken
		}
	}
	return nil
}

// stall is a time without progress. Its begin and end are logged, not every try.
type stall struct{ began time.Time }

func (r *reader) stalled(ctx context.Context, err error) {
	who := []any{"consumer", r.consumer.Name, "partition", r.lease.part}
	switch {
	case ctx.Err() != nil:
	case r.stall.began.IsZero():
		r.stall.began = time.Now()
		r.bus.log.Warn("reader of events was interrupted", append(who, "error", err)...)
	default:
		r.bus.log.Debug("reader of events is interrupted still", append(who, "error", err)...)
	}
}

func (r *reader) resumed() {
	if r.stall.began.IsZero() {
		return
	}
	r.bus.log.Info("reader of events goes on", "consumer", r.consumer.Name, "partition", r.lease.part,
		"ms", time.Since(r.stall.began).Milliseconds())
	r.stall = stall{}
}
