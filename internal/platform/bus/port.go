package bus

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

// Message is an event in transit: what a carrier must know, and the body.
type Message struct {
	Stream     events.Stream
	ID         string // eventId
	Tenant     string
	Part       int    // of its key
	Type       string // eventType
	Key        string // partitionKey
	OccurredAt canonical.Stamp
	Service    string // of the producer
	Body       []byte // envelope as JSON
	Relay      Relay

	Seq uint64 // in the stream; set by the carrier on arrival
}

// Relay identifies the publication of a message, so that readers can tell what was sent before and after a loss.
type Relay struct {
	Epoch  int64           // of the partition's relay
	At     canonical.Stamp // published_at, by the database's clock
	Source int64           // id of the row; of the log, the number up to which all was sent before

	// Behind and BehindID are sequence and id of the newest message known to be in the stream at the time of sending;
	// they reveal a stream that lost its tail and grew again. 0 and "": unknown.
	Behind   uint64
	BehindID string
}

type Ack struct {
	Seq uint64 // also of a duplicate
	Err error  // nil: stored. Otherwise it may be stored, now or later
}

type StreamInfo struct {
	Created time.Time // in milliseconds; identifies the stream
	First   uint64    // sequence of the oldest message
	Last    uint64    // highest sequence ever
}

// From is a reader's position in a stream and what it wants from there.
type From struct {
	Stream  events.Stream
	Created time.Time // of the stream of After; zero: any
	Part    int
	Types   []string // empty: all
	After   uint64   // last sequence seen
	AfterID string   // its id; "": unknown, or another message may be there
}

const (
	CodeLost = "BUS_LOST"
	CodeGap  = "BUS_GAP"
)

// Lost is the error, of kind Conflict, of a position that the stream does not have, or not yet again: it is gone,
// another one, or ends before it. Reading on would miss messages; the relay decides what to do.
func Lost(format string, args ...any) error {
	return fault.New(fault.Conflict, CodeLost, format, args...)
}

// Gap is the error, of kind NotFound, of a position after which the stream dropped messages by age or size. The
// outbox still has them.
func Gap(after, first uint64) error {
	return fault.New(fault.NotFound, CodeGap,
		"the stream begins at %d, so what came between %d and that must be taken from the outbox", first, after)
}

// Carrier carries messages from relays to readers. It keeps them for a while and may lose what it acknowledged: the
// database is the record. Unavailable errors may pass.
type Carrier interface {
	// Ensure creates a stream if it does not exist, and describes it. One that cannot serve is a Conflict.
	Ensure(ctx context.Context, s events.Stream) (StreamInfo, error)
	// Publish sends messages of one stream with distinct keys and waits until each is stored or has failed; acks are
	// in their order. A message with the same id and relay epoch within minutes is not stored twice; after a loss,
	// which raises the epoch, it is.
	Publish(ctx context.Context, msgs []Message) []Ack
	// At returns the message at a sequence, Last the newest of a partition, or NotFound.
	At(ctx context.Context, s events.Stream, seq uint64) (Message, error)
	Last(ctx context.Context, s events.Stream, part int) (Message, error)
	// Read opens a feed of the messages after a position, also future ones. It fails with Lost or Gap if the position
	// is invalid, or has another message now.
	Read(ctx context.Context, from From) (Feed, error)
	// Connections counts connections. It rises before anything is acknowledged over a new one; callers then compare
	// the stream with what they knew.
	Connections() uint64
}

// Feed is a stream in order and without gaps, for one goroutine.
type Feed interface {
	// Next waits for messages and returns up to limit of them; none when ctx ends or after about a second. It fails
	// with Lost or Gap rather than skip anything, or as Unavailable. After an error the feed is dead.
	Next(ctx context.Context, limit int) ([]Message, error)
	// Upto is the position up to which all wanted messages were delivered. It rises with the stream, so that an idle
	// reader resumes without a Gap.
	Upto() uint64
	// Pending is about how many messages follow the last one delivered.
	Pending() uint64
	// Close releases the feed.
	Close()
}

// Source is a table whose events are published in the order of their numbers, such as the engine's log, by one relay.
type Source interface {
	// After returns messages after a number, in order, and the number up to which it looked, rows without a message
	// included. It stops before a number that may still appear. Of Relay only Source, the number, is set; all else
	// is.
	After(ctx context.Context, number int64, limit int) (msgs []Message, upto int64, err error)
	// Before returns a number before which no row is as young as an instant.
	Before(ctx context.Context, at canonical.Stamp) (int64, error)
}

// The longest texts of a message, in bytes. A key of any 255 characters fits.
const (
	MaxMessageKey  = 1020
	MaxMessageName = 128
)

// CodeMessage is the code of a message that no carrier takes.
const CodeMessage = "BUS_MESSAGE_INVALID"

// Check says why a message cannot be carried. Tenant and type become tokens of a subject, so they may not contain
// separators or wildcards.
func (m *Message) Check() error {
	bad := func(what, why string) error {
		return fault.New(fault.Invalid, CodeMessage, "the %s of message %q %s", what, m.ID, why)
	}
	for _, t := range [...]struct{ what, text string }{
		{"id", m.ID},
		{"tenant", m.Tenant},
		{"type", m.Type},
		{"service", m.Service},
	} {
		if t.text == "" && t.what != "service" || len(t.text) > MaxMessageName || !plain(t.text) {
			return bad(t.what, "must be text without control characters, up to 128 bytes")
		}
	}
	switch {
	case len(m.Key) > MaxMessageKey || !plain(m.Key):
		return bad("key", "must be text without control characters, up to 1020 bytes")
	case !token(m.Tenant):
		return bad("tenant", "may not hold a space or one of .*>")
	case !token(m.Type):
		return bad("type", "may not hold a space or one of .*>")
	case m.Part < 0 || m.Part >= events.Partitions:
		return bad("partition", "does not exist")
	case len(m.Body) > events.MaxEvent:
		return fault.New(fault.TooLarge, events.CodeEventTooLarge, "message %s has more than %d bytes", m.ID,
			events.MaxEvent)
	}
	return nil
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
		}
	}
	return true
}

func token(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r == '.' || r == '*' || r == '>' || unicode.IsSpace(r) })
}
