package httpapi

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

const (
	defaultHeartbeat = 15 * time.Second
	streamPage       = 100              // events that are read at once
	frameTimeout     = 30 * time.Second // for a client to take a frame
)

var heartbeatFrame = []byte(": still here\n\n")

// stream answers GET /executions/{executionId}/stream: the log from where the
// client left off, then what is appended, until the execution has ended. With
// commands it goes on after that.
func (a *API) stream(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "lastEventId", "commands")
	commands := q.Bool("commands")
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	if commands != nil && *commands {
		return followCommands(ctx, &a.cfg, c, id)
	}
	last, err := lastEventID(c, "commands")
	if err != nil {
		return gate.Reply{}, err
	}
	// Watch before the first read: what is committed in between wakes us.
	wake, stop := a.cfg.Reads.Watch(id)
	defer stop()
	status, newest, err := a.cfg.Reads.Head(ctx, c.Principal.Tenant, id)
	if err != nil {
		return gate.Reply{}, err
	}
	switch {
	case status.Terminal() && last >= newest:
		return gate.Reply{Status: http.StatusNoContent}, nil
	case last > newest:
		return gate.Reply{}, rest.Invalid("Last-Event-ID",
			"Last-Event-ID lies beyond the log, which ends with event %d", newest)
	}
	s := &follower{
		reads: a.cfg.Reads, tenant: c.Principal.Tenant, id: id, last: last,
		status: status, heartbeat: a.cfg.Heartbeat, upto: newest, turn: c.Turn,
		out: c.Stream, control: http.NewResponseController(c.Stream), log: a.cfg.Log, stalled: a.cfg.Stalled,
	}
	s.next = s.events
	sendEvents(c)
	return gate.Reply{}, s.run(ctx, wake)
}

// sendEvents makes an answer a stream of server-sent events.
func sendEvents(c *gate.Call) {
	header := c.Stream.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // proxies that honour it must not hold frames back
}

// lastEventID is where a client left off: its header, or else the query, which may have other parameters.
func lastEventID(c *gate.Call, others ...string) (uint64, error) {
	q := rest.ReadQuery(c, append(others, "lastEventId")...)
	last := q.Int("lastEventId", 0, math.MaxInt, 0)
	if header := c.Request.Header.Get("Last-Event-ID"); header != "" {
		n, err := strconv.ParseInt(header, 10, 64)
		if err != nil || n < 0 || header[0] == '+' {
			return 0, rest.Invalid("Last-Event-ID", "Last-Event-ID must be the sequence number of an event")
		}
		last = int(n)
	}
	return uint64(last), q.Err
}

// follower sends one execution's log to one client.
type follower struct {
	reads     Reads
	tenant    string
	id        flow.ID
	last      uint64                                             // seq of the last event that was sent
	upto      uint64                                             // seq of the last event that there was when it began
	turn      func(ctx context.Context, part func() error) error // see gate.Call.Turn
	status    flow.Status                                        // as of that event, once it is terminal
	heartbeat time.Duration
	out       http.ResponseWriter
	control   *http.ResponseController
	frame     []byte
	pace      pace // of this round
	log       *slog.Logger
	stalled   func() // counts a frame that was held up

	// next puts what follows into the frame; 0: nothing does.
	next func(ctx context.Context) (oldest flow.Time, err error)
}

// run sends until the execution has ended, the client has gone or ctx ends. Once
// a byte was sent an error can only close the stream; the client comes again.
func (s *follower) run(ctx context.Context, wake <-chan struct{}) error {
	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	if err := s.write([]byte(": execution " + s.id.String() + "\n\n")); err != nil {
		return nil
	}
	for {
		sent, err := s.catchUp(ctx)
		if err != nil {
			return gone(ctx, err)
		}
		s.explain()
		if s.status.Terminal() {
			_ = s.write([]byte(`event: end` + "\n" + `data: {"status":"` + s.status.String() + `"}` + "\n\n"))
			return nil
		}
		if sent {
			beat.Reset(s.heartbeat)
		}
		idle := time.Now()
		select {
		case <-wake:
			s.pace = pace{idle: idle, began: time.Now()}
		case <-beat.C:
			s.pace = pace{idle: idle, began: time.Now()}
			if err := s.write(heartbeatFrame); err != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// gone is err, unless it is only that the client or the server is leaving.
func gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fault.Wrap("httpapi.stream", err)
}

// catchUp sends everything that the log holds and was not sent.
func (s *follower) catchUp(ctx context.Context) (sent bool, err error) {
	for {
		began := time.Now()
		s.frame = s.frame[:0]
		oldest, err := s.next(ctx)
		s.pace.read += time.Since(began)
		if err != nil || oldest == 0 {
			return sent, err
		}
		if s.pace.oldest == 0 {
			s.pace.oldest = oldest
		}
		began = time.Now()
		if err := s.write(s.frame); err != nil {
			return sent, err
		}
		s.pace.wrote += time.Since(began)
		sent = true
	}
}

// events puts the next events into the frame.
func (s *follower) events(ctx context.Context) (oldest flow.Time, err error) {
	var events []flow.Event
	err = s.inTurn(ctx, s.upto > s.last+streamPage, func() (err error) {
		events, _, err = s.reads.Events(ctx, s.tenant, s.id, s.last+1, streamPage)
		return err
	})
	if err != nil || len(events) == 0 {
		return 0, err
	}
	for i := range events {
		if s.frame, err = appendFrame(s.frame, &events[i]); err != nil {
			return 0, err
		}
		s.note(&events[i])
	}
	return events[0].At, nil
}

// inTurn reads; when there is much to read, in turn with the heavy requests of the tenant.
func (s *follower) inTurn(ctx context.Context, much bool, read func() error) error {
	if much {
		return s.turn(ctx, read)
	}
	return read()
}

// note remembers that an event was sent, and whether the execution has ended with it.
func (s *follower) note(ev *flow.Event) {
	s.last = ev.Seq
	switch ev.Type {
	case flow.ExecutionCompletedType:
		s.status = flow.Completed
	case flow.ExecutionFailedType:
		s.status = flow.Failed
	case flow.ExecutionCanceledType:
		s.status = flow.Canceled
	}
}

// appendFrame writes an event as a server-sent event. An envelope is one line.
func appendFrame(dst []byte, ev *flow.Event) ([]byte, error) {
	dst = append(dst, "id: "...)
	dst = strconv.AppendUint(dst, ev.Seq, 10)
	dst = append(dst, "\nevent: "...)
	dst = append(dst, ev.Type.String()...)
	dst = append(dst, "\ndata: "...)
	dst, err := flow.AppendEnvelope(dst, ev)
	return append(dst, "\n\n"...), err
}

// write sends a frame. A client that does not take it in time is gone.
func (s *follower) write(frame []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(frameTimeout)); err != nil {
		return err
	}
	if _, err := s.out.Write(frame); err != nil {
		return err
	}
	return s.control.Flush()
}
