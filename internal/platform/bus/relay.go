package bus

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Intervals without a wakeup.
const (
	pollShared   = 500 * time.Millisecond // other processes may commit
	pollAlone    = 5 * time.Second
	compareEvery = 5 * time.Second       // an idle stream
	verifiedFor  = 20 * time.Millisecond // before the next verification
)

// relay publishes a source to a stream while its lease stands. One goroutine uses it.
type relay struct {
	bus    *Bus
	lease  lease
	source string // in bus_relay
	stream events.Stream
	parts  []int // of the stream

	state      relayState      // committed
	tail       checkpoint      // newest acknowledged message; only Seq and Event
	at         canonical.Stamp // published_at of the newest batch
	loaded     bool
	seen       uint64 // connections at the last comparison
	gapReports uint64 // gaps found until then
	compared   time.Time
	verifiedAt time.Time // when the stream had all that it acknowledged
	outage     outage

	// Of the log:
	next    int64      // number after which to read
	pending []Message  // read, not acknowledged
	upto    int64      // next, once nothing is pending
	top     checkpoint // newest acknowledged, not committed
	unnoted int        // messages acknowledged, not committed
	noted   time.Time
	began   time.Time // the last read
	full    bool      // the last read left more
}

// relayState is a row of bus_relay: what a relay must know after a restart.
type relayState struct {
	epoch       int64 // rises with every loss
	streamAt    int64 // creation in nanoseconds
	last        checkpoint
	checkpoints checkpoints // before last, oldest first
	window      window
}

// window is a part of the outbox to publish again, until pos is to.
type window struct {
	pos, to int64           // last published row, last row
	since   canonical.Stamp // earlier publications are not in it
}

func newRelay(b *Bus, l lease, source string, s events.Stream, parts ...int) *relay {
	return &relay{bus: b, lease: l, source: source, stream: s, parts: parts, outage: outage{bus: b, lease: l}}
}

// run takes turns until ctx ends or the lease is lost. turn returns how long to rest without a wakeup.
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

// wait returns after d, on a wakeup, or when ctx ends.
func wait(ctx context.Context, d time.Duration, woken <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-woken:
	case <-ctx.Done():
	}
}

func (r *relay) poll() time.Duration {
	if queriesOf(r.bus.db).shared {
		return pollShared
	}
	return pollAlone
}

// ready loads the state and verifies the stream before anything is published.
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

// verifyBeforeSend verifies the stream unless it just was: after a loss, messages would be out of order.
func (r *relay) verifyBeforeSend(ctx context.Context) (bool, error) {
	if time.Since(r.verifiedAt) < verifiedFor {
		return true, nil
	}
	return r.verifyAfterSend(ctx)
}

// begin is the time of a new batch. It always rises, so that it orders batches.
func (r *relay) begin(now canonical.Stamp) canonical.Stamp {
	r.at = canonical.NextStamp(r.at, now)
	return r.at
}

// outage is a time without progress. Its begin and end are logged, not every try.
type outage struct {
	bus   *Bus
	lease lease
	began time.Time
	pause time.Duration
}

const (
	firstPause = 10 * time.Millisecond // then doubled
	maxPause   = 2 * time.Second
)

// note records the outcome of a turn and returns a pause.
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

// write runs fn in a transaction under the lease, or fails with errLeaseLost. It finishes even if ctx ends.
func (r *relay) write(
	ctx context.Context, op string, fn func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error,
) error {
	return r.bus.write(context.WithoutCancel(ctx), op, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := r.bus.fence(ctx, tx, r.lease)
		if err != nil {
			return err
		}
		return fn(ctx, tx, now)
	})
}

// found separates NotFound from other errors.
func found(err error) (bool, error) {
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}
