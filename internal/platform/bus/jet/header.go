package jet

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
)

// MaxHeader is the room for a message's headers.
const MaxHeader = 8 << 10

// The headers: CloudEvents in binary mode, and our own.
const (
	ceVersion = "ce-specversion"
	ceID      = "ce-id"
	ceSource  = "ce-source"
	ceType    = "ce-type"
	ceTime    = "ce-time"
	ceSubject = "ce-subject"
	ceContent = "ce-datacontenttype"
	ceTenant  = "ce-tenantid"
	content   = "content-type"
	relayed   = "Renga-Relay"

	sourcePrefix = "/renga/"
	mediaType    = "application/json"
)

// writer makes headers, each valid until the next.
type writer struct {
	header nats.Header
	values [8]string // the headers point here
}

func newWriter() *writer {
	w := &writer{header: nats.Header{
		ceVersion: {"1.0"},
		ceContent: {mediaType},
		content:   {mediaType},
	}}
	for i, k := range [len(w.values)]string{
		nats.MsgIdHdr, ceID, ceSource, ceTime, ceSubject, relayed, ceType,
		ceTenant,
	} {
		w.header[k] = w.values[i : i+1 : i+1]
	}
	return w
}

// of makes the headers of a message. Duplicates are detected by id and relay epoch: after a loss, which raises the
// epoch, the stream must accept messages again, since readers ignore earlier epochs.
func (w *writer) of(m *bus.Message) nats.Header {
	epoch := strconv.FormatInt(m.Relay.Epoch, 10)
	id := escape(m.ID)
	w.values = [...]string{
		id + "." + epoch,
		id,
		sourcePrefix + escape(m.Service),
		m.OccurredAt.String(),
		escape(m.Key),
		relayText(epoch, &m.Relay),
		escape(m.Type),
		escape(m.Tenant),
	}
	return w.header
}

// escape percent-encodes a header as CloudEvents does: all but printable ASCII, and space, quote and percent.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	n := 0
	for i := range len(s) {
		if special(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	out := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; special(c) {
			out = append(out, '%', hex[c>>4], hex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

func special(c byte) bool { return c <= ' ' || c > '~' || c == '"' || c == '%' }

// unescape returns malformed texts as they are.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// read makes a message and reports whether one of our relays sent it.
func read(s events.Stream, seq uint64, subject string, h nats.Header, body []byte) (bus.Message, bool) {
	m := bus.Message{
		Stream: s, Seq: seq, Body: body,
		ID:      unescape(h.Get(ceID)),
		Tenant:  unescape(h.Get(ceTenant)),
		Type:    unescape(h.Get(ceType)),
		Key:     unescape(h.Get(ceSubject)),
		Service: unescape(strings.TrimPrefix(h.Get(ceSource), sourcePrefix)),
		Part:    -1,
	}
	m.OccurredAt, _ = canonical.ParseStamp(h.Get(ceTime))
	if tokens := strings.Split(subject, "."); len(tokens) > 3 {
		if n, err := strconv.Atoi(tokens[3]); err == nil {
			m.Part = n
		}
	}
	var ok bool
	m.Relay, ok = readRelay(h.Get(relayed))
	return m, ok && m.Check() == nil && subject == events.Subject(s, m.Tenant, m.Part, m.Type)
}

// relayText is "EPOCH AT SOURCE", and " SEQ ID" of a known predecessor.
func relayText(epoch string, r *bus.Relay) string {
	text := epoch + " " + strconv.FormatInt(int64(r.At), 10) + " " + strconv.FormatInt(r.Source, 10)
	if r.BehindID != "" {
		text += " " + strconv.FormatUint(r.Behind, 10) + " " + escape(r.BehindID)
	}
	return text
}

func readRelay(text string) (r bus.Relay, ok bool) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 && len(parts) != 5 {
		return r, false
	}
	var at int64
	var errs [4]error
	r.Epoch, errs[0] = strconv.ParseInt(parts[0], 10, 64)
	at, errs[1] = strconv.ParseInt(parts[1], 10, 64)
	r.At = canonical.Stamp(at)
	r.Source, errs[2] = strconv.ParseInt(parts[2], 10, 64)
	if len(parts) == 5 {
		r.Behind, errs[3] = strconv.ParseUint(parts[3], 10, 64)
		r.BehindID = unescape(parts[4])
	}
	return r, errors.Join(errs[:]...) == nil
}
