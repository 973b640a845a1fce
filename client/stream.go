package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// silence is how long a stream may be still before it is taken for dead: the
	// server sends a heartbeat every 15 s.
	silence  = 45 * time.Second
	maxFrame = 16 << 20 // bytes of a line
)

// Stream follows the log of an execution: the events after a seq, then what is
// appended, until the execution has ended. A connection that breaks is opened
// again after the last event that was seen, so each event comes once and in order.
// An error is the last thing that comes.
func (c Executions) Stream(ctx context.Context, id string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		path := pathOf("/executions/{executionId}/stream", id)
		s := &stream{client: c.transport, path: path, last: strconv.FormatUint(after, 10)}
		s.handle = func(f *frame) error { return handleLogged(s, f, &after, yield) }
		if err := s.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

// stream is a stream of server-sent events under way.
type stream struct {
	client *transport
	path   string
	query  url.Values
	last   string             // id of the last event that was handled; "": none, and it begins as the query says
	handle func(*frame) error // hands an event on and sets last
}

// errStreamDone ends a stream: there is no more, or the reader has enough.
var errStreamDone = errors.New("done")

// run connects until the stream is done. What it waits for between two connections
// grows only while they bring nothing.
func (s *stream) run(ctx context.Context) error {
	if err := s.client.refuses(s.path); err != nil {
		return err
	}
	failing := time.Now()
	for try := 1; ; try++ {
		server, at := s.client.server()
		before := s.last
		err := s.connect(ctx, server)
		if errors.Is(err, errStreamDone) {
			return nil
		}
		refusal, answered := errors.AsType[*Error](err)
		if answered && !refusal.repeatable() {
			return refusal
		}
		if ctx.Err() != nil {
			return ended(ctx, err)
		}
		if s.last != before {
			try, failing = 1, time.Now()
		}
		s.client.leave(at)
		wait := pause(try, refusal, len(s.client.servers) > 1)
		if patience := s.client.cfg.RetryFor; patience >= 0 && time.Since(failing)+wait > patience {
			return fmt.Errorf("client: GET %s: given up: %w", s.path, err)
		}
		if !sleep(ctx, wait) {
			return ended(ctx, err)
		}
	}
}

// connect reads one connection to its end, which is always an error.
func (s *stream) connect(ctx context.Context, server string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dead := time.AfterFunc(s.client.cfg.Timeout, cancel)
	defer dead.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if s.last != "" {
		header.Set("Last-Event-Id", s.last)
	}
	resp, err := s.client.send(ctx, server, &call{method: http.MethodGet, path: s.path, query: s.query}, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNoContent:
		return errStreamDone
	case resp.StatusCode >= 300:
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return noAnswer{err}
		}
		return readError(resp.StatusCode, resp.Header, body)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxFrame)
	var f frame
	for dead.Reset(silence); lines.Scan(); dead.Reset(silence) {
		if !f.parse(lines.Bytes()) {
			continue
		}
		if err := s.handle(&f); err != nil {
			return err
		}
		f = frame{}
	}
	if err := lines.Err(); err != nil {
		return noAnswer{err}
	}
	return noAnswer{io.ErrUnexpectedEOF}
}

// unreadable is a frame that is not what it should be.
func (s *stream) unreadable(err error) error {
	return fmt.Errorf("client: a frame of %s: %w", s.path, err)
}

// handleLogged hands an event of an execution's log on.
func handleLogged(s *stream, f *frame, last *uint64, yield func(Event, error) bool) error {
	switch f.name {
	case "":
		return nil // a heartbeat
	case "end":
		return errStreamDone
	}
	var ev Event
	if err := json.Unmarshal(f.data, &ev); err != nil {
		return s.unreadable(err)
	}
	if ev.Seq != *last+1 {
		return &Error{Message: fmt.Sprintf("after event %d came event %d", *last, ev.Seq)}
	}
	*last = ev.Seq
	s.last = strconv.FormatUint(ev.Seq, 10)
	if !yield(ev, nil) {
		return errStreamDone
	}
	return nil
}

// frame is a server-sent event in the making.
type frame struct {
	id, name string
	data     []byte
}

// parse reads a line and reports whether it ends the frame.
func (f *frame) parse(line []byte) bool {
	if len(line) == 0 {
		return true
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		f.id = string(value)
	case "event":
		f.name = string(value)
	case "data":
		f.data = append(f.data, value...)
	}
	return false
}
