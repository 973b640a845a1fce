package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/workflow/flow"
)

// tailEvery is how often the outbox is looked at for a client that has all of it.
const tailEvery = 200 * time.Millisecond

// tail answers GET /events/stream: the tenant's events from where the client left off
// or from an instant on, else those to come, for as long as the client stays.
func (a *API) tail(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := query{rest.ReadQuery(c, "eventType", "key", "from", "lastEventId")}
	f := q.eventFilter(c.Principal.Tenant)
	from := bus.TailFrom{At: canonical.Stamp(q.Instant("from")), Place: q.position(c)}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	sealed, err := a.positions(ctx, c)
	if err != nil {
		return gate.Reply{}, err
	}
	if from.Place != nil && *from.Place > 0 {
		*from.Place, _ = sealed.Place(*from.Place)
	}
	var tail *bus.Tail
	err = c.Turn(ctx, func() (err error) {
		tail, err = a.cfg.Events.Tail(ctx, f, from)
		return err
	})
	if err != nil {
		return gate.Reply{}, err
	}
	sendEvents(c)
	s := &tailer{tail: tail, sealed: sealed, follower: follower{
		out: c.Stream, control: http.NewResponseController(c.Stream), heartbeat: a.cfg.Heartbeat,
		tenant: c.Principal.Tenant, log: a.cfg.Log, stalled: a.cfg.Stalled, turn: c.Turn,
	}}
	return gate.Reply{}, s.run(ctx)
}

// position is where a client left off: its header, or else the query; nil when it says
// neither, 0 before everything. A query that is none is refused, whatever the header says.
func (q query) position(c *gate.Call) *int64 {
	var position *int64
	read := func(name, text string) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > seal.MaxPosition || text[0] == '+' {
			q.Fail(name, "%s must be the position of an event", name)
		}
		position = &n
	}
	if text, given := q.Text("lastEventId"); given {
		read("lastEventId", text)
	}
	if header := c.Request.Header.Get("Last-Event-ID"); header != "" {
		read("Last-Event-ID", header)
	}
	return position
}

// tailer sends a tenant's events to one client.
type tailer struct {
	follower
	tail   *bus.Tail
	sealed *seal.Sealer
	begun  bool // the first page was read
}

// run sends until the client has gone or ctx ends. A sign of life tells the place too,
// so that a client for whom nothing happened need not begin anew.
func (s *tailer) run(ctx context.Context) error {
	if err := s.write([]byte(": events\n\n")); err != nil {
		return nil
	}
	look, quiet := time.NewTicker(tailEvery), time.Now()
	defer look.Stop()
	for {
		sent, err := s.catchUp(ctx)
		switch {
		case err != nil:
			return gone(ctx, err)
		case sent:
			quiet = time.Now()
		case time.Since(quiet) >= s.heartbeat:
			quiet = time.Now()
			if err := s.write(fmt.Appendf(nil, ": still here\nid: %d\n\n", s.sealed.Mark(s.tail.Place()))); err != nil {
				return nil
			}
		}
		s.explain()
		select {
		case <-look.C:
			s.pace = pace{began: time.Now()}
		case <-ctx.Done():
			return nil
		}
	}
}

// catchUp sends everything that the outbox has and was not sent.
func (s *tailer) catchUp(ctx context.Context) (sent bool, err error) {
	for more := false; ; {
		began := time.Now()
		var events []bus.TailEvent
		events, more, err = s.page(ctx, more)
		s.pace.read += time.Since(began)
		if err != nil {
			return sent, err
		}
		s.frame = s.frame[:0]
		for i := range events {
			s.frame = appendTailFrame(s.frame, &events[i], s.sealed)
		}
		if len(events) > 0 {
			sent, s.pace.oldest = true, flow.At(began)
			began = time.Now()
			if err := s.write(s.frame); err != nil {
				return sent, err
			}
			s.pace.wrote += time.Since(began)
		}
		if !more {
			return sent, nil
		}
	}
}

// page reads the next events.
func (s *tailer) page(ctx context.Context, many bool) (events []bus.TailEvent, more bool, err error) {
	read := func() (err error) {
		events, more, err = s.tail.Next(ctx)
		return err
	}
	many, s.begun = many || !s.begun, true
	err = s.inTurn(ctx, many, read)
	return events, more, err
}

// appendTailFrame writes an event of the outbox as a server-sent event.
func appendTailFrame(dst []byte, e *bus.TailEvent, sealed *seal.Sealer) []byte {
	dst = strconv.AppendInt(append(dst, "id: "...), sealed.Position(e.ID), 10)
	dst = append(append(dst, "\nevent: "...), e.EventType...)
	body := jsontext.Value(e.Body)
	if bytes.ContainsAny(body, "\r\n") { // a frame has one line
		_ = body.Compact() // it was checked when it was published
	}
	return append(append(append(dst, "\ndata: "...), body...), "\n\n"...)
}
