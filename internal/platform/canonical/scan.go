package canonical

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/fault"
)

// CodeInvalid is the code of a body that breaks the rules of JSON or of its type.
const CodeInvalid = "INVALID_INPUT"

// Scanner is a cursor over a body.
type Scanner struct {
	In  []byte
	Pos int
}

// Peek is the byte at the cursor, 0 at the end.
func (s *Scanner) Peek() byte {
	if s.Pos < len(s.In) {
		return s.In[s.Pos]
	}
	return 0
}

// Space passes over white space.
func (s *Scanner) Space() {
	for s.Pos < len(s.In) {
		switch s.In[s.Pos] {
		case ' ', '\t', '\n', '\r':
			s.Pos++
		default:
			return
		}
	}
}

// Fail says what is wrong at the cursor.
func (s *Scanner) Fail(what string) error {
	if s.Pos >= len(s.In) {
		what = "it ends too early"
	}
	return fault.New(fault.Invalid, CodeInvalid, "the body is not valid JSON: %s (byte %d)", what, s.Pos)
}

// Duplicate is the error for a member that an object has twice.
func Duplicate(name []byte) error {
	return fault.New(fault.Invalid, CodeInvalid, "the body holds the member %s twice", Quote(name))
}

// TooDeep is the error for a body that is nested deeper than MaxDepth.
func TooDeep() error {
	return fault.New(fault.Invalid, CodeInvalid, "the body is nested deeper than %d levels", MaxDepth)
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
	start := c.Pos
	text, form, err := c.Quoted()
	if err != nil {
		return false, err
	}
	if form == 0 {
		c.out = append(c.out, c.In[start:c.Pos]...)
		return false, nil
	}
	if form&Escapes != 0 {
		c.tmp = appendDecoded(c.tmp[:0], text)
		text = c.tmp
	}
	c.out, escaped = appendQuoted(c.out, nfc(text))
	return escaped, nil
}

// short are the escapes of one letter.
var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads the escape at the cursor.
func (s *Scanner) escape() (rune, error) {
	s.Pos++
	b := s.Peek()
	if r := short[b]; r != 0 {
		s.Pos++
		return rune(r), nil
	}
	if b != 'u' {
		return 0, s.Fail("a string holds an unknown escape")
	}
	s.Pos++
	high, err := s.hex4()
	if err != nil || high < 0xd800 || high > 0xdfff {
		return high, err
	}
	if high < 0xdc00 && s.Pos+1 < len(s.In) && s.In[s.Pos] == '\\' && s.In[s.Pos+1] == 'u' {
		s.Pos += 2
		low, err := s.hex4()
		if err != nil {
			return 0, err
		}
		if low >= 0xdc00 && low <= 0xdfff {
			return (high-0xd800)<<10 + (low - 0xdc00) + 0x10000, nil
		}
	}
	return 0, s.Fail("a string holds half of a surrogate pair")
}

func (s *Scanner) hex4() (rune, error) {
	if len(s.In)-s.Pos < 4 {
		s.Pos = len(s.In)
		return 0, s.Fail("")
	}
	n, err := strconv.ParseUint(string(s.In[s.Pos:s.Pos+4]), 16, 16)
	if err != nil {
		return 0, s.Fail(`four hexadecimal digits were expected after \u`)
	}
	s.Pos += 4
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

// Quote shows a caller's text inside a message, cut and without control characters.
func Quote(text []byte) string {
	if len(text) > maxQuoted {
		cut := maxQuoted
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		return strconv.Quote(string(text[:cut]) + "…")
	}
	return strconv.Quote(string(text))
}
