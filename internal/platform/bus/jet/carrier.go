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
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

// The configuration of a new stream. An operator may change all but the subjects, the retention and the order; an
// existing stream is never changed from here.
const (
	MaxEventsBytes     = 4 << 30            // of business events; the oldest go first
	MaxExecutionsBytes = 3 << 30            // of the engine's events
	maxAge             = 7 * 24 * time.Hour // as in the outbox
	repeats            = 20 * time.Second   // dedupe window; each id costs 150 bytes
	replicas           = 3                  // if the cluster has as many servers
)

const (
	callTimeout = 3 * time.Second        // of a request to the server
	deleteTime  = 500 * time.Millisecond // for a server to delete a stream
)

// Carrier is a bus.Carrier over JetStream. It asks the leader about a stream, never a replica, whose lag would look
// like a loss.
type Carrier struct {
	s      *Server
	surely time.Duration  // younger messages are never dropped
	known  [2]atomic.Bool // by stream: it existed
	making sync.Mutex     // held while a stream is made
}

func (s *Server) Carrier() *Carrier { return s.carrier }

func (c *Carrier) Connections() uint64 { return c.s.conn.Stats().Reconnects + 1 }

func (c *Carrier) Ensure(ctx context.Context, s events.Stream) (bus.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if room := c.s.conn.MaxPayload(); room < events.MaxEvent+MaxHeader {
		return bus.StreamInfo{}, fault.New(fault.Conflict, "NATS_PAYLOAD_TOO_SMALL",
			"NATS at %s takes messages of %d bytes and must take %d: raise its max_payload", c.s.place, room,
			events.MaxEvent+MaxHeader)
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

// makeOnce makes a missing stream. All assignments of a starting process get here at once, and the server reserves a
// stream's space while it makes it, so it would refuse all but the first.
func (c *Carrier) makeOnce(ctx context.Context, s events.Stream) (jetstream.Stream, error) {
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

// ensureAgain asks for a known stream once more, later: a server that makes a stream while it deletes the previous
// one reuses its files and never acknowledges anything.
func (c *Carrier) ensureAgain(ctx context.Context, s events.Stream) (jetstream.Stream, error) {
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
		First:   max(1, info.State.FirstSeq), // 0 if new
		Last:    info.State.LastSeq,
	}
}

func subjects(s events.Stream) string {
	if s == events.Executions {
		return "renga.execution.*.*"
	}
	return "renga.event.*.*.*"
}

// create makes a stream, with replicas if the cluster can.
func (c *Carrier) create(ctx context.Context, s events.Stream) (jetstream.Stream, error) {
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
	if s == events.Executions {
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
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process won
		return c.s.stream.Stream(ctx, s.String())
	}
	return made, err
}

// JetStream error codes without a name in the client, by their descriptions.
const (
	errNoPeers      = 10005 // no suitable peers for placement
	errNoRoom       = 10047 // insufficient storage resources available
	errNoReplicas   = 10074 // replicas > 1 not supported in non-clustered mode
	errNoRoomForAcc = 10002 // resource limits exceeded for account
	errTakenSubject = 10065 // subjects overlap with an existing stream
)

func lacksPeers(err error) bool { return slices.Contains([]int{errNoPeers, errNoReplicas}, code(err)) }

// code is JetStream's error code; 0: none.
func code(err error) int {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return int(api.ErrorCode)
	}
	return 0
}

// classify classifies a server's error. What an operator must repair is a Conflict, everything else may pass.
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

// serves says why an existing stream cannot serve. Only age and size may remove messages: one missing in the middle
// would go unnoticed.
func serves(s events.Stream, cfg jetstream.StreamConfig) error {
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
	require(cfg.MaxMsgSize <= 0 || cfg.MaxMsgSize >= events.MaxEvent+MaxHeader, "it must take messages of %d bytes",
		events.MaxEvent+MaxHeader)
	require(!cfg.NoAck && !cfg.Sealed && cfg.Mirror == nil && cfg.SubjectTransform == nil,
		"it may not be sealed, a mirror, without acknowledgements, or transform subjects")
	if len(wrong) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "NATS_STREAM_UNFIT",
		"stream %s cannot be used: %s; change it with `nats stream edit`, or delete it "+
			"and it is made anew and filled from the outbox", s, strings.Join(wrong, ", "))
}

func (c *Carrier) At(ctx context.Context, s events.Stream, seq uint64) (bus.Message, error) {
	if seq == 0 {
		return bus.Message{}, notFound()
	}
	return c.get(ctx, s, fmt.Appendf(nil, `{"seq":%d}`, seq))
}

func (c *Carrier) Last(ctx context.Context, s events.Stream, part int) (bus.Message, error) {
	return c.get(ctx, s, fmt.Appendf(nil, `{"last_by_subj":%q}`, events.Subject(s, "*", part, "*")))
}

func notFound() error {
	return fault.New(fault.NotFound, "BUS_MESSAGE_NOT_FOUND", "the stream has no such message")
}

// get asks the leader for a message.
func (c *Carrier) get(ctx context.Context, s events.Stream, request []byte) (bus.Message, error) {
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
			header = nil // foreign
		}
	}
	m, _ := read(s, answer.Message.Seq, answer.Message.Subject, header, answer.Message.Data)
	return m, nil
}
