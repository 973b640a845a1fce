package canonical

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// grapheme joiner: what the stream-safe format puts into long runs of marks.
var joiner = []byte("\u034f")

// NFC is a text in Normalization Form C, in which texts that look the same are the same.
func NFC(text string) string {
	if norm.NFC.IsNormalString(text) {
		return text
	}
	return string(nfc([]byte(text)))
}

// nfc is text in Normalization Form C. The norm package breaks runs of more than 30 marks with a joiner
// (the stream-safe format); such texts, which no language has, are composed here.
func nfc(text []byte) []byte {
	if norm.NFC.IsNormal(text) {
		return text
	}
	out := norm.NFC.Bytes(text)
	if bytes.Count(out, joiner) == bytes.Count(text, joiner) {
		return out
	}
	return exactNFC(text)
}

// exactNFC decomposes, orders marks by their combining class and composes, as the
// Unicode standard (section 3.11) says.
func exactNFC(text []byte) []byte {
	var marks []mark
	for len(text) > 0 {
		_, n := utf8.DecodeRune(text)
		for _, r := range string(norm.NFD.Bytes(text[:n])) {
			marks = append(marks, mark{r, norm.NFD.PropertiesString(string(r)).CCC()})
		}
		text = text[n:]
	}
	for i := 0; i < len(marks); {
		j := i + 1
		for j < len(marks) && marks[j].class != 0 {
			j++
		}
		first := i
		if marks[i].class == 0 {
			first++
		}
		slices.SortStableFunc(marks[first:j], func(a, b mark) int { return cmp.Compare(a.class, b.class) })
		i = j
	}
	return compose(marks)
}

// mark is a code point with its canonical combining class; 0 is a starter.
type mark struct {
	r     rune
	class uint8
}

// compose joins every character with the last starter before it, unless another
// one of its class or above stands between them.
func compose(marks []mark) []byte {
	out, starter := marks[:0], -1
	for _, m := range marks {
		if starter >= 0 {
			last := out[len(out)-1]
			adjacent := len(out)-1 == starter
			if adjacent || last.class != 0 && last.class < m.class {
				if r, ok := pair(out[starter].r, m.r); ok {
					out[starter].r = r
					continue
				}
			}
		}
		out = append(out, m)
		if m.class == 0 {
			starter = len(out) - 1
		}
	}
	var text []byte
	for _, m := range out {
		text = utf8.AppendRune(text, m.r)
	}
	return text
}

// pair is the primary composite of two characters, if there is one.
func pair(a, b rune) (rune, bool) {
	text := norm.NFC.String(string(a) + string(b))
	r, n := utf8.DecodeRuneInString(text)
	return r, n == len(text)
}
