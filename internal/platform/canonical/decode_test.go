package canonical

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// sample has a field of every kind that bodies have.
type sample struct {
	Text     string            `json:"text"`
	Flag     bool              `json:"flag"`
	Count    int               `json:"count"`
	Small    int32             `json:"small"`
	Seq      uint64            `json:"seq"`
	Share    *float64          `json:"share"`
	Given    *int              `json:"given"`
	Raw      jsontext.Value    `json:"raw"`
	List     []sample          `json:"list"`
	Words    []string          `json:"words"`
	Labels   map[string]string `json:"labels"`
	ID       flow.ID           `json:"id"`
	At       flow.Time         `json:"at"`
	Timeout  flow.Duration     `json:"timeout"`
	Anything any               `json:"anything"`
}

func TestDecodeReads(t *testing.T) {
	share, given := 12.5, 3
	for _, tc := range []struct {
		in   string
		want sample
	}{
		{``, sample{}},
		{` {} `, sample{}},
		{`{"text":"x","flag":true,"words":["a"],"labels":{"a":"b"}}`, sample{
			Text: "x", Flag: true,
			Words: []string{"a"}, Labels: map[string]string{"a": "b"},
		}},
		{`{"count":14}`, sample{Count: 14}},
		{`{"count":14.0}`, sample{Count: 14}},
		{`{"count":1.4e1,"small":-2.0,"seq":1e3}`, sample{Count: 14, Small: -2, Seq: 1000}},
		{`{"count":-9223372036854775808}`, sample{Count: -9223372036854775808}},
		{`{"share":12.5,"given":3.0}`, sample{Share: &share, Given: &given}},
		{`{"raw":null}`, sample{Raw: jsontext.Value("null")}},
		{`{"raw":{"b":1.0,"a":[null]}}`, sample{Raw: jsontext.Value(`{"b":1.0,"a":[null]}`)}},
		{`{"anything":null}`, sample{}},
		{`{"list":[{"text":"y"}]}`, sample{List: []sample{{Text: "y"}}}},
	} {
		var got sample
		if err := Decode([]byte(tc.in), &got); err != nil {
			t.Errorf("%s: %v", tc.in, err)
		} else if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.in, diff)
		}
	}
}

func TestDecodeNamesWhatItRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:                                "the body must be an object",
		`null`:                              "the body must be an object",
		`"x"`:                               "the body must be an object",
		`{"text":1}`:                        "text must be a string",
		`{"text":null}`:                     "text must be a string",
		`{"flag":"true"}`:                   "flag must be true or false",
		`{"count":"1"}`:                     "count must be a whole number",
		`{"count":1.5}`:                     "count must be a whole number",
		`{"count":9223372036854775808}`:     "count must be a whole number",
		`{"count":1e400}`:                   "count must be a whole number",
		`{"count":null}`:                    "count must be a whole number",
		`{"small":2147483648}`:              "small must be a whole number",
		`{"seq":-1}`:                        "seq must be a whole number",
		`{"share":"1"}`:                     "share must be a number",
		`{"share":null}`:                    "share must be a number",
		`{"share":1e999}`:                   "share must be a number",
		`{"given":true}`:                    "given must be a whole number",
		`{"list":{}}`:                       "list must be an array",
		`{"list":null}`:                     "list must be an array",
		`{"list":[{},{"count":"x"}]}`:       "list[1].count must be a whole number",
		`{"list":[{},{"list":[{"no":1}]}]}`: "list[1].list[0].no is not a known field",
		`{"words":["a",2]}`:                 "words[1] must be a string",
		`{"labels":{"0":1}}`:                "labels[0] must be a string",
		`{"labels":{"a b":1}}`:              `labels."a b" must be a string`,
		`{"labels":[]}`:                     "labels must be an object",
		`{"id":"x"}`:                        "id must be a UUID",
		`{"id":1}`:                          "id must be a UUID",
		`{"id":null}`:                       "id must be a UUID",
		`{"at":"yesterday"}`:                "at must be an RFC 3339 time",
		`{"timeout":"soon"}`:                "timeout must be a duration such as 50ms, 2s or 24h",
		`{"Text":"x"}`:                      "Text is not a known field",
		`{"unknown":1}`:                     "unknown is not a known field",
		`{"\u0000\n":1}`:                    `"\x00\n" is not a known field`,
		`{"raw":{"a":1,"a":2}}`:             `the body holds the member "a" twice`,
		"{\"raw\":{\"é\":1,\"e\u0301\":2}}": `the body holds the member "é" twice`,
		`{"raw":1e99999}`:                   "the body holds a number with an exponent beyond ±9999",
		`{"text":"\ud800"}`: "the body is not valid JSON: a string holds half of a surrogate pair " +
			"(byte 15)",
		`{"text":"x"`: "the body is not valid JSON: it ends too early (byte 11)",
		`{} x`:        "the body is not valid JSON: there is something after the JSON value (byte 3)",
		`{"raw":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`: "the body is nested deeper than 64 levels",
	} {
		var into sample
		err := Decode([]byte(in), &into)
		failure, ok := fault.As(err)
		if !ok || failure.Kind != fault.Invalid || failure.Code != CodeInvalid || failure.Message != want {
			t.Errorf("%s:\n got %v\nwant %s", in, err, want)
			continue
		}
		details, _ := failure.Details.(map[string]string)
		if field := details["field"]; strings.HasPrefix(want, "the body") != (field == "") ||
			!strings.HasPrefix(want, field) {
			t.Errorf("%s: the details name the field %q", in, field)
		}
	}
}

type opinionated struct{}

func (*opinionated) UnmarshalJSON([]byte) error {
	return fault.New(fault.Invalid, "", "choose one of red, green")
}

func TestDecodeReturnsTheErrorsOfTypes(t *testing.T) {
	var into struct {
		Colour opinionated `json:"colour"`
	}
	err := Decode([]byte(`{"colour":"blue"}`), &into)
	if failure, _ := fault.As(err); failure == nil || failure.Message != "colour: choose one of red, green" {
		t.Errorf("got %v", err)
	}
}

func TestDecodeNeverShowsGoTypes(t *testing.T) {
	for _, kind := range []any{
		new(int8), new(uint16), new([4]int), new(map[int]int), new(chan int), new([]byte),
		new(flow.Type),
	} {
		for _, in := range []string{`"x"`, `-1`, `[1]`, `{"a":1}`, `null`, `true`} {
			holder := reflect.New(reflect.TypeOf(kind).Elem())
			err := Decode([]byte(in), holder.Interface())
			if err == nil {
				continue
			}
			failure, _ := fault.As(err)
			for _, word := range []string{"flow.", "Go ", "int8", "uint", "chan", "[]", "map["} {
				if strings.Contains(failure.Message, word) {
					t.Errorf("%s into %T: %s", in, kind, failure.Message)
				}
			}
		}
	}
}

func TestParseInt(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "-0": 0, "14": 14, "14.0": 14, "1.4e1": 14, "-7": -7,
		"9223372036854775807": 9223372036854775807,
	} {
		if got, ok := ParseInt([]byte(in)); !ok || got != want {
			t.Errorf("%s: got %d, %v", in, got, ok)
		}
	}
	for _, in := range []string{
		"", "1.5", "01", "1 ", "x", `"1"`, "9223372036854775808", "1e30", "1e99999", "null",
		"-",
	} {
		if got, ok := ParseInt([]byte(in)); ok {
			t.Errorf("%s: got %d", in, got)
		}
	}
}
