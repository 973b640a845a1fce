package canonical

import (
	"encoding"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// Decode reads a body into a struct, strictly: it refuses what Canonical refuses, unknown members,
// wrong types, and null where the field does not read null itself (raw JSON does). A whole number
// such as 14.0 is an integer. An empty body is {}. The error is fault.Invalid; its message names the
// field and what was expected.
func Decode(body []byte, into any) error {
	if len(body) == 0 {
		body = empty
	}
	if err := Check(body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, into, strict); err != nil {
		return explain(err)
	}
	return nil
}

// Check reports whether a body is one strict JSON value; see Canonical.
func Check(body []byte) error {
	c := getCanon()
	defer c.release()
	return c.run(body, Options{})
}

var strict = json.JoinOptions(
	json.RejectUnknownMembers(true),
	json.WithUnmarshalers(json.UnmarshalFromFunc(decodeStrictly)),
)

// Expected is the error of a field that wanted something else: "a string".
type Expected string

func (e Expected) Error() string { return "expected " + string(e) }

// Whole is what an integer expects.
const Whole Expected = "a whole number"

// decodeStrictly reads integers in every spelling and refuses null; all other
// values are left to the library.
func decodeStrictly(dec *jsontext.Decoder, into any) error {
	switch dec.PeekKind() {
	case jsontext.KindNull:
		return refuseNull(into)
	case jsontext.KindNumber:
	default:
		return errors.ErrUnsupported
	}
	switch p := into.(type) {
	case *int:
		return decodeInt(dec, math.MinInt, math.MaxInt, func(n int64) { *p = int(n) })
	case *int32:
		return decodeInt(dec, math.MinInt32, math.MaxInt32, func(n int64) { *p = int32(n) })
	case *int64:
		return decodeInt(dec, math.MinInt64, math.MaxInt64, func(n int64) { *p = n })
	case *uint32:
		return decodeInt(dec, 0, math.MaxUint32, func(n int64) { *p = uint32(n) })
	case *uint64:
		return decodeInt(dec, 0, math.MaxInt64, func(n int64) { *p = uint64(n) })
	}
	return errors.ErrUnsupported
}

func decodeInt(dec *jsontext.Decoder, low, high int64, set func(int64)) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	n, ok := ParseInt(raw)
	if !ok || n < low || n > high {
		return Whole
	}
	set(n)
	return nil
}

// refuseNull lets null through only where the target reads JSON by itself.
func refuseNull(into any) error {
	switch into.(type) {
	case json.Unmarshaler, json.UnmarshalerFrom, *any:
		return errors.ErrUnsupported
	}
	return describe(reflect.TypeOf(into).Elem())
}

// explain turns an error of the library into a refusal for the caller. Its details name
// the field, when it is about one.
func explain(err error) error {
	field := fieldOf(err)
	refuse := func(what string) error {
		if field == theBody {
			return fault.New(fault.Invalid, CodeInvalid, "%s%s", field, what)
		}
		return fault.New(fault.Invalid, CodeInvalid, "%s%s", field, what).With(map[string]string{"field": field})
	}
	if failure, ok := fault.As(err); ok && failure.Message != "" {
		return refuse(": " + failure.Message)
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return fault.New(fault.Invalid, CodeInvalid, "the body is not valid JSON")
	}
	var want Expected
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return refuse(" is not a known field")
	case errors.As(err, &want):
	case semantic.GoType != nil:
		want = describe(semantic.GoType)
	default:
		return refuse(" is not valid")
	}
	return refuse(" must be " + string(want))
}

// theBody is what is refused when it is no field of it. No field has a blank in its path
// outside of quotes.
const theBody = "the body"

func fieldOf(err error) string {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) || semantic.JSONPointer == "" {
		return theBody
	}
	return FieldPath(semantic.JSONPointer)
}

// FieldPath is a JSON pointer as people write it: commands[3].attempt.
func FieldPath(pointer jsontext.Pointer) string {
	var path strings.Builder
	for token := range pointer.Tokens() {
		switch _, err := strconv.ParseUint(token, 10, 32); {
		case err == nil && path.Len() > 0:
			path.WriteString("[" + token + "]")
			continue
		case path.Len() > 0:
			path.WriteByte('.')
		}
		if !Name(token) {
			token = Quote([]byte(token))
		}
		path.WriteString(token)
	}
	return path.String()
}

// describe says in the words of JSON what a Go type reads.
func describe(t reflect.Type) Expected {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[flow.ID]():
		return "a UUID"
	case reflect.TypeFor[flow.Time]():
		return "an RFC 3339 time"
	case reflect.TypeFor[flow.Duration]():
		return "a duration such as 50ms, 2s or 24h"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		if !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return Whole
		}
	case reflect.Float64, reflect.Float32:
		return "a number"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 {
			return "an array"
		}
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.String:
		return "a string"
	}
	return "a valid value"
}
