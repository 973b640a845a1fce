package bus

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// How often relays poll without a wakeup.
const (
	pollShared   = 500 * time.Millisecond // for what other processes have committed
	pollAlone    = 5 * time.Second        // when there is no other process
	compareEvery = 5 * time.Second        // at a stream that nothing is sent to
	verifiedFor  = 20 * time.Millisecond  // after which a stream is verified again before something is sent
)

// relay publishes what a source has to a stream, for as long as its lease stands. One goroutine uses it.
type relay struct {
	bus    *Bus
	lease  lease
	source string // names its row of bus_relay
	stream wire.Stream
	parts  []int // of the stream that it serves

	state      relayState // what its row says
	tail       checkpoint // the newest message acknowledged, committed or not; only Seq and Event
	at         wire.Stamp // of the newest batch, as published_at says it
	loaded     bool
	seen       uint64    // connections of the carrier when the stream was last compared
	gapReports uint64    // gaps that readers of this process had found then
	compared   time.Time // when that was
	verifiedAt time.Time // when the stream was last known to have what it acknowledged
	outage     outage

	// Of the log:
	next    int64      // the number after which it is read next
	pending []Message  // what was read and is not acknowledged
	upto    int64      // the number that next becomes when nothing is pending
	top     checkpoint // the newest that was acknowledged and is not noted yet
	unnoted int        // how many were
	noted   time.Time
	began   time.Time // the last time that it was read
	full    bool      // there was more of it then
}

// relayState is a row of bus_relay: what a relay must know of its stream after a
// restart, here or elsewhere.
type relayState struct {
	epoch       int64 // rises with every loss
	streamAt    int64 // when the stream was created, in nanoseconds
	last        checkpoint
	checkpoints checkpoints // before last, oldest first
	window      window
}

// window is a part of the outbox that is published again. It is done when pos is to.
type window struct {
	pos, to int64      // the row that was published last, and the last one
	since   wire.Stamp // rows that were published before are not in it
}

func newRelay(b *Bus, l lease, source string, s wire.Stream, parts ...int) *relay {
	return &relay{bus: b, lease: l, source: source, stream: s, parts: parts, outage: outage{bus: b, lease: l}}
}

// run takes turns until ctx ends or the lease is lost. turn says how long there is nothing to do without a wakeup.
func (r *relay) run(ctx context.Context, turn func(context.Context) (time.Duration, error)) error {
	wake := r.bus.wakes.of(r.lease.assignment)
	for ctx.Err() == nil {
		rest, err := turn(ctx)
		if errors.Is(err, errLeaseLost) {
			return err
		}
		woken := wake
		if pause := r.outage.note(ctx, err); pause > 0 {
			rest, woken = pause, nil
		}
		if rest > 0 {
			wait(ctx, rest, woken)
		}
	}
	return nil
}

// wait returns after d, when woken gives something, or when ctx ends.
func wait(ctx context.Context, d time.Duration, woken <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-woken:
	case <-ctx.Done():
	}
}

// poll is how long a relay rests without a wakeup.
func (r *relay) poll() time.Duration {
	if r.bus.queries().shared {
		return pollShared
	}
	return pollAlone
}

// ready makes sure that the relay knows its state and that the stream is intact, before anything is published.
func (r *relay) ready(ctx context.Context) error {
	if !r.loaded {
		if err := r.load(ctx); err != nil {
			return err
		}
	}
	if r.seen != r.bus.carrier.Connections() || r.gapReports != r.bus.gapReports.Load() ||
		time.Since(r.compared) > compareEvery {
		return r.compare(ctx)
	}
	return nil
}

// verifyBeforeSend verifies the stream unless that was just done: messages sent to one that lost something are out of
// order.
func (r *relay) verifyBeforeSend(ctx context.Context) (bool, error) {
	if time.Since(r.verifiedAt) < verifiedFor {
		return true, nil
	}
	return r.verifyAfterSend(ctx)
}

// begin is the time of a new batch. It rises from batch to batch, whatever the clock says, so that batches can be
// ordered by it.
func (r *relay) begin(now wire.Stamp) wire.Stamp {
	r.at = wire.NextStamp(r.at, now)
	return r.at
}

// outage is a time in which a relay makes no progress. Its beginning and its end are logged, not every try.
type outage struct {
	bus   *Bus
	lease lease
	began time.Time
	pause time.Duration
}

const (
	firstPause = 10 * time.Millisecond // after a turn that failed; twice as long each time
	maxPause   = 2 * time.Second
)

// note takes the outcome of a turn and says how long to wait before the next one; 0: not at all.
func (o *outage) note(ctx context.Context, err error) time.Duration {
	if err == nil || ctx.Err() != nil {
		if o.pause > 0 && err == nil {
			o.bus.log.Info("events are published again", "post", o.lease.String(), "ms",
				time.Since(o.began).Milliseconds())
			o.pause = 0
		}
		return 0
	}
	if o.pause == 0 {
		o.bus.log.Warn("events cannot be published", "post", o.lease.String(), "error", err)
		o.began, o.pause = time.Now(), firstPause/2
	} else {
		o.bus.log.Debug("events cannot be published yet", "post", o.lease.String(), "error", err)
	}
	o.pause = min(2*o.pause, maxPause)
	return o.pause/2 + rand.N(o.pause/2)
}

// write runs fn in a transaction of the relay: its lease stands, or it fails with
// errLeaseLost. What has begun is finished also when ctx ends.
func (r *relay) write(
	ctx context.Context, op string, fn func(ctx context.Context, tx *sqldb.Tx, now wire.Stamp) error,
) error {
	err := r.bus.write(context.WithoutCancel(ctx), op, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := r.bus.fence(ctx, tx, r.lease)
		if err != nil {
			return err
		}
		return fn(ctx, tx, now)
	})
	return err
}

// found distinguishes what does not exist from what cannot be asked for.
func found(err error) (bool, error) {
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}
