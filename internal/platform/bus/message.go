package bus

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/wire"
)

// The longest texts of a message, in bytes. A key of any 255 characters fits.
const (
	MaxMessageKey  = 1020
	MaxMessageName = 128
)

// CodeMessage is the code of a message that no carrier takes.
const CodeMessage = "BUS_MESSAGE_INVALID"

// Check says why a message cannot be carried. Tenant and type become tokens of a subject, so they may not contain
// separators or wildcards.
func (m *Message) Check() error {
	bad := func(what, why string) error {
		return fault.New(fault.Invalid, CodeMessage, "the %s of message %q %s", what, m.ID, why)
	}
	for _, t := range [...]struct{ what, text string }{
		{"id", m.ID},
		{"tenant", m.Tenant},
		{"type", m.Type},
		{"service", m.Service},
	} {
		if t.text == "" && t.what != "service" || len(t.text) > MaxMessageName || !plain(t.text) {
			return bad(t.what, "must be text without control characters, up to 128 bytes")
		}
	}
	switch {
	case len(m.Key) > MaxMessageKey || !plain(m.Key):
		return bad("key", "must be text without control characters, up to 1020 bytes")
	case !token(m.Tenant):
		return bad("tenant", "may not hold a space or one of .*>")
	case !token(m.Type):
		return bad("type", "may not hold a space or one of .*>")
	case m.Part < 0 || m.Part >= wire.Partitions:
		return bad("partition", "does not exist")
	case len(m.Body) > wire.MaxEvent:
		return fault.New(fault.TooLarge, wire.CodeEventTooLarge, "message %s has more than %d bytes", m.ID,
			wire.MaxEvent)
	}
	return nil
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
		}
	}
	return true
}

func token(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r == '.' || r == '*' || r == '>' || unicode.IsSpace(r) })
}
