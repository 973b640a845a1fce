package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// literal reads true, false or null.
func (w *walker) literal(r *rule, first byte) error {
	word, kind := "null", kindNull
	switch first {
	case 't':
		word, kind = "true", kindBoolean
	case 'f':
		word, kind = "false", kindBoolean
	}
	if !bytes.HasPrefix(w.in[w.pos:], []byte(word)) {
		return w.fail("a JSON value was expected")
	}
	w.pos += len(word)
	if r.kinds&kind == 0 {
		return r.wrongKind()
	}
	if r.truth != "" && r.truth != word {
		return &violation{what: "must be " + r.truth}
	}
	return nil
}

func (w *walker) number(r *rule) error {
	start := w.pos
	n, err := w.scanNumber()
	if err != nil {
		return err
	}
	w.again = w.again || n.exponent || w.pos-start > MaxExponent
	switch {
	case r.kinds&kindNumber != 0:
		return nil
	case r.kinds&kindInteger == 0:
		return r.wrongKind()
	}
	if v, ok := ParseInt(w.in[start:w.pos]); !ok || v < r.low || v > r.high {
		if r.low == r.high {
			return &violation{what: fmt.Sprintf("must be %d", r.low)}
		}
		return &violation{what: fmt.Sprintf("must be a whole number from %d to %d", r.low, r.high)}
	}
	return nil
}

// text reads a string.
func (w *walker) text(r *rule) error {
	raw, form, err := w.quoted()
	if err != nil || r == anything {
		return err
	}
	if r.kinds&kindString == 0 {
		return r.wrongKind()
	}
	if form&escapes != 0 {
		raw = decoded(raw)
	}
	if what := r.judge(raw); what != "" {
		return &violation{what: what}
	}
	return nil
}

// judge says what is wrong with a text, "" when nothing is.
func (r *rule) judge(text []byte) string {
	switch r.format {
	case formatUUID:
		if !isUUID(text) {
			return "must be a UUID"
		}
	case formatDate:
		if !isDate(text) {
			return "must be a date such as 2026-01-31"
		}
	case formatTime:
		if _, ok := parseStamp(text); !ok {
			return "must be an RFC 3339 time"
		}
	case formatAny:
	}
	if r.words != nil && !slices.ContainsFunc(r.words, func(word string) bool { return word == string(text) }) {
		return "must be " + either(r.words)
	}
	if r.minLength > 0 && len(text) < r.minLength*utf8.UTFMax && utf8.RuneCount(text) < r.minLength {
		return fmt.Sprintf("must have at least %d characters", r.minLength)
	}
	if r.maxLength > 0 && len(text) > r.maxLength && utf8.RuneCount(text) > r.maxLength {
		return fmt.Sprintf("must have at most %d characters", r.maxLength)
	}
	return ""
}

func either(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

func (r *rule) wrongKind() error {
	if r.kinds == 0 {
		return &violation{what: "does not belong there"}
	}
	return &violation{what: "must be " + r.kinds.String()}
}

// The forms of a quoted string.
const (
	escapes = 1 << iota // it holds escapes
	wide                // it holds more than ASCII
)

// quoted reads the string at the cursor and gives what stands between the quotes.
func (s *scanner) quoted() (raw []byte, form uint8, err error) {
	start := s.pos + 1
	for s.pos = start; ; {
		s.pos += plainBytes(s.in[s.pos:])
		if s.pos == len(s.in) {
			return nil, 0, s.fail("")
		}
		switch b := s.in[s.pos]; {
		case b == '"':
			s.pos++
			return s.in[start : s.pos-1], form, nil
		case b == '\\':
			form |= escapes
			if _, err := s.escape(); err != nil {
				return nil, 0, err
			}
		case b < ' ':
			return nil, 0, s.fail("a control character stands unescaped in a string")
		default:
			form |= wide
			_, n := utf8.DecodeRune(s.in[s.pos:])
			if n == 1 {
				return nil, 0, s.fail("a string is not valid UTF-8")
			}
			s.pos += n
		}
	}
}

// plainBytes is how many bytes at the beginning of a text stand for themselves inside
// a string: printable ASCII but quotes and backslashes. It looks at eight at a time.
func plainBytes(text []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(text); n += 8 {
		v := binary.LittleEndian.Uint64(text[n:])
		control, quote, slash := v-' '*ones, (v^'"'*ones)-ones, (v^'\\'*ones)-ones
		// The top bit of a special byte is set now; a wrong one can only stand behind it.
		if special := (v | control | quote | slash) & high; special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for n < len(text) && plain[text[n]] {
		n++
	}
	return n
}

// decoded is the text of what quoted gave.
func decoded(raw []byte) []byte { return appendDecoded(make([]byte, 0, len(raw)), raw) }

func appendDecoded(text, raw []byte) []byte {
	for s := (scanner{in: raw}); s.pos < len(raw); {
		if b := raw[s.pos]; b != '\\' {
			text = append(text, b)
			s.pos++
			continue
		}
		r, err := s.escape()
		if err != nil {
			return text // quoted has read it before
		}
		text = utf8.AppendRune(text, r)
	}
	return text
}

// isUUID reports whether a text is a UUID in its usual form, in either case.
func isUUID[T string | []byte](text T) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (text[i] == '-') || !dash && !hexDigit[text[i]] {
			return false
		}
	}
	return true
}

var hexDigit = func() (t [256]bool) {
	for _, b := range []byte("0123456789abcdefABCDEF") {
		t[b] = true
	}
	return t
}()
