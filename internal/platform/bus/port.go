package bus

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/wire"
)

// Message is an event on its way: what a carrier must know of it, and its text.
type Message struct {
	Stream     wire.Stream
	ID         string // eventId
	Tenant     string
	Part       int    // partition of its key
	Type       string // eventType
	Key        string // partitionKey
	OccurredAt wire.Stamp
	Service    string // of the producer
	Body       []byte // the envelope, as JSON
	Relay      Relay

	Seq uint64 // place in the stream; set by the carrier of a message that arrives
}

// Relay says which relay published a message, when, and where it was found. It travels with
// the message, so that readers can distinguish what was sent before and after a loss.
type Relay struct {
	Epoch  int64      // of the relay of its partition
	At     wire.Stamp // by the database's clock; what published_at says
	Source int64      // id of its row; of the log, the number up to which all was sent before

	// Behind is the sequence of the newest message that the stream was known to have when
	// this one was sent, and BehindID its id. A stream that lost its tail and grew again
	// is recognised by it: 0 and "": none was known.
	Behind   uint64
	BehindID string
}

// Ack is the acknowledgement of a published message.
type Ack struct {
	Seq uint64 // its sequence in the stream, also when it was there already
	Err error  // nil: the stream has it. Else it may have it or get it still
}

// StreamInfo describes a stream as it is now.
type StreamInfo struct {
	Created time.Time // in whole milliseconds; another time means another stream
	First   uint64    // sequence of the oldest message that it has
	Last    uint64    // sequence of the newest that it ever had
}

// From is a position in a stream and what a reader wants from there.
type From struct {
	Stream  wire.Stream
	Created time.Time // of the stream that After is a place of; zero: of whatever stream there is
	Part    int
	Types   []string // empty: all
	After   uint64   // sequence of the last message that it has seen
	AfterID string   // the id of that message; "": it is not known, or another message may be there
}

// The codes of what can be wrong with a position in a stream.
const (
	CodeLost = "BUS_LOST"
	CodeGap  = "BUS_GAP"
)

// Lost is the error of a position that the stream does not have any more, or not yet again: the stream is gone, is
// another one, or ends before it. It is of kind Conflict. Reading on from there would miss messages; what to do is the
// relay's decision.
func Lost(format string, args ...any) error {
	return fault.New(fault.Conflict, CodeLost, format, args...)
}

// Gap is the error of a position after which the stream has dropped messages, for their age or for room. It is of kind
// NotFound. Some of them may have been the reader's; the outbox still has them.
func Gap(after, first uint64) error {
	return fault.New(fault.NotFound, CodeGap,
		"the stream begins at %d, so what came between %d and that must be taken from the outbox", first, after)
}

// Carrier carries messages from relays to readers. It keeps them for a while and may lose what it has acknowledged: the
// record is the database. Errors are of kind Unavailable when the same may work later.
type Carrier interface {
	// Ensure makes sure that a stream exists and describes it. A stream that was there is
	// left as it is; one that cannot serve is an error of kind Conflict.
	Ensure(ctx context.Context, s wire.Stream) (StreamInfo, error)
	// Publish sends messages of one stream that have no key in common, all at once,
	// and waits until each is stored or has failed. The acks are in the messages' order.
	// A message that the stream got within the last minutes, by id and relay epoch, is
	// not stored twice. So after a loss, which raises the epoch, it is stored anew.
	Publish(ctx context.Context, msgs []Message) []Ack
	// At gives the message at a place of a stream, Last the newest of a partition. An
	// error of kind NotFound says that there is none.
	At(ctx context.Context, s wire.Stream, seq uint64) (Message, error)
	Last(ctx context.Context, s wire.Stream, part int) (Message, error)
	// Read opens a feed of the messages after a place, and of those to come. It fails
	// with Lost or Gap when the place is not, or not any more, one to read on from: also
	// when it has another message now.
	Read(ctx context.Context, from From) (Feed, error)
	// Connections counts how often a connection was made. Whoever finds it risen compares
	// what the stream has with what it had. What is acknowledged over a new connection
	// is acknowledged after the count rose.
	Connections() uint64
}

// Feed is what a reader gets of a stream, in order and without a gap. It is used by
// one goroutine.
type Feed interface {
	// Next waits for messages and gives up to limit of those that are there. It returns
	// no message and no error when ctx ends, and when there are none for about a second.
	// It never continues after a gap or in another stream: it fails with Lost or Gap. It
	// may also fail as Unavailable. After any error the feed is of no use any more.
	Next(ctx context.Context, limit int) ([]Message, error)
	// Upto is the place up to which the feed has given everything that was wanted. While
	// nothing is there for the reader it rises with the stream. A reader that goes on
	// from it later is spared a Gap for want of messages.
	Upto() uint64
	// Pending is about how many messages there were after the last one given.
	Pending() uint64
	// Close gives up what it holds.
	Close()
}

// Source is a table of events that are published in the order of their numbers, such as the engine's log. One relay
// reads it.
type Source interface {
	// After gives messages after a number, in order, and the number up to which it
	// looked: rows without a message count too. It stops before a number that may still
	// appear. Relay.Source of a message is its number; Part and everything but the rest
	// of Relay are set.
	After(ctx context.Context, number int64, limit int) (msgs []Message, upto int64, err error)
	// Before gives a number before which no row is as young as an instant.
	Before(ctx context.Context, at wire.Stamp) (int64, error)
}
