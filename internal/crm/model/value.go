package model

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
)

// Numbers have at most MaxDigits significant digits, and so are exact in every reader of
// JSON, and lie between -maxNumber and maxNumber.
const (
	MaxDigits = 15
	maxNumber = 1e15
)

// Fits says what is wrong with a JSON value that a definition writes into a field: an error
// that goes on "value …", nil when it fits. null empties a field that may be empty. Whether
// a reference leads to a record is not looked at.
func (f *Field) Fits(raw jsontext.Value) error {
	value, err := f.Parse(raw)
	text, _ := value.(string)
	switch null := raw.Kind() == jsontext.KindNull; {
	case err != nil:
		return err
	case null && (f.Required || f.Type == Boolean):
		return errors.New("must not be null")
	case f.Required && strings.TrimSpace(text) == "" && f.Type.Textual(),
		!null && value == nil && !f.Type.Textual():
		return errors.New("must not be empty")
	}
	return nil
}

// Parse reads the value of a field: a string, a float64, a bool, or nil when it is empty. An
// error goes on "value …".
func (f *Field) Parse(raw jsontext.Value) (any, error) {
	kind := raw.Kind()
	if kind == jsontext.KindNull {
		if f.Type == Boolean {
			return false, nil // never empty
		}
		return nil, nil
	}
	switch f.Type {
	case Boolean:
		if kind != jsontext.KindTrue && kind != jsontext.KindFalse {
			return nil, errors.New("must be true or false")
		}
		return kind == jsontext.KindTrue, nil
	case Number, Currency, Percent, Integer:
		if kind != jsontext.KindNumber {
			return nil, errors.New("must be a number")
		}
		n, ok := ParseNumber(string(raw))
		switch {
		case !ok:
			return nil, fmt.Errorf("must be a number of at most %d digits", MaxDigits)
		case f.Type == Integer && n != float64(int64(n)):
			return nil, errors.New("must be a whole number")
		}
		return n, nil
	}
	if kind != jsontext.KindString {
		return nil, errors.New("must be a string")
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	switch {
	case err != nil:
		return nil, errors.New("must be a string in UTF-8")
	case len(text) == 0:
		return nil, nil
	}
	return f.parseText(string(text))
}

// ParseNumber reads a number that a field can have; ok says that it is one.
func ParseNumber(text string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(text, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	digits := strings.Trim(strings.Replace(strings.TrimPrefix(mantissa, "-"), ".", "", 1), "0")
	if err != nil || n <= -maxNumber || n >= maxNumber || len(digits) > MaxDigits {
		return 0, false
	}
	if n == 0 {
		n = 0 // also of -0
	}
	return n, true
}

// parseText reads a string that is not empty. Texts are kept in NFC, as definitions are:
// rules, picklists, filters and matches compare them.
func (f *Field) parseText(text string) (any, error) {
	text = canonical.NFC(text)
	switch f.Type {
	case Date:
		if _, err := time.Parse(time.DateOnly, text); err != nil || text < "0001" {
			return nil, errors.New("must be a date such as 2026-02-28")
		}
	case DateTime:
		at, err := canonical.ParseStamp(text)
		if err != nil || at.String() < "0001" {
			return nil, errors.New("must be an RFC 3339 time such as 2026-02-28T09:00:00Z")
		}
		return at.String(), nil
	case Picklist:
		if !slices.Contains(f.Values, text) {
			return nil, fmt.Errorf("must be one of %s", strings.Join(f.Values, ", "))
		}
	case Reference:
		id := strings.ToLower(text)
		if !ValidID(id) {
			return nil, fmt.Errorf("must be the id of a record of %s", strings.Join(f.ReferenceTo, " or "))
		}
		return id, nil
	default:
		return text, f.CheckText(text)
	}
	return text, nil
}

// CheckText says what is wrong with the text of a field that is Textual.
func (f *Field) CheckText(text string) error {
	if n := utf8.RuneCountInString(text); f.MaxLength > 0 && n > f.MaxLength {
		return fmt.Errorf("may have at most %d characters, not %d", f.MaxLength, n)
	}
	if strings.ContainsFunc(text, func(c rune) bool {
		return (c < ' ' || c == 0x7f) && (f.Type != LongText || c != '\n' && c != '\r' && c != '\t')
	}) {
		return errors.New("may have no control characters")
	}
	switch f.Type {
	case Email:
		local, domain, _ := strings.Cut(text, "@")
		if local == "" || domain == "" || strings.ContainsAny(text, " <>,;") || strings.Contains(domain, "@") {
			return errors.New("must be an e-mail address such as ann@example.com")
		}
	case URL:
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return errors.New("must be a URL such as https://example.com")
		}
	}
	return nil
}
