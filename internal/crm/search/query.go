package search

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// Named maxima of a query.
const (
	MaxQuery = 200 // characters
	MaxTerms = 10  // words, or texts in quotes
)

// minStart is how many letters of a word must be given for it to be found by its start.
const minStart = 3

// Relevance is how well a record fits a query.
type Relevance int

// From the best down. All terms must be found in each case.
const (
	NameWords  Relevance = 4 // all in the name, as whole words
	NameStarts Relevance = 3 // all in the name, some as the start of a word
	Words      Relevance = 2 // in any fields, as whole words
	Starts     Relevance = 1 // in any fields, some as the start of a word
)

// term is units that must be found side by side.
type term struct {
	units []unit
	start bool // the last one may be the start of a word
}

// query is what is looked for: all terms.
type query []term

// parseQuery reads a query: terms are separated by spaces, or in quotes.
func parseQuery(text string) (query, error) {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text):
		return nil, about("q", "q must be UTF-8")
	case n > MaxQuery:
		return nil, about("q", "q may have at most %d characters", MaxQuery)
	}
	var q query
	for i, part := range strings.Split(text, `"`) {
		chunks := []string{part}
		open := i%2 == 0
		if open {
			chunks = strings.Fields(part)
		}
		for _, chunk := range chunks {
			if all := units(chunk); len(all) > 0 {
				last := all[len(all)-1]
				q = append(q, term{all, open && !last.sole && utf8.RuneCountInString(last.text) >= minStart})
			}
		}
	}
	switch {
	case len(q) == 0:
		return nil, about("q", "q must have a letter or a digit to look for")
	case len(q) > MaxTerms:
		return nil, about("q", "q may have at most %d words or texts in quotes", MaxTerms)
	}
	return q, nil
}

func about(field, format string, args ...any) error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).With(map[string]string{"field": field})
}

// starts reports whether any term may be the start of a word.
func (q query) starts() bool { return slices.ContainsFunc(q, func(t term) bool { return t.start }) }

// span is a piece of a text, in bytes.
type span struct{ from, to int }

// find gives where a term stands in a text; starts says that starts of words count.
func (t *term) find(text []unit, starts bool) iter.Seq[span] {
	return func(yield func(span) bool) {
		for i := 0; i+len(t.units) <= len(text); i++ {
			if t.at(text[i:], starts) && !yield(span{text[i].from, text[i+len(t.units)-1].to}) {
				return
			}
		}
	}
}

// at reports whether a text begins with a term.
func (t *term) at(text []unit, starts bool) bool {
	last := len(t.units) - 1
	for k := range t.units {
		want, got := &t.units[k], &text[k]
		switch {
		case want.text == got.text:
		case k < last || !starts || !t.start || got.sole || !strings.HasPrefix(got.text, want.text):
			return false
		}
		if k > 0 && want.glued && want.sole && t.units[k-1].sole && !got.glued {
			return false
		}
	}
	return true
}

// fieldText is the text of a field, taken apart.
type fieldText struct {
	field string
	text  string
	units []unit
}

// relevance says how well texts fit; 0: not at all. The name is one of them.
func (q query) relevance(texts []fieldText) Relevance {
	var name []fieldText
	if at := slices.IndexFunc(texts, func(t fieldText) bool { return t.field == nameField }); at >= 0 {
		name = texts[at : at+1]
	}
	switch {
	case q.all(name, false):
		return NameWords
	case q.all(name, true):
		return NameStarts
	case q.all(texts, false):
		return Words
	case q.all(texts, true):
		return Starts
	}
	return 0
}

// all reports whether each term is in one of the texts.
func (q query) all(texts []fieldText, starts bool) bool {
	return !slices.ContainsFunc(q, func(t term) bool {
		return !slices.ContainsFunc(texts, func(in fieldText) bool {
			for range t.find(in.units, starts) {
				return true
			}
			return false
		})
	})
}
