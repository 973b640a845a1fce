package events

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// Payload is what an event of one type says: one of the 20 structs of this package
// that are named after their event types.
type Payload interface{ EventType() string }

// NewPayload writes a payload. The same content gives the same text.
func NewPayload(p Payload) ([]byte, error) {
	text, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return nil, fault.New(fault.Invalid, CodeEventInvalid, "the payload of %s cannot be written: %v", p.EventType(),
			err)
	}
	return text, nil
}

// DecodePayload reads the payload of an event that CheckReceived accepted. Members
// that the Go type does not have are passed over.
func DecodePayload[T any](e *Event) (payload T, err error) {
	if err := json.Unmarshal(e.Payload, &payload); err != nil {
		var semantic *json.SemanticError
		var at jsontext.Pointer
		if errors.As(err, &semantic) {
			at = semantic.JSONPointer
		}
		return payload, fault.New(fault.Invalid, CodeEventInvalid, "/payload%s of %s does not fit its Go type", at,
			e.Type)
	}
	return payload, nil
}

// OrNull is a string that is null on the wire when it is empty.
type OrNull string

// MarshalJSONTo writes the string or null.
func (s OrNull) MarshalJSONTo(enc *jsontext.Encoder) error {
	if s == "" {
		return enc.WriteToken(jsontext.Null)
	}
	return enc.WriteToken(jsontext.String(string(s)))
}

// UnmarshalJSONFrom reads a string or null.
func (s *OrNull) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	t, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch t.Kind() {
	case jsontext.KindNull:
		*s = ""
		return nil
	case jsontext.KindString:
		*s = OrNull(t.String())
		return nil
	}
	return canonical.Expected("a string or null")
}

// Count is a whole number; 14.0 is read as 14.
type Count int64

// UnmarshalJSONFrom reads a whole number in any spelling.
func (c *Count) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	n, ok := canonical.ParseInt(raw)
	if !ok {
		return canonical.Whole
	}
	*c = Count(n)
	return nil
}
