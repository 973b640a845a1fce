package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// line is a text as valid UTF-8 on one line of at most MaxText characters.
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

// OneLine escapes, in the JSON at dst[from:], the characters that JSON leaves alone and that readers take for a line
// end or terminals for a command: DEL, U+0080 to U+009F, U+2028 and U+2029.
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
