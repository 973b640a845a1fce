package recheck

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxSearch is the longest text to search for, in characters.
const MaxSearch = 64

// field is what a list can be sorted by.
type field uint8

const (
	byID field = iota
	byName
	byHealth
	byChecked
	fields // how many there are
)

var fieldNames = [fields]string{"id", "name", "health", "last_checked_at"}

// Sort is the order of a list. What is alike is in the order of its ids, in the same
// direction. A strategy that was never checked counts as checked before all others.
// The zero value is by id, ascending.
type Sort struct {
	by   field
	desc bool
}

// ParseSort reads "last_checked_at.desc".
func ParseSort(text string) (Sort, error) {
	name, direction, _ := strings.Cut(text, ".")
	by := slices.Index(fieldNames[:], name)
	if by < 0 || direction != "asc" && direction != "desc" {
		return Sort{}, unfit("sort must be one of %s, with .asc or .desc behind it", strings.Join(fieldNames[:], ", "))
	}
	return Sort{field(by), direction == "desc"}, nil
}

// Query is which strategies are wanted. What is zero asks for nothing.
type Query struct {
	Text    string   // part of the id or the name, in whatever case; no character of it is special
	TagsAny []string // has one of them
	Health  []Health // is one of them
	Sort    Sort
	Offset  int
	Limit   int
}

// ParseText reads a text to search for.
func ParseText(text string) (string, error) {
	text = norm.NFC.String(text)
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > MaxSearch ||
		strings.IndexFunc(text, unicode.IsControl) >= 0 {
		return "", unfit("q must be at most %d characters on one line", MaxSearch)
	}
	return text, nil
}

// ParseTags reads tags that are separated by commas.
func ParseTags(list string) ([]string, error) {
	tags := strings.Split(norm.NFC.String(list), ",")
	if len(tags) > MaxTags || slices.ContainsFunc(tags, func(tag string) bool { return !ValidTag(tag) }) {
		return nil, unfit("tags_any must be 1 to %d tags, separated by commas", MaxTags)
	}
	return tags, nil
}

// normalize is a text as it is searched: upper and lower case are one.
func normalize(text string) string { return strings.ToLower(text) }
