package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/wire"
)

// Fits says what is wrong with a JSON value for a field: an error that goes on "value …",
// nil when it fits. null empties a field that may be empty. Whether a reference leads
// to a record is not looked at.
func (f *Field) Fits(v jsontext.Value) error {
	if v.Kind() == jsontext.KindNull {
		if f.Required || f.Type == Boolean {
			return errors.New("must not be null")
		}
		return nil
	}
	switch f.Type {
	case Number, Currency, Percent:
		if v.Kind() != jsontext.KindNumber {
			return errors.New("must be a number")
		}
		return nil
	case Integer:
		if _, whole := wire.ParseInt(v); v.Kind() != jsontext.KindNumber || !whole {
			return errors.New("must be a whole number")
		}
		return nil
	case Boolean:
		if v.Kind() != jsontext.KindTrue && v.Kind() != jsontext.KindFalse {
			return errors.New("must be true or false")
		}
		return nil
	}
	if v.Kind() != jsontext.KindString {
		return errors.New("must be a string")
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return errors.New("must be a string")
	}
	return f.fitsText(string(text))
}

// fitsText checks the types that are strings.
func (f *Field) fitsText(s string) error {
	switch f.Type {
	case Picklist:
		if !slices.Contains(f.Values, s) {
			return errors.New("must be one of the values of the picklist")
		}
	case Reference:
		if !ValidID(s) {
			return errors.New("must be the id of a record, a UUID in lower case")
		}
	case Date:
		if _, err := time.Parse(time.DateOnly, s); err != nil || s < "0001" {
			return errors.New("must be a date, such as 2026-02-28")
		}
	case DateTime:
		if at, err := wire.ParseStamp(s); err != nil || at.String() < "0001" {
			return errors.New("must be an RFC 3339 time, such as 2026-01-05T09:00:00Z")
		}
	default:
		return f.fitsLine(s)
	}
	return nil
}

func (f *Field) fitsLine(s string) error {
	switch {
	case f.Required && strings.TrimSpace(s) == "":
		return errors.New("must not be empty")
	case utf8.RuneCountInString(s) > f.MaxLength:
		return fmt.Errorf("must be at most %d characters", f.MaxLength)
	case f.Type != LongText && strings.ContainsFunc(s, unicode.IsControl):
		return errors.New("must be on one line")
	case f.Type == Email && s != "" && !strings.Contains(strings.Trim(s, "@"), "@"):
		return errors.New("must be an address, such as anna@example.com")
	case f.Type == URL && s != "" && !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://"):
		return errors.New("must begin with https:// or http://")
	}
	return nil
}
