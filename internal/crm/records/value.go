package records

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/wire"
)

// The codes of what is refused about a field.
const (
	CodeFieldUnknown  = "FIELD_UNKNOWN"
	CodeFieldInvalid  = "FIELD_INVALID"
	CodeFieldRequired = "FIELD_REQUIRED"
	CodeFieldReadOnly = "FIELD_READ_ONLY"
	CodeFieldLocked   = "FIELD_LOCKED"
)

// Numbers have at most maxDigits significant digits, and so are exact in every reader of
// JSON, and lie between -maxNumber and maxNumber.
const (
	maxDigits = 15
	maxNumber = 1e15
)

// dateLayout is a date as fields have it.
const dateLayout = "2006-01-02"

// about is a refusal that names a field.
func about(code, field, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, code, format, args...).With(map[string]string{"field": field})
}

// unfit says what the value of a field must be.
func unfit(f *model.Field, format string, args ...any) error {
	e := about(CodeFieldInvalid, f.Name, format, args...)
	e.Message = f.Name + " " + e.Message
	return e
}

// parseValue reads the value of a field: a string, a float64, a bool, or nil when it is
// empty.
func parseValue(f *model.Field, raw jsontext.Value) (any, error) {
	if raw.Kind() == 'n' {
		if f.Type == model.Boolean {
			return false, nil // never empty
		}
		return nil, nil
	}
	switch f.Type {
	case model.Boolean:
		if k := raw.Kind(); k != 't' && k != 'f' {
			return nil, unfit(f, "must be true or false")
		}
		return raw.Kind() == 't', nil
	case model.Number, model.Currency, model.Percent, model.Integer:
		if raw.Kind() != '0' {
			return nil, unfit(f, "must be a number")
		}
		return parseNumber(f, string(raw))
	}
	if raw.Kind() != '"' {
		return nil, unfit(f, "must be a string")
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return nil, unfit(f, "must be a string in UTF-8")
	}
	return parseText(f, string(text))
}

func parseNumber(f *model.Field, text string) (any, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n <= -maxNumber || n >= maxNumber || digits(text) > maxDigits {
		return nil, unfit(f, "must be a number of at most %d digits", maxDigits)
	}
	if f.Type == model.Integer && n != float64(int64(n)) {
		return nil, unfit(f, "must be a whole number")
	}
	if n == 0 {
		n = 0 // also of -0
	}
	return n, nil
}

// digits counts the significant digits of a JSON number.
func digits(text string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	mantissa = strings.TrimLeft(strings.Replace(strings.TrimPrefix(mantissa, "-"), ".", "", 1), "0")
	return len(strings.TrimRight(mantissa, "0"))
}

// parseText reads the value of a field that is a string in JSON; an empty one is nil. Texts
// are kept in NFC, as definitions are: rules, picklists, filters and matches compare them.
func parseText(f *model.Field, text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	text = wire.NFC(text)
	switch f.Type {
	case model.Date:
		if _, err := time.Parse(dateLayout, text); err != nil || text < "0001" {
			return nil, unfit(f, "must be a date such as 2026-02-28")
		}
		return text, nil
	case model.DateTime:
		at, err := wire.ParseStamp(text)
		if err != nil || at.String() < "0001" {
			return nil, unfit(f, "must be an RFC 3339 time such as 2026-02-28T09:00:00Z")
		}
		return at.String(), nil
	case model.Picklist:
		if !slices.Contains(f.Values, text) {
			return nil, unfit(f, "must be one of %s", strings.Join(f.Values, ", "))
		}
		return text, nil
	case model.Reference:
		id := strings.ToLower(text)
		if !model.ValidID(id) {
			return nil, unfit(f, "must be the id of a record of %s", strings.Join(f.ReferenceTo, " or "))
		}
		return id, nil
	}
	return text, checkText(f, text)
}

func checkText(f *model.Field, text string) error {
	if n := utf8.RuneCountInString(text); f.MaxLength > 0 && n > f.MaxLength {
		return unfit(f, "may have at most %d characters, not %d", f.MaxLength, n)
	}
	for _, c := range text {
		if (c < ' ' || c == 0x7f) && (f.Type != model.LongText || c != '\n' && c != '\r' && c != '\t') {
			return unfit(f, "may have no control characters")
		}
	}
	switch f.Type {
	case model.Email:
		local, domain, _ := strings.Cut(text, "@")
		if local == "" || domain == "" || strings.ContainsAny(text, " <>,;") || strings.Contains(domain, "@") {
			return unfit(f, "must be an e-mail address such as ann@example.com")
		}
	case model.URL:
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return unfit(f, "must be a URL such as https://example.com")
		}
	}
	return nil
}
