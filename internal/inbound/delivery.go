package inbound

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/wire"
)

// Named maxima of a delivery. Texts are counted in characters, notes in bytes.
const (
	MaxText  = 255
	MaxURL   = 2048
	MaxNotes = 8 << 10
	MaxKey   = 128
)

// Delivery is an event on its way in. Empty texts were not given.
type Delivery struct {
	TemplateID string
	EventName  string
	Source     string
	MFCloudURL string
	Notes      string
	Key        string // "": the run is started, and nothing is remembered
	Year       Number
	Month      Number
}

// Number is a year or a month as somebody wrote it.
type Number struct {
	Given bool
	Valid bool // it is a whole number: N
	N     int64
}

// body is a delivery as it is written. What is not here is ignored: its senders are
// foreign.
type body struct {
	TemplateID      jsontext.Value `json:"template_id"`
	TemplateIDCamel jsontext.Value `json:"templateId"`
	EventName       jsontext.Value `json:"event_name"`
	EventNameCamel  jsontext.Value `json:"eventName"`
	Key             jsontext.Value `json:"idempotency_key"`
	KeyCamel        jsontext.Value `json:"idempotencyKey"`
	EventID         jsontext.Value `json:"event_id"`
	EventIDCamel    jsontext.Value `json:"eventId"`
	Source          jsontext.Value `json:"source"`
	EventSource     jsontext.Value `json:"event_source"`
	MFCloudURL      jsontext.Value `json:"mfcloud_url"`
	Notes           jsontext.Value `json:"notes"`
	Year            jsontext.Value `json:"year"`
	Month           jsontext.Value `json:"month"`
}

// ParseDelivery reads a delivery: a JSON object, nothing for {}, and the key that its
// header names. Every field in every spelling must have its type and its length, also
// one that another takes precedence over. null and "" were not given. The error is
// fault.Invalid, and its message names the field; the delivery then holds the fields that
// could be read, for Refuse.
func ParseDelivery(data []byte, headerKey string) (Delivery, error) {
	if len(data) == 0 {
		data = []byte("{}")
	}
	if err := wire.Check(data); err != nil {
		return Delivery{}, unread(err)
	}
	var b body
	if jsontext.Value(data).Kind() != jsontext.KindBeginObject {
		return Delivery{}, badField("the body", "an object")
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return Delivery{}, unread(err)
	}
	r := fieldReader{}
	d := Delivery{
		TemplateID: r.first(MaxText, "template_id", b.TemplateID, "templateId", b.TemplateIDCamel),
		EventName:  r.first(MaxText, "event_name", b.EventName, "eventName", b.EventNameCamel),
		Source:     r.first(MaxText, "source", b.Source, "event_source", b.EventSource),
		MFCloudURL: r.text(MaxURL, "mfcloud_url", b.MFCloudURL),
		Notes:      r.notes(b.Notes),
		Year:       r.number("year", b.Year),
		Month:      r.number("month", b.Month),
	}
	d.Key = r.key(&b, headerKey)
	if r.err != nil {
		return d, r.err
	}
	return d, nil
}

// fieldReader reads fields and keeps the first error.
type fieldReader struct{ err *fault.Error }

func (r *fieldReader) fail(err *fault.Error) {
	if r.err == nil {
		r.err = err
	}
}

// key is the first key that is given, if it can be used. One that is no text is given all the
// same: none after it counts.
func (r *fieldReader) key(b *body, header string) string {
	key, unread := "", false
	for _, field := range []struct {
		name string
		raw  jsontext.Value
	}{
		{"idempotency_key", b.Key},
		{"idempotencyKey", b.KeyCamel},
		{"event_id", b.EventID},
		{"eventId", b.EventIDCamel},
	} {
		own := fieldReader{}
		text := own.text(math.MaxInt, field.name, field.raw)
		switch {
		case own.err != nil:
			r.fail(own.err)
			unread = unread || key == ""
		case key == "":
			key = text
		}
	}
	if key == "" {
		key = header
	}
	if unread || !validKey(key) {
		return ""
	}
	return key
}

// first is the first text that is given, of a field with two spellings.
func (r *fieldReader) first(limit int, name string, raw jsontext.Value, other string, otherRaw jsontext.Value) string {
	text, second := r.text(limit, name, raw), r.text(limit, other, otherRaw)
	if text == "" {
		return second
	}
	return text
}

func (r *fieldReader) text(limit int, name string, raw jsontext.Value) string {
	text := r.unquote(name, raw)
	if utf8.RuneCountInString(text) > limit {
		r.fail(refusedField("%s is longer than %d characters", name, limit))
		return ""
	}
	return text
}

func (r *fieldReader) notes(raw jsontext.Value) string {
	text := r.unquote("notes", raw)
	if len(text) > MaxNotes {
		r.fail(refusedField("notes are longer than %d bytes", MaxNotes))
		return ""
	}
	return text
}

func (r *fieldReader) unquote(name string, raw jsontext.Value) string {
	if absent(raw) {
		return ""
	}
	var text string
	if raw.Kind() != jsontext.KindString || json.Unmarshal(raw, &text) != nil {
		r.fail(badField(name, "a string"))
	}
	return text
}

// number reads a whole number, also one in text. What is neither a number nor text is
// an error; what is no whole number is kept as one that is not valid, for the check of
// year and month to refuse in its turn.
func (r *fieldReader) number(name string, raw jsontext.Value) Number {
	if absent(raw) {
		return Number{}
	}
	written := string(raw)
	switch raw.Kind() {
	case jsontext.KindNumber:
	case jsontext.KindString:
		written = r.unquote(name, raw)
		if written == "" {
			return Number{}
		}
		if digits := strings.TrimLeft(written, "0"); digits != "" && digits[0] >= '1' && digits[0] <= '9' {
			written = digits // people write "02"
		}
	default:
		r.fail(badField(name, "a whole number"))
		return Number{}
	}
	n, ok := wire.ParseInt([]byte(written))
	if !ok {
		return Number{Given: true}
	}
	return Number{Given: true, Valid: true, N: n}
}

func absent(raw jsontext.Value) bool { return raw == nil || raw.Kind() == jsontext.KindNull }

// validKey reports whether a key can be used: 1..128 of A-Z a-z 0-9 . _ : @ -
func validKey(key string) bool {
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("._:@-", c) >= 0:
		default:
			return false
		}
	}
	return key != "" && len(key) <= MaxKey
}

// unread is an error about a body that cannot be read.
func unread(err error) *fault.Error {
	if told, ok := fault.As(err); ok && told.Kind == fault.Invalid && told.Message != "" {
		return refusedField("%s", told.Message)
	}
	return refusedField("the body is not valid JSON")
}

func badField(name, want string) *fault.Error { return refusedField("%s must be %s", name, want) }

func refusedField(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, wire.CodeInvalid, format, args...).Because(fault.RefusedField)
}
