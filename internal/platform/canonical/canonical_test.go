package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"renga.dev/renga/internal/platform/fault"
)

func TestCanonicalFormOf(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"an empty object", " { } ", `{}`},
		{"an empty array", "[\n]", `[]`},
		{"a scalar", " true ", `true`},
		{"white space everywhere", "\t{ \"a\" :\r\n[ 1 , null , false ] } ", `{"a":[1,null,false]}`},
		{"members out of order", `{"b":1,"a":2,"c":{"z":1,"y":2}}`, `{"a":2,"b":1,"c":{"y":2,"z":1}}`},
		{"array order kept", `[3,1,2]`, `[3,1,2]`},
		{"a prefix before the longer name", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{"names by code point, not UTF-16 unit", "{\"\U0001f600\":1,\"\uffee\":2}", "{\"\uffee\":2,\"\U0001f600\":1}"},
		{
			"names by code point, not by escape", `{"]":1,"\\":2,"[":3,"\"":4,"!":5,"#":6}`,
			`{"!":5,"\"":4,"#":6,"[":3,"\\":2,"]":1}`,
		},
		{"control names first", `{" ":1,"\u0001":2,"\n":3}`, `{"\u0001":2,"\n":3," ":1}`},
		{"names in NFC before sorting", "{\"e\u0301\":1,\"f\":2}", "{\"f\":2,\"é\":1}"},
		{"strings in NFC", "\"e\u0301 \u212b \u1100\u1161\"", `"é Å 가"`},
		{"strings with escaped marks", `"e\u0301"`, `"é"`},
		{"compatibility forms kept", "\"ﬁ ①\"", "\"ﬁ ①\""},
		{"escapes that need not be", `"\u0041\/\u00e9\u007f"`, "\"A/é\x7f\""},
		{"escapes that must be", `"\"\\\b\f\n\r\t\u0000\u001F"`, `"\"\\\b\f\n\r\t\u0000\u001f"`},
		{"line separators as they are", `"\u2028"`, "\"\u2028\""},
		{"a surrogate pair", `"\ud83d\uDE00"`, `"😀"`},
		{"a replacement character that was sent", `"\ufffd` + "\ufffd\"", "\"\ufffd\ufffd\""},
		{"duplicates in different objects", `[{"a":1},{"a":{"a":1}}]`, `[{"a":1},{"a":{"a":1}}]`},
		{"the deepest nesting", strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 64) +
			strings.Repeat("]", 64)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Canonical([]byte("prefix:"), []byte(tc.in), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if want := "prefix:" + tc.want; string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestCanonicalNumber(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "-0.0": "0", "0e999999999999": "0", "0.000e-5": "0",
		"14": "14", "14.0": "14", "1.4e1": "14", "140e-1": "14", "0.14E+2": "14", "-14.00": "-14",
		"9007199254740993": "9007199254740993", "9007199254740992": "9007199254740992",
		"0.1": "0.1", "0.10": "0.1", "-12.50": "-12.5", "1.5": "1.5",
		"123456789012345678901":                 "123456789012345678901",
		"1234567890123456789012":                "1.234567890123456789012e+21",
		"100000000000000000000":                 "100000000000000000000",
		"1000000000000000000000":                "1e+21",
		"1e20":                                  "100000000000000000000",
		"1e21":                                  "1e+21",
		"0.000001":                              "0.000001",
		"1.25e-6":                               "0.00000125",
		"0.0000001":                             "1e-7",
		"-1.50e-7":                              "-1.5e-7",
		"1e9999":                                "1e+9999",
		"1e-9999":                               "1e-9999",
		"0.1234567890123456789012":              "0.1234567890123456789012",
		"3.14159265358979323846264338327950288": "3.14159265358979323846264338327950288",
		"1e00000000000000000000000000000001":    "10",
	} {
		got, err := Canonical(nil, []byte(in), Options{})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, tc := range []struct{ name, in, say string }{
		{"nothing", "", "ends too early"},
		{"white space only", " \n", "ends too early"},
		{"a byte order mark", "\ufeff{}", "a JSON value was expected"},
		{"a word", "nul", "a JSON value was expected"},
		{"an upper-case word", "True", "a JSON value was expected"},
		{"NaN", "NaN", "a JSON value was expected"},
		{"a comment", "{/**/}", "member name"},
		{"single quotes", "{'a':1}", "member name"},
		{"a trailing comma in an object", `{"a":1,}`, "member name"},
		{"a trailing comma in an array", `[1,]`, "a JSON value was expected"},
		{"a missing colon", `{"a" 1}`, "':' was expected"},
		{"a missing comma", `[1 2]`, "',' or ']'"},
		{"an object that ends as an array", `{"a":1]`, "',' or '}'"},
		{"an open object", `{"a":1`, "ends too early"},
		{"an open string", `"abc`, "ends too early"},
		{"an open escape", `"\`, "ends too early"},
		{"an open hexadecimal escape", `"\u00`, "ends too early"},
		{"trailing data", `{} {}`, "something after"},
		{"a trailing letter", `1x`, "something after"},
		{"a control character", "\"a\nb\"", "control character"},
		{"an unknown escape", `"\x41"`, "unknown escape"},
		{"a bad hexadecimal escape", `"\u00zz"`, "hexadecimal"},
		{"a signed hexadecimal escape", `"\u+0a1"`, "hexadecimal"},
		{"a lone high surrogate", `"\ud800"`, "surrogate"},
		{"a lone low surrogate", `"\udc00"`, "surrogate"},
		{"two high surrogates", `"\ud800\ud800"`, "surrogate"},
		{"a surrogate in UTF-8", "\"\xed\xa0\x80\"", "UTF-8"},
		{"bad UTF-8", "\"\xff\"", "UTF-8"},
		{"overlong UTF-8", "\"\xc0\x80\"", "UTF-8"},
		{"bad UTF-8 in a name", "{\"\xff\":1}", "UTF-8"},
		{"a leading zero", "01", "malformed"},
		{"a plus sign", "+1", "a JSON value was expected"},
		{"a lone minus", "-", "ends too early"},
		{"no digit before the point", ".5", "a JSON value was expected"},
		{"no digit after the point", "1.", "ends too early"},
		{"no digit in the exponent", "1e+x", "exponent"},
		{"a hexadecimal number", "0x10", "something after"},
		{"an exponent that is too large", "1e10000", "exponent beyond"},
		{"an exponent that is too small", "1e-10000", "exponent beyond"},
		{"an exponent that overflows", "1e99999999999999999999999999", "exponent beyond"},
		{"a duplicate name", `{"a":1,"b":2,"a":1}`, `member "a" twice`},
		{"a duplicate name side by side", `{"a":1,"a":1}`, `member "a" twice`},
		{"a duplicate name by escape", `{"a":1,"\u0061":1}`, `member "a" twice`},
		{"a duplicate name by NFC", "{\"é\":1,\"e\u0301\":1}", `member "é" twice`},
		{"a duplicate name deep inside", `[[{"z":{"b":1,"a":1,"b":1}}]]`, `member "b" twice`},
		{"nesting of arrays", strings.Repeat("[", 65) + strings.Repeat("]", 65), "deeper than 64"},
		{"nesting of objects", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), "deeper than 64"},
		{"endless nesting", strings.Repeat("[", 1<<20), "deeper than 64"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Canonical([]byte("kept"), []byte(tc.in), Options{})
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(fmt.Sprint(err), tc.say) {
				t.Errorf("got %v, want an invalid input with %q", err, tc.say)
			}
			if string(got) != "kept" {
				t.Errorf("dst came back as %q", got)
			}
		})
	}
}

func TestMembersAreLeftOutAtTheTopOnly(t *testing.T) {
	omit := Options{Omit: []string{"trace_id", "k\"ey"}}
	for in, want := range map[string]string{
		`{"trace_id":"x"}`: `{}`,
		`{"b":{"trace_id":1},"trace_id":"x","a":[{"trace_id":2}]}`: `{"a":[{"trace_id":2}],"b":{"trace_id":1}}`,
		`{"a":1,"trace_id":"x","z":2}`:                             `{"a":1,"z":2}`,
		`{"a":1,"tr\u0061ce_id":"x"}`:                              `{"a":1}`,
		`{"k\"ey":1,"a":{"k\"ey":1}}`:                              `{"a":{"k\"ey":1}}`,
		`[{"trace_id":1}]`:                                         `[{"trace_id":1}]`,
	} {
		got, err := Canonical(nil, []byte(in), omit)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
	if _, err := Canonical(nil, []byte(`{"trace_id":1,"trace_id":2}`), omit); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a duplicate that is left out was let through: %v", err)
	}
}

// The digests come from the pseudo code of the source document, run by CPython.
func TestDigestEqualsTheDocumentsAlgorithm(t *testing.T) {
	for in, want := range map[string]string{
		`{"strategies":["mean_rev","trend"],"window":{"lookback_days":30},"reason":"daily",` +
			`"dry_run":false}`: "sha256:0998853acd9245b3f66dcdf0c23d1e076c16bb758dc48c0eb901aac9edee299d",
		"{\"理由\":\"か\u3099\",\"a\\n\":[1,2.5,null,true],\"\\u007f\":\"\\u2028/\"}": "" +
			"sha256:259333e80663b2cf78b6cc2ee41f1a8ba0dff45b89200cc11965cc5c68267f25",
	} {
		got, err := Digest([]byte(in), Options{})
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
}

// genValue draws a JSON text; members of objects come in any order.
func genValue(t *rapid.T, depth int) string {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number")
	case 2, 3:
		return genString(t)
	case 4:
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return genValue(t, depth-1) }), 0, 4).Draw(t,
			"items")
		return "[" + strings.Join(items, " , ") + "]"
	}
	members := genMembers(t, depth)
	return "{" + strings.Join(members, ", ") + "}"
}

func genString(t *rapid.T) string {
	quoted, err := jsontext.AppendQuote(nil, rapid.String().Draw(t, "text"))
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

// genMembers draws members with distinct names that stay distinct in NFC.
func genMembers(t *rapid.T, depth int) []string {
	seen := map[string]bool{}
	var members []string
	for range rapid.IntRange(0, 6).Draw(t, "n") {
		name := genString(t)
		same, err := Canonical(nil, []byte(name), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !seen[string(same)] {
			seen[string(same)] = true
			members = append(members, name+" : "+genValue(t, depth-1))
		}
	}
	return members
}

func TestCanonicalIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := genValue(t, 4)
		once, err := Canonical(nil, []byte(in), Options{})
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		twice, err := Canonical(nil, once, Options{})
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s: once %s, twice %s, %v", in, once, twice, err)
		}
	})
}

func TestOrderOfMembersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := genMembers(t, 3)
		a, errA := ParseIdempotencyKey("k", "e", []byte("{"+strings.Join(members, ",")+"}"))
		b, errB := ParseIdempotencyKey(
			"k",
			"e",
			[]byte("{ "+strings.Join(rapid.Permutation(members).Draw(t, "order"), "\n,")+
				"}"),
		)
		if errA != nil || errB != nil || a.Hash != b.Hash || len(Differing(a.Members, b.Members)) > 0 {
			t.Fatalf("%v %v: %v %v", members, a.Members, errA, errB)
		}
	})
}

// RFC 8785 is the oracle where its numbers are exact: floats in shortest form.
func TestNumbersHaveTheLayoutOfECMAScript(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			t.Skip()
		}
		want := jsontext.Value(fmt.Sprint(f))
		if err := want.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		got, err := Canonical(nil, fmt.Append(nil, f), Options{})
		if err != nil || string(got) != string(want) {
			t.Fatalf("%v: got %s, %v, want %s", f, got, err, want)
		}
	})
}

func TestHashIsShownAsHexadecimal(t *testing.T) {
	sum := sha256.Sum256([]byte(`{}`))
	got, err := Digest([]byte(" { }"), Options{})
	if want := "sha256:" + hex.EncodeToString(sum[:]); got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
