package canonical

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The forms of a quoted string.
const (
	Escapes = 1 << iota // it holds escapes
	Wide                // it holds more than ASCII
)

// Quoted reads the string at the cursor and gives what stands between the quotes.
func (s *Scanner) Quoted() (raw []byte, form uint8, err error) {
	start := s.Pos + 1
	for s.Pos = start; ; {
		s.Pos += plainBytes(s.In[s.Pos:])
		if s.Pos == len(s.In) {
			return nil, 0, s.Fail("")
		}
		switch b := s.In[s.Pos]; {
		case b == '"':
			s.Pos++
			return s.In[start : s.Pos-1], form, nil
		case b == '\\':
			form |= Escapes
			if _, err := s.escape(); err != nil {
				return nil, 0, err
			}
		case b < ' ':
			return nil, 0, s.Fail("a control character stands unescaped in a string")
		default:
			form |= Wide
			_, n := utf8.DecodeRune(s.In[s.Pos:])
			if n == 1 {
				return nil, 0, s.Fail("a string is not valid UTF-8")
			}
			s.Pos += n
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

// Decoded is the text of what Quoted gave.
func Decoded(raw []byte) []byte { return appendDecoded(make([]byte, 0, len(raw)), raw) }

func appendDecoded(text, raw []byte) []byte {
	for s := (Scanner{In: raw}); s.Pos < len(raw); {
		if b := raw[s.Pos]; b != '\\' {
			text = append(text, b)
			s.Pos++
			continue
		}
		r, err := s.escape()
		if err != nil {
			return text // Quoted has read it before
		}
		text = utf8.AppendRune(text, r)
	}
	return text
}

// AppendText writes a JSON string with the fewest escapes.
func AppendText(dst []byte, text string) []byte {
	from := len(dst) + 1
	dst = append(append(dst, '"'), text...)
	if plainBytes(dst[from:]) == len(text) {
		return append(dst, '"')
	}
	dst, _ = appendQuoted(dst[:from-1], []byte(text))
	return dst
}
