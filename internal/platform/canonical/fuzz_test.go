package canonical

import (
	"bytes"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
)

var seeds = []string{
	``, `{}`, `[]`, `{"b":1,"a":[1.50,-0,1e21,"e\u0301","\ud83d\ude00"]}`, `{"a":1,"\u0061":2}`, `"\ud800"`,
	`1e9999999999`,
	"{\"e\u0301\":1,\"é\":2}", `{"count":14.0,"list":[{"text":null}]}`, `[[[[[[[[[[[[]]]]]]]]]]]]`, "\xff", `{"a":1}x`,
	"\"a\u0301\u0323\u0323\"",
}

// stricter are the refusals that go beyond RFC 7493.
var stricter = regexp.MustCompile("twice|exponent beyond|nested deeper")

// FuzzCanonical holds the scanner against the library's: whatever is accepted is
// JSON by the strict rules of RFC 7493 too, and its canonical form is a fixed point.
func FuzzCanonical(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := Canonical(nil, body, Options{})
		if err != nil {
			if fault.KindOf(err) != fault.Invalid || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q: %v", body, err)
			}
			if jsontext.Value(body).IsValid() && !stricter.MatchString(err.Error()) {
				t.Fatalf("refused %q, which is valid: %v", body, err)
			}
			return
		}
		if !jsontext.Value(body).IsValid() {
			t.Fatalf("accepted %q, which is not valid", body)
		}
		again, err := Canonical(nil, got, Options{})
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("%q: %q, then %q, %v", body, got, again, err)
		}
		if len(got) > 3*len(body)+16 {
			t.Fatalf("%d bytes became %d", len(body), len(got))
		}
	})
}

// FuzzDecode: any body is decoded, or refused as invalid with a clean message.
func FuzzDecode(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var into sample
		err := Decode(body, &into)
		if err == nil {
			return
		}
		failure, ok := fault.As(err)
		if !ok || failure.Kind != fault.Invalid || failure.Message == "" || !utf8.ValidString(failure.Message) {
			t.Fatalf("%q: %v", body, err)
		}
	})
}

// FuzzKey: what is taken as a key is safe in a header, a log line and a database.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"", "k", "a\r\nX: y", "é", "\x7f", "ok key"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		want := len(key) >= 1 && len(key) <= 255
		for _, r := range key {
			want = want && r >= 0x20 && r <= 0x7e
		}
		if Key(key) != want {
			t.Fatalf("Key(%q) is %v", key, !want)
		}
	})
}
