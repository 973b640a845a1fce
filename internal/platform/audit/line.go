package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// line is a text on one line, not too long and in UTF-8.
func line(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) <= MaxText {
		return s
	}
	runes := []rune(s)
	return string(runes[:MaxText-1]) + "…"
}

// OneLine escapes what some readers take for the end of a line, or terminals for a
// command, in the JSON that dst holds from a place on: DEL, the control characters
// U+0080 to U+009F (NEL among them), U+2028 and U+2029. JSON itself escapes only those
// below U+0020. All of them can only stand inside of texts.
func OneLine(dst []byte, from int) []byte {
	breaks := func(r rune) bool { return r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029' }
	if bytes.IndexFunc(dst[from:], breaks) < 0 {
		return dst
	}
	raw := slices.Clone(dst[from:])
	dst = dst[:from]
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if breaks(r) {
			dst = fmt.Appendf(dst, `\u%04x`, r)
		} else {
			dst = append(dst, raw[:n]...)
		}
		raw = raw[n:]
	}
	return dst
}
