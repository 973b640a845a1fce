package test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// collector takes spans over OTLP, as a collector in the network would.
type collector struct {
	t   testing.TB
	url string

	mu    sync.Mutex
	raw   []byte // all that came
	spans []span
}

// span is what tests look at.
type span struct {
	trace, id, parent string
	name              string
	kind              uint64
	began, ended      uint64 // nanoseconds
	attributes        map[string]string
}

func newCollector(t testing.TB) *collector {
	c := &collector{t: t}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// env makes a server send its spans here, soon.
func (c *collector) env() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url, "OTEL_BSP_SCHEDULE_DELAY=100"}
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
		r.Header.Get("Content-Encoding") != "" {
		c.t.Errorf("the collector got %s %s: %v", r.Method, r.URL.Path, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, body...)
	for _, resource := range message(body)[1] {
		for _, scope := range message(resource.bytes)[2] {
			for _, raw := range message(scope.bytes)[2] {
				c.spans = append(c.spans, readSpan(message(raw.bytes)))
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// all are the spans that came so far.
func (c *collector) all() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// everything is what came, as it came.
func (c *collector) everything() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.raw)
}

// readSpan reads opentelemetry.proto.trace.v1.Span.
func readSpan(m map[uint64][]field) span {
	s := span{attributes: map[string]string{}}
	for number, into := range map[uint64]*string{1: &s.trace, 2: &s.id, 4: &s.parent} {
		for _, f := range m[number] {
			*into = hex.EncodeToString(f.bytes)
		}
	}
	for _, f := range m[5] {
		s.name = string(f.bytes)
	}
	for number, into := range map[uint64]*uint64{6: &s.kind, 7: &s.began, 8: &s.ended} {
		for _, f := range m[number] {
			*into = f.number
		}
	}
	for _, f := range m[9] {
		pair := message(f.bytes)
		s.attributes[string(pair[1][0].bytes)] = readValue(message(pair[2][0].bytes))
	}
	return s
}

// readValue reads opentelemetry.proto.common.v1.AnyValue.
func readValue(m map[uint64][]field) string {
	for number, fields := range m {
		switch f := fields[0]; number {
		case 1:
			return string(f.bytes)
		case 2, 3:
			return fmt.Sprint(f.number)
		case 4:
			return fmt.Sprint(math.Float64frombits(f.number))
		}
	}
	return ""
}

// field is one of a protobuf message: a number, or bytes.
type field struct {
	number uint64
	bytes  []byte
}

// message splits a protobuf message into its fields; a malformed one panics.
func message(raw []byte) map[uint64][]field {
	fields := map[uint64][]field{}
	for len(raw) > 0 {
		tag, n := binary.Uvarint(raw)
		raw = raw[n:]
		var f field
		switch tag & 7 {
		case 0:
			f.number, n = binary.Uvarint(raw)
			raw = raw[n:]
		case 1:
			f.number, raw = binary.LittleEndian.Uint64(raw), raw[8:]
		case 2:
			size, n := binary.Uvarint(raw)
			f.bytes, raw = raw[n:n+int(size)], raw[n+int(size):]
		case 5:
			f.number, raw = uint64(binary.LittleEndian.Uint32(raw)), raw[4:]
		}
		fields[tag>>3] = append(fields[tag>>3], f)
	}
	return fields
}
