package jet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

// ackTimeout is the limit of an acknowledgement. Without one, a message may be stored all the same.
const ackTimeout = 5 * time.Second

// acks routes acknowledgements to waves. The client's asynchronous publisher limits all messages in flight, stalls
// beyond, and costs more per message than sending it.
type acks struct {
	mu     sync.Mutex
	sub    *nats.Subscription
	prefix string // of reply subjects: prefix wave "." place
	last   uint64
	waves  map[uint64]*wave
}

type wave struct {
	stream string

	mu   sync.Mutex
	acks []bus.Ack
	open int           // without answer
	done chan struct{} // closed when all have one
}

var errOpen = errors.New("no acknowledgement came in time")

func (c *Carrier) Publish(ctx context.Context, msgs []bus.Message) []bus.Ack {
	if len(msgs) == 0 {
		return nil
	}
	out := make([]bus.Ack, len(msgs))
	for i := range out {
		out[i].Err = errOpen
	}
	w := &wave{stream: msgs[0].Stream.String(), acks: out, open: len(msgs), done: make(chan struct{})}
	n, prefix, err := c.s.acks.begin(c.s.conn, w)
	if err != nil {
		w.fail(c.lost(err))
		return out
	}
	c.send(msgs, w, prefix+strconv.FormatUint(n, 36)+".")
	late := time.NewTimer(ackTimeout)
	defer late.Stop()
	select {
	case <-w.done:
	case <-late.C:
	case <-ctx.Done():
	}
	c.s.acks.end(n)
	w.fail(c.lost(errOpen)) // now out is final
	return out
}

func (c *Carrier) lost(err error) error {
	return fault.Wrap("jet.publish", unavailable("a message was not acknowledged by NATS at "+c.s.place, err))
}

func (c *Carrier) send(msgs []bus.Message, w *wave, reply string) {
	headers := newWriter()
	for i := range msgs {
		m := &msgs[i]
		err := m.Check()
		if err == nil {
			err = c.s.conn.PublishMsg(&nats.Msg{
				Subject: events.Subject(m.Stream, m.Tenant, m.Part, m.Type),
				Reply:   reply + strconv.FormatUint(uint64(i), 36),
				Header:  headers.of(m),
				Data:    m.Body,
			})
			switch {
			case errors.Is(err, nats.ErrMaxPayload):
				err = &fault.Error{
					Kind: fault.TooLarge, Code: events.CodeEventTooLarge,
					Message: "a message is larger than NATS takes", Err: err,
				}
			case err != nil:
				err = c.lost(err)
			}
		}
		if err != nil {
			w.settle(i, bus.Ack{Err: err})
		}
	}
}

func (a *acks) begin(conn *nats.Conn, w *wave) (n uint64, prefix string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sub == nil {
		a.prefix, a.waves = conn.NewInbox()+".", map[uint64]*wave{}
		if a.sub, err = conn.Subscribe(a.prefix+"*.*", a.answer); err != nil {
			return 0, "", err
		}
	}
	a.last++
	a.waves[a.last] = w
	return a.last, a.prefix, nil
}

func (a *acks) end(n uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waves, n)
}

// disconnected fails what is in flight.
func (a *acks) disconnected(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.waves {
		w.fail(err)
	}
}

func (a *acks) answer(m *nats.Msg) {
	number, place, _ := strings.Cut(m.Subject[len(a.prefix):], ".")
	n, err1 := strconv.ParseUint(number, 36, 64)
	i, err2 := strconv.ParseUint(place, 36, 32)
	a.mu.Lock()
	w := a.waves[n]
	a.mu.Unlock()
	if err1 == nil && err2 == nil && w != nil && i < uint64(len(w.acks)) {
		w.settle(int(i), w.read(m))
	}
}

func (w *wave) settle(i int, ack bus.Ack) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.acks[i].Err != errOpen {
		return
	}
	w.acks[i] = ack
	if w.open--; w.open == 0 {
		close(w.done)
	}
}

func (w *wave) fail(err error) {
	for i := range w.acks {
		w.settle(i, bus.Ack{Err: err})
	}
}

// read makes an ack; for a duplicate with the first one's sequence.
func (w *wave) read(m *nats.Msg) bus.Ack {
	if seq, ok := cutAck(m.Data, w.stream); ok {
		return bus.Ack{Seq: seq}
	}
	var answer struct {
		Error  *jetstream.APIError `json:"error"`
		Stream string              `json:"stream"`
		Seq    uint64              `json:"seq"`
	}
	err := json.Unmarshal(m.Data, &answer)
	switch {
	case m.Header.Get("Status") == "503":
		err = unavailable("there is no stream "+w.stream+", or it has no leader", nats.ErrNoResponders)
	case err != nil:
		err = unavailable("NATS gave an answer that cannot be read", err)
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeStreamMessageExceedsMaximum:
		err = &fault.Error{
			Kind: fault.TooLarge, Code: events.CodeEventTooLarge,
			Message: "a message is larger than its stream takes", Err: answer.Error,
		}
	case answer.Error != nil:
		err = unavailable("a message was not stored", answer.Error)
	case answer.Stream != w.stream:
		err = fault.New(fault.Conflict, "NATS_STREAM_UNFIT", "stream %s took a message of stream %s", answer.Stream,
			w.stream)
	default:
		return bus.Ack{Seq: answer.Seq}
	}
	return bus.Ack{Err: fault.Wrap("jet.publish", err)}
}

// cutAck parses the usual answer, {"stream":"NAME","seq":1}, faster than JSON.
func cutAck(data []byte, stream string) (seq uint64, ok bool) {
	text, ok1 := bytes.CutPrefix(data, []byte(`{"stream":"`))
	text, ok2 := bytes.CutPrefix(text, []byte(stream))
	text, ok3 := bytes.CutPrefix(text, []byte(`","seq":`))
	text, ok4 := bytes.CutSuffix(text, []byte("}"))
	seq, err := strconv.ParseUint(string(text), 10, 64)
	return seq, ok1 && ok2 && ok3 && ok4 && err == nil
}
