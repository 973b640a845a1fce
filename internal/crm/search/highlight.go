package search

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// What is shown of the texts of a hit.
const (
	maxHighlights = 3   // fields
	maxSnippet    = 160 // characters of a field
	leadIn        = 40  // of them before the first place
)

// Highlight is a piece of a field in which something was found.
type Highlight struct {
	Field string `json:"field"`
	Parts []Part `json:"parts"`
}

// Part is a piece of text; Match says that it was looked for.
type Part struct {
	Text  string `json:"text"`
	Match bool   `json:"match"`
}

// highlights show where in the texts the terms stand, the name first.
func (q query) highlights(texts []fieldText) []Highlight {
	found := []Highlight{}
	for _, named := range []bool{true, false} {
		for i := range texts {
			if (texts[i].field == nameField) != named || len(found) == maxHighlights {
				continue
			}
			if spans := q.spans(texts[i].units); len(spans) > 0 {
				found = append(found, Highlight{texts[i].field, snippet(texts[i].text, spans)})
			}
		}
	}
	return found
}

// spans are where terms stand in a text, in order, with those that touch or overlap as one.
func (q query) spans(text []unit) (all []span) {
	for i := range q {
		all = slices.AppendSeq(all, q[i].find(text, true))
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// snippet is a piece of a text around the first place where something stands.
func snippet(text string, spans []span) []Part {
	from := back(text, spans[0].from, leadIn)
	to := forth(text, from, maxSnippet)
	var parts []Part
	add := func(s string, match bool) {
		if s != "" {
			parts = append(parts, Part{s, match})
		}
	}
	at := from
	if from > 0 {
		add("…"+text[from:max(spans[0].from, from)], false)
		at = spans[0].from
	}
	for _, s := range spans {
		if s.from >= to {
			break
		}
		add(text[at:s.from], false)
		at = min(s.to, to)
		add(text[s.from:at], true)
	}
	rest := text[at:to]
	if to < len(text) {
		rest += "…"
	}
	add(rest, false)
	return parts
}

// back goes so many characters back in a text.
func back(text string, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}

// forth goes so many characters forward.
func forth(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
