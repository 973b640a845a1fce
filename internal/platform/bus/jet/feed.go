package jet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

const (
	window      = 1024            // messages requested ahead
	windowBytes = 8 << 20         // of a request; more than any message
	pullExpires = 4 * time.Second // then a request is repeated
	heartbeat   = time.Second     // of an idle consumer
	silence     = 3 * time.Second // after which a consumer is lost
	idleWait    = time.Second     // for a message in Next
	abandoned   = time.Minute     // after which the server deletes an idle consumer

	// No stream drops a message within surely. A feed that lags more checks that the stream still has its position.
	surely = time.Minute
)

// feed reads a partition through a server-side consumer of its own: ephemeral, in memory, without acknowledgements.
// It replaces a consumer that is lost or skips a number. The client's ordered consumer will not do: it goes on in any
// stream of that name, from whatever position that has.
type feed struct {
	c       *Carrier
	from    bus.From
	sub     *nats.Subscription
	in      chan *nats.Msg
	inbox   string
	created time.Time // of the stream, fixed

	name   string    // of the consumer; "": none
	serial int       // of the consumer
	conns  uint64    // connections at its creation
	broken bool      // it must be replaced
	count  uint64    // messages from it
	asked  int       // messages requested and outstanding
	heard  time.Time // last sign of life, or request

	upto    uint64
	last    uint64 // last delivered sequence
	lastID  string // its id, to verify it; "": unknown
	pending uint64
	safe    time.Time // what follows upto is younger
}

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

// open makes a consumer at the feed's position and describes the stream afterwards: it is the consumer's stream, or
// the consumer is dead.
//
// It resumes after the last delivered message, not at upto: a stream that lost its tail has other messages there now.
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

func (f *feed) verifyLast(ctx context.Context) error {
	m, err := f.c.At(ctx, f.from.Stream, f.last)
	if fault.KindOf(err) == fault.NotFound && err != nil || err == nil && m.ID != f.lastID {
		return fault.Wrap("jet.read", bus.Lost("message %d of stream %s is another one than before", f.last,
			f.from.Stream))
	}
	return err
}

func (f *feed) filters() (list []string) {
	if len(f.from.Types) == 0 || f.from.Stream == events.Executions { // it has one type
		return []string{events.Subject(f.from.Stream, "*", f.from.Part, "*")}
	}
	for _, typ := range f.from.Types {
		list = append(list, events.Subject(f.from.Stream, "*", f.from.Part, typ))
	}
	return list
}

// look says why a feed cannot continue from a position, and returns the stream's first sequence.
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

func (f *feed) explain(what string, err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fault.Wrap("jet.read", bus.Lost("stream %s is gone", f.from.Stream))
	}
	return fault.Wrap("jet.read", f.c.classify(what, err))
}

// dropConsumer deletes the consumer here and, at best effort, on the server.
func (f *feed) dropConsumer() {
	if f.name != "" {
		_ = f.c.s.conn.Publish(f.api("DELETE"), nil)
	}
	f.name, f.broken, f.count, f.asked = "", true, 0, 0
}

func (f *feed) api(verb string) string {
	return jetstream.DefaultAPIPrefix + "CONSUMER." + verb + "." + f.from.Stream.String() + "." + f.name
}

func (f *feed) Close() {
	f.dropConsumer()
	_ = f.sub.Unsubscribe()
}

func (f *feed) Upto() uint64 { return f.upto }

// Pending is how many messages followed the last one, as far as known.
func (f *feed) Pending() uint64 { return max(f.pending, uint64(len(f.in))) }

func (f *feed) Next(ctx context.Context, limit int) ([]bus.Message, error) {
	before, safe := f.upto, f.safe
	got, err := f.next(ctx, limit)
	if err == nil && f.upto > before && time.Since(safe) > f.c.surely {
		err = f.verifyPosition(ctx, before)
	}
	if err != nil {
		return nil, unlessEnded(ctx, err)
	}
	return got, nil
}

func (f *feed) next(ctx context.Context, limit int) (got []bus.Message, err error) {
	end := time.Now().Add(idleWait)
	for ctx.Err() == nil {
		if f.broken || f.conns != f.c.Connections() || !f.c.s.conn.IsConnected() {
			if err := f.open(ctx); err != nil {
				return nil, err
			}
		}
		f.ask()
		if got = f.drain(got, limit); len(got) == 0 && !f.broken {
			if !f.await(ctx, end, &got) {
				return nil, nil
			}
			got = f.drain(got, limit)
		}
		if len(got) > 0 {
			f.ask()
			return got, nil
		}
	}
	return nil, nil
}

// unlessEnded drops an error due to the caller's own end.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && fault.KindOf(err) == fault.Unavailable {
		return nil
	}
	return err
}

// ask requests more messages ahead of need, so that they travel while the reader works.
func (f *feed) ask() {
	if f.broken || f.asked > window/2 {
		return
	}
	request := fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"expires":%d,"idle_heartbeat":%d}`,
		window-f.asked, windowBytes, pullExpires.Nanoseconds(), heartbeat.Nanoseconds())
	if err := f.c.s.conn.PublishRequest(f.api("MSG.NEXT"), f.inbox+"."+strconv.Itoa(f.serial), request); err != nil {
		f.broken = true
		return
	}
	f.asked, f.heard = window, time.Now()
}

func (f *feed) drain(got []bus.Message, limit int) []bus.Message {
	for len(got) < limit && !f.broken {
		select {
		case m := <-f.in:
			got = f.accept(m, got)
		default:
			return got
		}
	}
	return got
}

// await waits for a message until end; false: none came. A silent consumer is broken.
func (f *feed) await(ctx context.Context, end time.Time, got *[]bus.Message) bool {
	silent := f.heard.Add(silence)
	wait := time.NewTimer(min(time.Until(end), time.Until(silent)))
	defer wait.Stop()
	select {
	case m := <-f.in:
		*got = f.accept(m, *got)
		return true
	case <-wait.C:
		f.broken = time.Now().After(silent)
		return f.broken
	case <-ctx.Done():
		return false
	}
}

// accept adds a message, or handles a status.
func (f *feed) accept(m *nats.Msg, got []bus.Message) []bus.Message {
	if m.Reply == "" {
		f.handleStatus(m)
		return got
	}
	meta, err := m.Metadata()
	if err != nil || meta.Consumer != f.name {
		return got // of an earlier consumer
	}
	if meta.Sequence.Consumer != f.count+1 || meta.Sequence.Stream <= f.upto {
		f.broken = true
		return got
	}
	f.count++
	f.asked--
	f.heard = time.Now()
	f.upto, f.pending, f.safe = meta.Sequence.Stream, meta.NumPending, meta.Timestamp
	msg, ours := read(f.from.Stream, meta.Sequence.Stream, m.Subject, m.Header, m.Data)
	f.last, f.lastID = msg.Seq, msg.ID
	if !ours {
		f.c.s.log.Warn("a stream has a message that no relay sent; it is passed over", "subject", m.Subject)
		return got
	}
	if len(f.from.Types) > 0 && !slices.Contains(f.from.Types, msg.Type) {
		return got // its subject does not say
	}
	return append(got, msg)
}

// handleStatus handles a heartbeat, the end of a request, or of the consumer.
func (f *feed) handleStatus(m *nats.Msg) {
	if m.Subject != f.inbox+"."+strconv.Itoa(f.serial) {
		return // of an earlier consumer
	}
	f.heard = time.Now()
	number := func(header string) (uint64, bool) {
		n, err := strconv.ParseUint(m.Header.Get(header), 10, 64)
		return n, err == nil
	}
	left, ended := number("Nats-Pending-Messages")
	switch status := m.Header.Get("Status"); {
	case status == "100":
		count, ok1 := number("Nats-Last-Consumer")
		upto, ok2 := number("Nats-Last-Stream")
		if ok1 && ok2 && count == f.count && upto >= f.upto {
			f.upto, f.pending, f.safe = upto, 0, f.heard
		}
	case ended && (status == "408" || status == "409"): // time or size used up
		f.asked -= int(left)
	default: // deleted, moved, or missing
		f.broken = true
	}
}

// verifyPosition verifies, after the feed continued from a position, that nothing in between was dropped.
func (f *feed) verifyPosition(ctx context.Context, place uint64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_, err := f.look(ctx, place)
	return err
}
