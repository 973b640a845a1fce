package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/fault"
)

// CodeInvalid is the code of a body that breaks the rules of JSON or of its type.
const CodeInvalid = "INVALID_INPUT"

// scanner is a cursor over a body.
type scanner struct {
	in  []byte
	pos int
}

// peek is the byte at the cursor, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.in) {
		return s.in[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.in) {
		switch s.in[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// fail says what is wrong at the cursor.
func (s *scanner) fail(what string) error {
	if s.pos >= len(s.in) {
		what = "it ends too early"
	}
	return fault.New(fault.Invalid, CodeInvalid, "the body is not valid JSON: %s (byte %d)", what, s.pos)
}

// plain marks the bytes that stand for themselves inside a string and need no NFC.
var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// str rewrites the string at the cursor. It reports whether the result holds an escape.
func (c *canon) str() (escaped bool, err error) {
	start := c.pos
	text, form, err := c.quoted()
	if err != nil {
		return false, err
	}
	if form == 0 {
		c.out = append(c.out, c.in[start:c.pos]...)
		return false, nil
	}
	if form&escapes != 0 {
		c.tmp = appendDecoded(c.tmp[:0], text)
		text = c.tmp
	}
	c.out, escaped = appendQuoted(c.out, nfc(text))
	return escaped, nil
}

// short are the escapes of one letter.
var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads the escape at the cursor.
func (s *scanner) escape() (rune, error) {
	s.pos++
	b := s.peek()
	if r := short[b]; r != 0 {
		s.pos++
		return rune(r), nil
	}
	if b != 'u' {
		return 0, s.fail("a string holds an unknown escape")
	}
	s.pos++
	high, err := s.hex4()
	if err != nil || high < 0xd800 || high > 0xdfff {
		return high, err
	}
	if high < 0xdc00 && s.pos+1 < len(s.in) && s.in[s.pos] == '\\' && s.in[s.pos+1] == 'u' {
		s.pos += 2
		low, err := s.hex4()
		if err != nil {
			return 0, err
		}
		if low >= 0xdc00 && low <= 0xdfff {
			return (high-0xd800)<<10 + (low - 0xdc00) + 0x10000, nil
		}
	}
	return 0, s.fail("a string holds half of a surrogate pair")
}

func (s *scanner) hex4() (rune, error) {
	if len(s.in)-s.pos < 4 {
		s.pos = len(s.in)
		return 0, s.fail("")
	}
	n, err := strconv.ParseUint(string(s.in[s.pos:s.pos+4]), 16, 16)
	if err != nil {
		return 0, s.fail(`four hexadecimal digits were expected after \u`)
	}
	s.pos += 4
	return rune(n), nil
}

const (
	hexDigits = "0123456789abcdef"
	controls  = "\b\f\n\r\t" // those with an escape of one letter
)

// appendQuoted writes text as a JSON string with the fewest escapes. It reports
// whether there were any.
func appendQuoted(dst, text []byte) (_ []byte, escaped bool) {
	dst = append(dst, '"')
	for _, b := range text {
		switch {
		case b >= ' ' && b != '"' && b != '\\':
			dst = append(dst, b)
			continue
		case b == '"', b == '\\':
			dst = append(dst, '\\', b)
		case strings.IndexByte(controls, b) >= 0:
			dst = append(dst, '\\', "bfnrt"[strings.IndexByte(controls, b)])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
		}
		escaped = true
	}
	return append(dst, '"'), escaped
}

// firstByte is the first byte of text that appendQuoted wrote, without its escape,
// and what comes after it. Such text is not empty and escapes ASCII only.
func firstByte(raw []byte) (byte, []byte) {
	switch {
	case raw[0] != '\\':
		return raw[0], raw[1:]
	case raw[1] == 'u':
		return unhex(raw[4])<<4 | unhex(raw[5]), raw[6:]
	}
	return short[raw[1]], raw[2:]
}

func unhex(digit byte) byte {
	if digit >= 'a' {
		return digit - 'a' + 10
	}
	return digit - '0'
}

// unescape undoes appendQuoted, without the quotes.
func unescape(raw []byte) []byte {
	var text []byte
	for len(raw) > 0 {
		var b byte
		b, raw = firstByte(raw)
		text = append(text, b)
	}
	return text
}

// maxQuoted is how much of a caller's text is repeated in a message, in bytes.
const maxQuoted = 64

// quote shows a caller's text inside a message, cut and without control characters.
func quote(text []byte) string {
	if len(text) > maxQuoted {
		cut := maxQuoted
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		return strconv.Quote(string(text[:cut]) + "…")
	}
	return strconv.Quote(string(text))
}
