package events

import (
	"errors"
	"strings"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// violation is where a text breaks its rule, and how.
type violation struct {
	path []string // names and numbers on the way there, innermost first
	what string   // "is missing", "must be a string"
}

// violated is a violation at a member.
func violated(name []byte, what string) error {
	return &violation{path: []string{token(name)}, what: what}
}

// within adds a step to the way to a violation; other errors stay as they are.
func within(err error, step []byte) error {
	var v *violation
	if errors.As(err, &v) {
		v.path = append(v.path, token(step))
	}
	return err
}

// Error begins with the JSON pointer of the place.
func (v *violation) Error() string {
	var text strings.Builder
	for i := len(v.path) - 1; i >= 0; i-- {
		text.WriteString("/" + v.path[i])
	}
	if len(v.path) == 0 {
		text.WriteString("the event")
	}
	text.WriteString(" " + v.what)
	return text.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// token is a step of a JSON pointer that is safe in a message: cut when it is
// long, without control characters.
func token(name []byte) string {
	shown := canonical.Quote(name)
	return pointerEscapes.Replace(shown[1 : len(shown)-1])
}

// refused is the error for an event that broke a rule or is not JSON; where is what
// it was found in.
func refused(where string, err error) error {
	var v *violation
	if errors.As(err, &v) {
		if where != "" {
			v.path = append(v.path, where)
		}
		return fault.New(fault.Invalid, CodeEventInvalid, "%s", v)
	}
	if where != "" {
		where = "/" + where + ": "
	}
	failure, _ := fault.As(err)
	return fault.New(fault.Invalid, CodeEventInvalid, "%s%s", where, failure.Message)
}

// tooLarge is the error for an event of so many bytes.
func tooLarge(size int) error {
	return fault.New(fault.TooLarge, CodeEventTooLarge, "the event has %d bytes, %d are allowed", size, MaxEvent)
}
