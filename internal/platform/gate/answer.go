package gate

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
)

// seconds is a duration as Retry-After has it: whole seconds, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// write sends the reply, or the error in the shape of the surface, unless its time has run
// out and that was answered.
func (x *exchange) write(ctx context.Context, reply Reply, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.answered {
		return
	}
	x.answered, x.ended = true, x.gate.now()
	if x.streamed() {
		x.status, x.err = x.stream.status, err
		return
	}
	if errors.Is(err, errGone) {
		x.status, x.err = statusGone, nil
		return
	}
	raw, kind := reply.Raw, reply.Type
	if err == nil && raw == nil && reply.Body != nil {
		raw, err = json.Marshal(reply.Body, json.Deterministic(true))
	}
	size := len(raw)
	if err == nil {
		for name, values := range reply.Header {
			x.w.Header()[name] = values
		}
		raw = compressed(raw, x.w.Header(), x.r.Header)
	}
	x.yield() // a caller that reads slowly holds up nobody
	if x.route != nil {
		x.route.large.note(x.call.Principal.Tenant, size, x.ended)
	}
	if err != nil {
		x.refuse(err)
		return
	}
	x.status = reply.Status
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.send(kind, raw)
}

// refuse answers with an error.
func (x *exchange) refuse(err error) {
	p := x.surface.Problem(err)
	x.status, x.code = p.Status, p.Code
	if p.Status >= 500 {
		x.err = err
	}
	if p.Kind == fault.Internal {
		p.Details = map[string]string{"correlationId": x.call.CorrelationID}
	}
	h := x.w.Header()
	if p.RetryAfter > 0 {
		h.Set("Retry-After", seconds(p.RetryAfter))
	}
	if p.Kind == fault.RateLimited && h.Get("X-Ratelimit-Limit") == "" {
		tellLimit(h, &p)
	}
	if x.surface.Reasons {
		SetReason(h, p.Reason)
	}
	if p.Kind == fault.TooLarge || errors.Is(err, errClient) {
		h.Set("Connection", "close") // what was not read must not be taken for a request
	}
	early := p.Kind == fault.TooLarge && x.duplex()
	x.send("", x.surface.Render(p))
	if early {
		x.drain()
	}
}

// tellLimit sets the headers of a limit on a refusal because too much is under way at a time;
// its details say how much may be.
func tellLimit(h http.Header, p *Problem) {
	limit := 1
	if details, ok := p.Details.(map[string]int); ok {
		limit = max(limit, details[fault.Limit])
	}
	h.Set("X-Ratelimit-Limit", strconv.Itoa(limit))
	h.Set("X-Ratelimit-Remaining", "0")
	h.Set("X-Ratelimit-Reset", seconds(p.RetryAfter))
}

func (x *exchange) send(kind string, raw []byte) {
	h := x.w.Header()
	switch {
	case kind != "": // also of nothing: an empty file is a file
		h["Content-Type"] = []string{kind}
	case len(raw) > 0:
		h["Content-Type"] = typeJSON
	}
	if x.status != http.StatusNoContent && x.status != http.StatusNotModified {
		h["Content-Length"] = []string{strconv.Itoa(len(raw))}
	}
	x.w.WriteHeader(x.status)
	if len(raw) > 0 {
		_, _ = x.w.Write(raw) // a caller that went away gets no answer
	}
}

// streamed reports whether the handler has begun to answer by itself.
func (x *exchange) streamed() bool { return x.stream != nil && x.stream.status != 0 }

// stream is the writer of a streaming handler; it remembers the status.
type stream struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status and sends it.
func (s *stream) WriteHeader(status int) {
	if s.status == 0 && status >= 200 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *stream) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController flush.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }
