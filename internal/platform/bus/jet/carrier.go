package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/wire"
)

// The configuration of a new stream. An operator of NATS may change all of it but the subjects,
// the retention and the order; a stream that exists is never changed from here.
const (
	MaxEventsBytes     = 4 << 30            // the business events in the stream; the oldest go first
	MaxExecutionsBytes = 3 << 30            // the engine's events in the stream
	maxAge             = 7 * 24 * time.Hour // of a message; the outbox keeps as long
	repeats            = 20 * time.Second   // how long a repetition is recognised by its id; each costs 150 bytes
	replicas           = 3                  // in a cluster that has as many servers
)

const (
	callTimeout = 3 * time.Second        // of one question to the server
	deleteTime  = 500 * time.Millisecond // in which a server has deleted a stream
)

// Carrier carries messages of the bus over JetStream. Questions about what a stream has
// go to the leader of the stream, never to a replica that may lag: an answer that
// is too old would look like a loss.
type Carrier struct {
	s      *Server
	surely time.Duration  // no stream drops a message that is younger
	known  [2]atomic.Bool // by stream: it was there
	making sync.Mutex     // held while a stream is made
}

// Carrier is the carrier over this server. There is one.
func (s *Server) Carrier() *Carrier { return s.carrier }

// Connections counts the connections that were made to NATS, this one and those before.
func (c *Carrier) Connections() uint64 { return c.s.conn.Stats().Reconnects + 1 }

// Ensure makes a stream if there is none, and describes it.
func (c *Carrier) Ensure(ctx context.Context, s wire.Stream) (bus.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if room := c.s.conn.MaxPayload(); room < wire.MaxEvent+MaxHeader {
		return bus.StreamInfo{}, fault.New(fault.Conflict, "NATS_PAYLOAD_TOO_SMALL",
			"NATS at %s takes messages of %d bytes and must take %d: raise its max_payload", c.s.place, room,
			wire.MaxEvent+MaxHeader)
	}
	stream, err := c.s.stream.Stream(ctx, s.String())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = c.makeOnce(ctx, s)
	}
	if err != nil {
		return bus.StreamInfo{}, fault.Wrap("jet.ensure", c.classify("stream "+s.String()+" cannot be had", err))
	}
	c.known[s].Store(true)
	info := stream.CachedInfo()
	if err := serves(s, info.Config); err != nil {
		return bus.StreamInfo{}, fault.Wrap("jet.ensure", err)
	}
	return describe(info), nil
}

// makeOnce makes a stream that was not there, unless another goroutine was faster. All assignments of a process get
// here at once when it starts: the server reserves the room of a stream while it makes it, so it would refuse all but
// the first for lack of room.
func (c *Carrier) makeOnce(ctx context.Context, s wire.Stream) (jetstream.Stream, error) {
	c.making.Lock()
	defer c.making.Unlock()
	stream, err := c.s.stream.Stream(ctx, s.String())
	if errors.Is(err, jetstream.ErrStreamNotFound) && c.known[s].Load() {
		stream, err = c.ensureAgain(ctx, s)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = c.create(ctx, s)
	}
	return stream, err
}

// ensureAgain asks once more for a stream that was there before, after a while. A server that makes a stream while it
// is still deleting the previous one gives the new one the files of the old, and never acknowledges anything for it.
func (c *Carrier) ensureAgain(ctx context.Context, s wire.Stream) (jetstream.Stream, error) {
	timer := time.NewTimer(deleteTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return c.s.stream.Stream(ctx, s.String())
}

func describe(info *jetstream.StreamInfo) bus.StreamInfo {
	return bus.StreamInfo{
		Created: info.Created.UTC().Truncate(time.Millisecond),
		First:   max(1, info.State.FirstSeq), // 0 of a stream that is new
		Last:    info.State.LastSeq,
	}
}

// subjects are those of a stream.
func subjects(s wire.Stream) string {
	if s == wire.Executions {
		return "renga.execution.*.*"
	}
	return "renga.event.*.*.*"
}

// create makes a stream: with three replicas if the cluster can, else with one.
func (c *Carrier) create(ctx context.Context, s wire.Stream) (jetstream.Stream, error) {
	cfg := jetstream.StreamConfig{
		Name:        s.String(),
		Description: "events of Renga; see docs/events.md",
		Subjects:    []string{subjects(s)},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardOld,
		MaxAge:      maxAge,
		MaxBytes:    MaxEventsBytes,
		Duplicates:  repeats,
		Replicas:    1,
		AllowDirect: true,
	}
	if s == wire.Executions {
		cfg.MaxBytes = MaxExecutionsBytes
	}
	if c.s.conn.ConnectedClusterName() != "" {
		cfg.Replicas = replicas
	}
	made, err := c.s.stream.CreateStream(ctx, cfg)
	if lacksPeers(err) {
		c.s.log.Warn("the NATS cluster has too few servers for a stream with replicas, so it has one copy only",
			"subject", subjects(s), "error", err)
		cfg.Replicas = 1
		made, err = c.s.stream.CreateStream(ctx, cfg)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
		return c.s.stream.Stream(ctx, s.String())
	}
	return made, err
}

// Codes of JetStream that the client has no name for.
const (
	errNoPeers      = 10005 // no suitable peers for placement
	errNoRoom       = 10047 // insufficient storage resources available
	errNoReplicas   = 10074 // replicas > 1 not supported in non-clustered mode
	errNoRoomForAcc = 10002 // resource limits exceeded for account
	errTakenSubject = 10065 // subjects overlap with an existing stream
)

func lacksPeers(err error) bool { return slices.Contains([]int{errNoPeers, errNoReplicas}, code(err)) }

// code is the number that JetStream gives an error, 0 for none.
func code(err error) int {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return int(api.ErrorCode)
	}
	return 0
}

// classify makes an error of what the server, or its absence, says. What an operator
// must repair is a Conflict; everything else may pass.
func (c *Carrier) classify(what string, err error) error {
	switch code(err) {
	case errNoRoom, errNoRoomForAcc:
		return &fault.Error{Kind: fault.Conflict, Code: "NATS_NO_ROOM", Message: what + ": NATS at " + c.s.place +
			" has not the room for it; give JetStream more, or make the stream yourself with smaller limits", Err: err}
	case errTakenSubject:
		return &fault.Error{
			Kind: fault.Conflict, Code: "NATS_STREAM_UNFIT",
			Message: what + ": another stream on NATS at " + c.s.place + " takes its subjects", Err: err,
		}
	}
	return unavailable(what+" from NATS at "+c.s.place, err)
}

// serves says why a stream that somebody else made cannot serve. Messages that vanish
// from its middle would be a gap that nobody notices, so nothing may take them out but
// age and room.
func serves(s wire.Stream, cfg jetstream.StreamConfig) error {
	var wrong []string
	require := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	require(slices.Contains(cfg.Subjects, subjects(s)), "its subjects must hold %s", subjects(s))
	require(cfg.Retention == jetstream.LimitsPolicy, "its retention must be by limits")
	require(cfg.Discard == jetstream.DiscardOld, "it must discard the oldest when it is full")
	require(cfg.MaxMsgsPerSubject <= 0, "it may not limit the messages of a subject")
	require(cfg.MaxMsgSize <= 0 || cfg.MaxMsgSize >= wire.MaxEvent+MaxHeader, "it must take messages of %d bytes",
		wire.MaxEvent+MaxHeader)
	require(!cfg.NoAck && !cfg.Sealed && cfg.Mirror == nil && cfg.SubjectTransform == nil,
		"it may not be sealed, a mirror, without acknowledgements, or transform subjects")
	if len(wrong) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "NATS_STREAM_UNFIT",
		"stream %s cannot be used: %s; change it with `nats stream edit`, or delete it "+
			"and it is made anew and filled from the outbox", s, strings.Join(wrong, ", "))
}

// At gives the message at a place of a stream.
func (c *Carrier) At(ctx context.Context, s wire.Stream, seq uint64) (bus.Message, error) {
	if seq == 0 {
		return bus.Message{}, notFound()
	}
	return c.get(ctx, s, fmt.Appendf(nil, `{"seq":%d}`, seq))
}

// Last gives the newest message of a partition.
func (c *Carrier) Last(ctx context.Context, s wire.Stream, part int) (bus.Message, error) {
	return c.get(ctx, s, fmt.Appendf(nil, `{"last_by_subj":%q}`, wire.Subject(s, "*", part, "*")))
}

func notFound() error {
	return fault.New(fault.NotFound, "BUS_MESSAGE_NOT_FOUND", "the stream has no such message")
}

// get asks the leader of a stream for one message.
func (c *Carrier) get(ctx context.Context, s wire.Stream, request []byte) (bus.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	reply, err := c.s.conn.RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"STREAM.MSG.GET."+s.String(), request)
	if err == nil {
		err = json.Unmarshal(reply.Data, &answer)
	}
	var header nats.Header
	switch {
	case err != nil:
		return bus.Message{}, fault.Wrap("jet.get", c.classify("a message cannot be had", err))
	case answer.Error != nil && (answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound ||
		answer.Error.ErrorCode == jetstream.JSErrCodeStreamNotFound):
		return bus.Message{}, notFound()
	case answer.Error != nil:
		return bus.Message{}, fault.Wrap("jet.get", c.classify("a message cannot be had", answer.Error))
	case len(answer.Message.Header) > 0:
		if header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			header = nil // somebody else's
		}
	}
	m, _ := read(s, answer.Message.Seq, answer.Message.Subject, header, answer.Message.Data)
	return m, nil
}
