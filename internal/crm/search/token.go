package search

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// The index knows records by tokens. A token is a letter that says what of, the number of
// the tenant, an x, and
//
//   - n, t: a word of the name, or of any field; of scripts without spaces each two
//     characters that stand side by side, and the last one alone;
//   - o: the object;
//   - c: a campaign that the record is in.
//
// They consist of ASCII letters and digits and of letters that are not ASCII, so both
// databases take them as they are.
const (
	nameToken     = 'n'
	textToken     = 't'
	objectToken   = 'o'
	campaignToken = 'c'
)

// maxWord is how many characters of a word are a token; words that begin alike up to there
// are told apart by the record itself.
const maxWord = 32

// cut is a word as a token has it; whole says that it is all of it.
func cut(word string) (token string, whole bool) {
	if len(word) < maxWord {
		return word, true
	}
	n := 0
	for at := range word {
		if n == maxWord {
			return word[:at], false
		}
		n++
	}
	return word, n < maxWord
}

// tokens makes tokens of a tenant.
type tokens struct{ tenant string }

func tokensOf(tenant int64) tokens { return tokens{strconv.FormatInt(tenant, 10) + "x"} }

func (t tokens) of(kind byte, text string) string { return string(kind) + t.tenant + text }

func (t tokens) object(name string) string { return t.of(objectToken, strings.ToLower(name)) }

func (t tokens) campaign(id string) string {
	return t.of(campaignToken, strings.ReplaceAll(id, "-", ""))
}

// text adds the tokens of a text to a list.
func (t tokens) text(list []string, kind byte, all []unit) []string {
	for i := range all {
		list = append(list, t.of(kind, gram(all, i)))
	}
	return list
}

// gram is what the index has of the unit at i: a word, or a character with the next one
// of its run.
func gram(all []unit, i int) string {
	switch u := &all[i]; {
	case !u.sole:
		token, _ := cut(u.text)
		return token
	case joined(all, i):
		return u.text + all[i+1].text
	default:
		return u.text
	}
}

// joined reports whether the unit at i and the next one are characters of one run.
func joined(all []unit, i int) bool {
	return i+1 < len(all) && all[i].sole && all[i+1].sole && all[i+1].glued
}

// digest tells lists of tokens apart, and sorts them.
func digest(list []string) ([]string, int64) {
	slices.Sort(list)
	list = slices.Compact(list)
	h := fnv.New64a()
	for _, token := range list {
		_, _ = h.Write([]byte(token))
		_, _ = h.Write([]byte{' '})
	}
	return list, int64(h.Sum64())
}

// wanted is a token that a record must have, or with start one that begins so.
type wanted struct {
	token string
	start bool
}

// wants are the tokens that every record of a relevance has; not every record that has
// them is of it.
func (t tokens) wants(q query, of Relevance) (all []wanted) {
	kind := byte(textToken)
	if of >= NameStarts {
		kind = nameToken
	}
	starts := of == NameStarts || of == Starts
	for i := range q {
		all = append(all, t.wantsOf(kind, &q[i], starts)...)
	}
	slices.SortFunc(all, func(a, b wanted) int { return strings.Compare(a.token, b.token) })
	return slices.Compact(all)
}

func (t tokens) wantsOf(kind byte, of *term, starts bool) (all []wanted) {
	for i := range of.units {
		u := &of.units[i]
		behind := i > 0 && joined(of.units, i-1)
		switch {
		case u.sole && joined(of.units, i):
			all = append(all, wanted{t.of(kind, gram(of.units, i)), false})
		case u.sole && behind: // it is in the token before
		case u.sole:
			all = append(all, wanted{t.of(kind, u.text), true})
		default:
			token, whole := cut(u.text)
			all = append(all, wanted{t.of(kind, token), starts && whole && of.start && i == len(of.units)-1})
		}
	}
	return all
}
