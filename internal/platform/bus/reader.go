package bus

import (
	"context"
	"errors"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// What a reader does at once.
const (
	batchMost       = 256                    // events of one transaction
	batchLeast      = 16                     // of one that takes long
	pollEvery       = time.Second            // for decisions and replays that other processes wrote
	reopenAfter     = 200 * time.Millisecond // a feed that broke
	commitIdleEvery = 30 * time.Second       // where it is, while there is nothing for it
	// restAfterTries is how much longer than a turn of other tries took none is made, so
	// that thousands of keys that fail leave most of the time to those that do not.
	retryRest   = 3
	maxVersions = 50_000 // places that a reader remembers
)

// reader takes the events of one partition for a consumer. What it remembers is true
// for as long as it holds its post, since nobody else writes it.
type reader struct {
	bus         *Bus
	consumer    *Consumer
	lease       lease
	pos         position
	most        int                    // events of its next transaction
	pending     uint64                 // messages behind those that were read
	waited      bool                   // it is noted that there are some
	newest      map[string]keyVersion  // newest place by key; what is missing is in the database
	keys        map[string]*blockedKey // keys that wait
	deadKeys    map[string]bool        // keys behind whose dead letters the consumer goes on
	due         wire.Stamp             // when a lane wants another try; 0: none does
	rest        time.Time              // until when no lane gets one
	lookForWork bool                   // there may be decisions or replays
	replayAt    time.Time              // until when no replay gets a page; a timer wakes the reader then
	noted       time.Time              // when its place was noted without an event
	reported    int64                  // minRelay when the relay was told of a gap, and one more
	stall       stall
	poison      poisonDetector
}

// position is how far a reader is in its stream.
type position struct {
	streamAt int64      // when the stream was created, in nanoseconds; 0: it has seen none
	seq      uint64     // of the last message
	relayed  wire.Stamp // when that was sent on
	source   int64      // its number in the source
	minRelay int64      // messages of earlier relays are ignored
	last     uint64     // place of the last message, which seq may be behind
	lastID   string     // and its id, by which the place is recognised
}

// readFor takes the events of one partition for a consumer, until ctx ends or the post
// is lost.
func (b *Bus) readFor(ctx context.Context, c *Consumer, l lease) error {
	r := &reader{bus: b, consumer: c, lease: l, most: batchMost, newest: map[string]keyVersion{}, lookForWork: true}
	if err := r.load(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		err := r.follow(ctx)
		if g := gapOf(err); g != nil && r.reported != r.pos.minRelay+1 {
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

// pause waits a little, and goes on working at what needs no feed.
func (r *reader) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(d):
	}
	err := r.background(ctx)
	if errors.Is(err, errLeaseLost) {
		return err
	}
	return nil // whatever it is, it is tried again
}

// follow takes what the stream has, until ctx ends. An error means that the feed must
// be opened again.
func (r *reader) follow(ctx context.Context) error {
	feed, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer feed.Close()
	stopped, stop := context.WithCancel(ctx)
	batches, broken := make(chan batch), make(chan error, 1)
	done := make(chan struct{})
	chain := &continuityCheck{carrier: r.bus.carrier, minRelay: r.pos.minRelay}
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
		timer := r.untilDue()
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
			r.resumed() // there is nothing for it
			r.lookForWork = r.lookForWork || !r.bus.cfg.Exclusive || r.consumer.AutoRedrive > 0
		case <-timer:
		}
		if err := r.background(ctx); err != nil {
			return err
		}
	}
}

// receive takes a batch. One without events says that the stream went on without any
// for this reader; that is noted now and then.
func (r *reader) process(ctx context.Context, got batch) error {
	r.bus.cfg.Passed("reader.received")
	r.pending = got.pending
	if len(got.items) > 0 {
		err := r.consume(ctx, got.items, func(items []item) position { return r.pos.after(items) })
		if err == nil {
			r.pos.seq = max(r.pos.seq, got.upto) // what came behind them is not for this reader
		}
		return err
	}
	to := r.pos
	to.seq = got.upto
	if now := r.bus.cfg.Clock.Now(); now.Sub(r.noted) >= commitIdleEvery || r.pending == 0 && r.waited {
		r.noted = now
		return r.commit(ctx, &to, func(context.Context, *sqldb.Tx, *changes) error { return nil })
	}
	r.pos = to
	return nil
}

// beside does what waits beside the stream: decisions, other tries, replays.
func (r *reader) background(ctx context.Context) error {
	if r.lookForWork {
		r.lookForWork = false
		more, err := r.runDecisions(ctx)
		if err != nil {
			r.lookForWork = true
			return err
		}
		if err := r.runReplay(ctx); err != nil {
			r.lookForWork = true
			return err
		}
		if r.lookForWork = more; more {
			r.bus.wakes.wake(r.lease.assignment)
		}
	}
	if r.due == 0 || r.due > r.machineNow() || time.Now().Before(r.rest) {
		return nil
	}
	began := time.Now()
	err := r.retry(ctx)
	r.rest = time.Now().Add(retryRest * time.Since(began))
	return err
}

// machineNow is the time of this machine. It only says when to look; what is due is
// decided by the clock of the database.
func (r *reader) machineNow() wire.Stamp { return wire.Stamp(r.bus.cfg.Clock.Now().UnixMilli()) }

// untilDue fires when the next lane is due.
func (r *reader) untilDue() <-chan time.Time {
	if r.due == 0 {
		return nil
	}
	return time.After(max(time.Duration(r.due-r.machineNow())*time.Millisecond, time.Until(r.rest), time.Millisecond))
}

// open opens a feed at the place where the reader is.
func (r *reader) open(ctx context.Context) (*subscription, error) {
	info, err := r.bus.carrier.Ensure(ctx, r.consumer.Stream)
	if err != nil {
		return nil, err
	}
	created := info.Created.UnixNano()
	switch {
	case r.pos.streamAt == 0:
		r.pos.streamAt = created
		r.pos.seq = max(info.First, 1) - 1
	case r.pos.streamAt != created: // its relay says where to go on, and starts this reader anew
		return nil, Lost("the stream is another one than before")
	case r.pos.seq+1 < info.First: // it was away for longer than the stream remembers
		if err := r.catchUp(ctx, info.First); err != nil {
			return nil, err
		}
	}
	from := From{Stream: r.consumer.Stream, Created: info.Created, Part: r.lease.part, Types: r.consumer.Types, After: r.pos.seq}
	if r.pos.last+1 >= info.First { // else it is gone for its age
		from.After, from.AfterID = r.pos.last, r.pos.lastID
	}
	return r.bus.openSubscription(ctx, from)
}

// load reads how far the reader is and which keys wait.
func (r *reader) load(ctx context.Context) error {
	return r.bus.write(ctx, "bus.load", func(ctx context.Context, tx *sqldb.Tx) error {
		if _, err := r.bus.fence(ctx, tx, r.lease); err != nil {
			return err
		}
		r.pos, r.keys, r.deadKeys, r.due = position{}, map[string]*blockedKey{}, map[string]bool{}, 0
		name, part := r.consumer.Name, r.lease.part
		if _, err := tx.Exec(ctx, `INSERT INTO bus_reader (consumer, part, stream, stream_at, seq, relayed_at, source_id, min_relay,
			last_seq, last_event, pending, at, applied, duplicate, stale, failed)
			VALUES ($1, $2, $3, 0, 0, 0, 0, 0, 0, '', 0, 0, 0, 0, 0, 0)
			ON CONFLICT (consumer, part) DO NOTHING`, name, part, int(r.consumer.Stream)); err != nil {
			return err
		}
		err := tx.Row(ctx, `SELECT stream_at, seq, relayed_at, source_id, min_relay, last_seq, last_event
			FROM bus_reader WHERE consumer = $1 AND part = $2`, name, part).Scan(
			&r.pos.streamAt, &r.pos.seq, &r.pos.relayed, &r.pos.source, &r.pos.minRelay, &r.pos.last, &r.pos.lastID)
		if err != nil {
			return err
		}
		for row, err := range tx.Query(ctx, `SELECT partition_key, tenant_id, state, attempt, next_at, since, next_n, last_version, last_idx
			FROM bus_lane WHERE consumer = $1 AND part = $2`, name, part) {
			if err != nil {
				return err
			}
			var key string
			l := &blockedKey{}
			if err := row.Scan(&key, &l.tenant, &l.state, &l.attempt, &l.nextTry, &l.since, &l.nextNum, &l.last.version, &l.last.index); err != nil {
				return err
			}
			r.keys[key] = l
			r.schedule(l)
		}
		return r.loadDeadKeys(ctx, tx)
	})
}

// note remembers when a lane wants another try.
func (r *reader) schedule(l *blockedKey) {
	if l.state == keyRetrying && (r.due == 0 || l.nextTry < r.due) {
		r.due = l.nextTry
	}
}

// batch is what a feed gave, with each event decoded and checked.
type batch struct {
	items   []item
	upto    uint64 // place of the feed
	pending uint64
}

// item is an event to be taken.
type item struct {
	Message
	event wire.Event
	bad   error // nobody can handle it; nil: it is well formed
}

// pump reads events while the batch before is being taken.
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

// examine decodes and checks a message. Of one that cannot be read, what the carrier
// knows of it stands in for the event, but not a key of another partition: the lane of
// that is another reader's.
func examine(m Message) item {
	it := item{Message: m}
	it.event, it.bad = wire.ParseEvent(m.Body)
	if it.bad == nil {
		it.bad = it.event.CheckReceived()
	}
	e := &it.event
	if it.bad == nil && (e.Tenant != m.Tenant || e.Type != m.Type || wire.Partition(e.Key) != m.Part) {
		it.bad = fault.New(fault.Invalid, wire.CodeEventInvalid, "the event is of tenant %s, type %s and key %s, and its subject says otherwise",
			e.Tenant, e.Type, e.Key)
	}
	if it.bad != nil {
		e.ID, e.Tenant, e.Type, e.Key = m.ID, m.Tenant, m.Type, keyIn(m.Part, m.Key, e.Key)
		it.bad = Permanent(it.bad)
	}
	return it
}

// keyIn is the first key that belongs to a partition; "": none does.
func keyIn(part int, keys ...string) string {
	for _, key := range keys {
		if key != "" && wire.Partition(key) == part {
			return key
		}
	}
	return ""
}

// after is the position behind items that came from the stream.
func (p position) after(items []item) position {
	last := items[len(items)-1]
	p.seq, p.last, p.lastID = last.Seq, last.Seq, last.ID
	if last.Relay.Epoch >= p.minRelay {
		p.relayed, p.source = last.Relay.At, last.Relay.Source
	}
	return p
}
