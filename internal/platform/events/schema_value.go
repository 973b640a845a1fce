package events

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/canonical"
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
	if !bytes.HasPrefix(w.In[w.Pos:], []byte(word)) {
		return w.Fail("a JSON value was expected")
	}
	w.Pos += len(word)
	if r.kinds&kind == 0 {
		return r.wrongKind()
	}
	if r.truth != "" && r.truth != word {
		return &violation{what: "must be " + r.truth}
	}
	return nil
}

func (w *walker) number(r *rule) error {
	start := w.Pos
	exponent, err := w.SkipNumber()
	if err != nil {
		return err
	}
	w.again = w.again || exponent || w.Pos-start > canonical.MaxExponent
	switch {
	case r.kinds&kindNumber != 0:
		return nil
	case r.kinds&kindInteger == 0:
		return r.wrongKind()
	}
	if v, ok := canonical.ParseInt(w.In[start:w.Pos]); !ok || v < r.low || v > r.high {
		if r.low == r.high {
			return &violation{what: fmt.Sprintf("must be %d", r.low)}
		}
		return &violation{what: fmt.Sprintf("must be a whole number from %d to %d", r.low, r.high)}
	}
	return nil
}

// text reads a string.
func (w *walker) text(r *rule) error {
	raw, form, err := w.Quoted()
	if err != nil || r == anything {
		return err
	}
	if r.kinds&kindString == 0 {
		return r.wrongKind()
	}
	if form&canonical.Escapes != 0 {
		raw = canonical.Decoded(raw)
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
		if !canonical.IsDate(text) {
			return "must be a date such as 2026-01-31"
		}
	case formatTime:
		if new(canonical.Stamp).UnmarshalText(text) != nil {
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
