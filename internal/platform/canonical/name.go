package canonical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"renga.dev/renga/internal/workflow/flow"
)

// The longest names and idempotency keys, in bytes.
const (
	MaxName = flow.MaxName
	MaxKey  = 255
)

// Name reports whether s is a name (graph, node, queue, template), as flow has it:
// 1..128 of A-Z a-z 0-9 . _ -
func Name(s string) bool { return flow.ValidName(s) }

// Key reports whether s is an idempotency key: 1..255 printable ASCII characters.
func Key(s string) bool { return Printable(s, MaxKey) }

// Printable reports whether s is 1..limit printable ASCII characters.
func Printable(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// OneLine reports whether a text has low..high characters and none that breaks a line or controls a terminal.
func OneLine(s string, low, high int) bool {
	n := utf8.RuneCountInString(s)
	return n >= low && n <= high && utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}) < 0
}
