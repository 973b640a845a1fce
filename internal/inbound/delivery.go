package inbound

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
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
	Trigger    string // that it was posted to; "": it is a workflow event
}

// sender is who sent an event to a trigger, as far as it is known.
func (d *Delivery) sender() string {
	if d.Trigger == "" {
		return ""
	}
	return "trigger:" + d.Trigger
}

// Number is a year or a month as somebody wrote it.
type Number struct {
	Given bool
	Valid bool // it is a whole number: N
	N     int64
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
	if err := canonical.Check(data); err != nil {
		return Delivery{}, unread(err)
	}
	if jsontext.Value(data).Kind() != jsontext.KindBeginObject {
		return Delivery{}, badField("the body", "an object")
	}
	r := fieldReader{}
	if err := json.Unmarshal(data, &r.fields); err != nil {
		return Delivery{}, unread(err)
	}
	d := Delivery{
		TemplateID: r.first(MaxText, "template_id", "templateId"),
		EventName:  r.first(MaxText, "event_name", "eventName"),
		Source:     r.first(MaxText, "source", "event_source"),
		MFCloudURL: r.text(MaxURL, "mfcloud_url"),
		Notes:      r.notes(),
		Year:       r.number("year"),
		Month:      r.number("month"),
	}
	d.Key = r.key(headerKey)
	if r.err != nil {
		return d, r.err
	}
	return d, nil
}

// fieldReader reads fields and keeps the first error. Fields that nobody knows are ignored: the
// senders are foreign.
type fieldReader struct {
	fields map[string]jsontext.Value
	err    *fault.Error
}

func (r *fieldReader) fail(err *fault.Error) {
	if r.err == nil {
		r.err = err
	}
}

// key is the first key that is given, if it can be used. One that is no text is given all the
// same: none after it counts.
func (r *fieldReader) key(header string) string {
	key, unread := "", false
	for _, name := range []string{"idempotency_key", "idempotencyKey", "event_id", "eventId"} {
		text, ok := r.unquote(name)
		if key == "" {
			key, unread = text, unread || !ok
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
func (r *fieldReader) first(limit int, name, other string) string {
	return cmp.Or(r.text(limit, name), r.text(limit, other))
}

func (r *fieldReader) text(limit int, name string) string {
	text, _ := r.unquote(name)
	if utf8.RuneCountInString(text) > limit {
		r.fail(refusedField("%s is longer than %d characters", name, limit))
		return ""
	}
	return text
}

func (r *fieldReader) notes() string {
	text, _ := r.unquote("notes")
	if len(text) > MaxNotes {
		r.fail(refusedField("notes are longer than %d bytes", MaxNotes))
		return ""
	}
	return text
}

// unquote is a field that is a text, "" when it is not there; ok says that it is no other.
func (r *fieldReader) unquote(name string) (text string, ok bool) {
	raw := r.fields[name]
	if absent(raw) {
		return "", true
	}
	if raw.Kind() != jsontext.KindString || json.Unmarshal(raw, &text) != nil {
		r.fail(badField(name, "a string"))
		return "", false
	}
	return text, true
}

// number reads a whole number, also one in text. Another type is an error; what is no whole number is
// not valid, for the check of year and month to refuse.
func (r *fieldReader) number(name string) Number {
	raw := r.fields[name]
	if absent(raw) {
		return Number{}
	}
	written := string(raw)
	switch raw.Kind() {
	case jsontext.KindNumber:
	case jsontext.KindString:
		written, _ = r.unquote(name)
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
	n, ok := canonical.ParseInt([]byte(written))
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
	if failure, ok := fault.As(err); ok && failure.Kind == fault.Invalid && failure.Message != "" {
		return refusedField("%s", failure.Message)
	}
	return refusedField("the body is not valid JSON")
}

func badField(name, want string) *fault.Error { return refusedField("%s must be %s", name, want) }

func refusedField(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).Because(fault.RefusedField)
}
