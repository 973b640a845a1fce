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
	// server sends a sign of life every 15 s.
	silence  = 45 * time.Second
	maxFrame = 16 << 20 // bytes of a line
)

// Stream follows the log of an execution: the events after a seq, then what is
// appended, until the execution has ended. A connection that breaks is opened
// again after the last event that was seen, so each event comes once and in order.
// An error is the last thing that comes.
func (c *Client) Stream(ctx context.Context, id string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &stream{client: c, path: "/executions/" + url.PathEscape(id) + "/stream", last: after, yield: yield}
		if err := s.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

// stream is one Stream under way.
type stream struct {
	client *Client
	path   string
	last   uint64 // seq of the last event that was yielded
	yield  func(Event, error) bool
}

// errStreamDone ends a stream: the execution has ended, or the reader has enough.
var errStreamDone = errors.New("done")

// run connects until the stream is done. What it waits for between two connections
// grows only while they bring nothing.
func (s *stream) run(ctx context.Context) error {
	if s.client.broken != nil {
		return s.client.broken
	}
	failing := time.Now()
	for try := 1; ; try++ {
		server, at := s.client.server()
		before := s.last
		err := s.connect(ctx, server)
		if errors.Is(err, errStreamDone) {
			return nil
		}
		told, answered := errors.AsType[*Error](err)
		if answered && !told.repeatable() {
			return told
		}
		if ctx.Err() != nil {
			return ended(ctx, err)
		}
		if s.last > before {
			try, failing = 1, time.Now()
		}
		s.client.leave(at)
		wait := pause(try, told, len(s.client.servers) > 1)
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
	header := http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {strconv.FormatUint(s.last, 10)}}
	resp, err := s.client.send(ctx, server, &call{method: http.MethodGet, path: s.path}, header)
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
		if !f.take(lines.Bytes()) {
			continue
		}
		if err := s.frame(&f); err != nil {
			return err
		}
		f = frame{}
	}
	if err := lines.Err(); err != nil {
		return noAnswer{err}
	}
	return noAnswer{io.ErrUnexpectedEOF}
}

// frame hands the event of a frame on.
func (s *stream) frame(f *frame) error {
	switch f.name {
	case "":
		return nil // a sign of life
	case "end":
		return errStreamDone
	}
	var ev Event
	if err := json.Unmarshal(f.data, &ev); err != nil {
		return fmt.Errorf("client: a frame of %s: %w", s.path, err)
	}
	if ev.Seq != s.last+1 {
		return &Error{Message: fmt.Sprintf("after event %d came event %d", s.last, ev.Seq)}
	}
	s.last = ev.Seq
	if !s.yield(ev, nil) {
		return errStreamDone
	}
	return nil
}

// frame is a server-sent event in the making.
type frame struct {
	name string
	data []byte
}

// take reads a line and reports whether it ends the frame.
func (f *frame) take(line []byte) bool {
	if len(line) == 0 {
		return true
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		f.name = string(value)
	case "data":
		f.data = append(f.data, value...)
	}
	return false
}
