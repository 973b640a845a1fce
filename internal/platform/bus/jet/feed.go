package jet

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/wire"
)

// How a feed asks for messages.
const (
	window      = 1024            // messages that are asked for ahead
	windowBytes = 8 << 20         // and their bytes, in one request; more than one message has
	pullExpires = 4 * time.Second // a request that was not filled by then is made again
	heartbeat   = time.Second     // how often a consumer without messages gives a sign of life
	silence     = 3 * time.Second // a consumer that is silent for so long is lost
	idleWait    = time.Second     // how long Next waits for a message
	abandoned   = time.Minute     // the server deletes a consumer that is idle for so long

	// surely is how long no stream drops a message for its limits. A feed that is
	// further behind asks whether the stream still begins before its place.
	surely = time.Minute
)

// feed reads a partition through a consumer of the server that is this feed's alone:
// ephemeral, in memory, without acknowledgements. When the consumer is lost, or skips a
// number of its own, the feed makes another one at its place. It does so itself, and
// not through the client's ordered consumer, because that goes on in whatever
// stream has the name, from whatever place it still has.
type feed struct {
	c       *Carrier
	from    bus.From
	sub     *nats.Subscription
	in      chan *nats.Msg
	inbox   string
	created time.Time // of the stream; never changes

	name   string    // of the consumer; "" while there is none
	serial int       // counts consumers
	conns  uint64    // connections that there were when it was made
	broken bool      // it must be made anew
	count  uint64    // messages that it delivered
	asked  int       // messages that were asked for and did not come
	heard  time.Time // when it last gave a sign, or was asked

	upto    uint64
	last    uint64 // sequence of the last message that it delivered
	lastID  string // and its id, by which that is verified; "": none is known
	pending uint64
	safe    time.Time // what follows upto was stored after this
}

// Read opens a feed.
func (c *Carrier) Read(ctx context.Context, from bus.From) (bus.Feed, error) {
	f := &feed{
		c: c, from: from, upto: from.After, last: from.After, lastID: from.AfterID, created: from.Created,
		inbox: c.s.conn.NewInbox(), in: make(chan *nats.Msg, window+64),
	}
	var err error
	if f.sub, err = c.s.conn.ChanSubscribe(f.inbox+".*", f.in); err != nil {
		return nil, fault.Wrap("jet.read", c.classify("a feed cannot be opened", err))
	}
	if err := f.open(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// open makes a consumer at the feed's position. The stream is described after that, so the description is of the stream
// that the consumer is on, or the consumer is dead.
//
// It begins after the last message that it delivered, not where it knew that nothing followed: a stream that lost its
// tail has other messages there now.
func (f *feed) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	f.dropConsumer()
	place := f.upto
	if f.lastID != "" {
		f.upto = f.last
	}
	f.conns = f.c.Connections()
	made, err := f.c.s.stream.CreateConsumer(ctx, f.from.Stream.String(), jetstream.ConsumerConfig{
		FilterSubjects:    f.filters(),
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       f.upto + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: abandoned,
		Replicas:          1,
		MemoryStorage:     true,
	})
	if err != nil {
		return f.explain("a consumer cannot be made", err)
	}
	f.serial++
	f.name, f.broken = made.CachedInfo().Name, false
	first, err := f.look(ctx, place)
	if err == nil && f.lastID != "" && f.last >= first {
		err = f.verifyLast(ctx)
	}
	return err
}

// verifyLast verifies that the last message is still at its sequence.
func (f *feed) verifyLast(ctx context.Context) error {
	m, err := f.c.At(ctx, f.from.Stream, f.last)
	if fault.KindOf(err) == fault.NotFound && err != nil || err == nil && m.ID != f.lastID {
		return fault.Wrap("jet.read", bus.Lost("message %d of stream %s is another one than before", f.last,
			f.from.Stream))
	}
	return err
}

// filters is the subjects that the feed wants.
func (f *feed) filters() (list []string) {
	if len(f.from.Types) == 0 || f.from.Stream == wire.Executions { // which has one type
		return []string{wire.Subject(f.from.Stream, "*", f.from.Part, "*")}
	}
	for _, typ := range f.from.Types {
		list = append(list, wire.Subject(f.from.Stream, "*", f.from.Part, typ))
	}
	return list
}

// look says why a feed cannot continue from a position in the stream as it is now, and gives the sequence of its oldest
// message.
func (f *feed) look(ctx context.Context, place uint64) (first uint64, err error) {
	stream, err := f.c.s.stream.Stream(ctx, f.from.Stream.String())
	if err != nil {
		return 0, f.explain("the stream cannot be looked at", err)
	}
	info := describe(stream.CachedInfo())
	if f.created.IsZero() {
		f.created = info.Created
	}
	switch {
	case !info.Created.Equal(f.created):
		err = bus.Lost("stream %s is of %v, the place of one of %v", f.from.Stream, info.Created, f.created)
	case info.Last < place:
		err = bus.Lost("stream %s ends at %d, before %d", f.from.Stream, info.Last, place)
	case info.First > place+1:
		err = bus.Gap(place, info.First)
	}
	return info.First, fault.Wrap("jet.read", err)
}

// explain makes an error of what the server says about the feed.
func (f *feed) explain(what string, err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fault.Wrap("jet.read", bus.Lost("stream %s is gone", f.from.Stream))
	}
	return fault.Wrap("jet.read", f.c.classify(what, err))
}

// dropConsumer deletes the consumer, here and, if the message arrives, on the server.
func (f *feed) dropConsumer() {
	if f.name != "" {
		_ = f.c.s.conn.Publish(f.api("DELETE"), nil)
	}
	f.name, f.broken, f.count, f.asked = "", true, 0, 0
}

// api is the subject for a question to the consumer.
func (f *feed) api(verb string) string {
	return jetstream.DefaultAPIPrefix + "CONSUMER." + verb + "." + f.from.Stream.String() + "." + f.name
}

// Close ends the feed.
func (f *feed) Close() {
	f.dropConsumer()
	_ = f.sub.Unsubscribe()
}

// Upto is the sequence up to which everything was delivered.
func (f *feed) Upto() uint64 { return f.upto }

// Pending is how many messages followed the last one delivered, when it was sent or as far as they came in since.
func (f *feed) Pending() uint64 { return max(f.pending, uint64(len(f.in))) }
