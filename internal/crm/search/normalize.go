package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unit is what texts are compared by: a word, or one character of a script that is written
// without spaces.
type unit struct {
	text     string // normalized
	from, to int    // where it stands in the text, in bytes
	sole     bool   // a character of such a script
	glued    bool   // nothing stands between it and the unit before
}

// units tokenizes a text. What differs in case, width, form of Unicode or accents alone
// comes out equal; all but letters, digits and their marks only separates.
func units(text string) []unit {
	s := splitter{all: make([]unit, 0, len(text)/6+1)}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && (i+1 == len(text) || text[i+1] < utf8.RuneSelf) { // no mark follows
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			s.add(rune(c), i, i+1)
			i++
			continue
		}
		n := max(norm.NFKD.NextBoundaryInString(text[i:], true), 1)
		for _, r := range normalize(text[i : i+n]) {
			s.add(r, i, i+n)
		}
		i += n
	}
	s.end()
	return s.all
}

// normalize is a piece of text without what does not count.
func normalize(s string) string {
	s = strings.Map(func(r rune) rune {
		if 0x300 <= r && r <= 0x36F { // accents; the marks of kana are elsewhere
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(s))
	return norm.NFC.String(spelled.Replace(s))
}

// spelled are letters that are written in another way in capitals, or at the end of words.
var spelled = strings.NewReplacer("ß", "ss", "ς", "σ")

// splitter puts units together.
type splitter struct {
	all      []unit
	word     []byte
	from, to int
	apart    bool // something stood behind the last unit
}

func (s *splitter) add(r rune, from, to int) {
	switch {
	case isSole(r):
		s.end()
		s.put(unit{text: string(r), from: from, to: to, sole: true})
	case 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r >= utf8.RuneSelf && unicode.In(r, unicode.L, unicode.N,
		unicode.M):
		if len(s.word) == 0 {
			s.from = from
		}
		s.word, s.to = utf8.AppendRune(s.word, r), to
	default:
		s.end()
		s.apart = true
	}
}

// end ends the word that is being read.
func (s *splitter) end() {
	if len(s.word) == 0 {
		return
	}
	s.put(unit{text: string(s.word), from: s.from, to: s.to})
	s.word = s.word[:0]
}

func (s *splitter) put(u unit) {
	u.glued = !s.apart && len(s.all) > 0
	s.all, s.apart = append(s.all, u), false
}

// isSole reports whether a script is written without spaces: Chinese and Japanese, Korean
// (whose spaces do not separate words), Thai, Lao, Khmer and Burmese.
func isSole(r rune) bool {
	if r < 0xE00 {
		return false
	}
	const longVowel = 'ー'
	return r == longVowel || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
