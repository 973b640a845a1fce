package events

import (
	"testing"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

var jsonSeeds = []string{
	``, `{}`, `[]`, `{"b":1,"a":[1.50,-0,1e21,"e\u0301","\ud83d\ude00"]}`, `{"a":1,"\u0061":2}`, `"\ud800"`,
	`1e9999999999`,
	"{\"e\u0301\":1,\"é\":2}", `{"count":14.0,"list":[{"text":null}]}`, `[[[[[[[[[[[[]]]]]]]]]]]]`, "\xff", `{"a":1}x`,
	"\"a\u0301\u0323\u0323\"",
}

// FuzzParseEvent: any body is read or refused with a clean message; what is read is
// strict JSON, and what passes the check comes back the same after it was written.
func FuzzParseEvent(f *testing.F) {
	for _, typ := range allTypes() {
		f.Add(golden(f, typ))
	}
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
		f.Add([]byte(`{"payload":{"fields":` + seed + `}}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := ParseEvent(body)
		if err == nil && canonical.Check(body) != nil {
			t.Fatalf("read %q, which is not strict: %v", body, canonical.Check(body))
		}
		if err == nil {
			err = e.CheckReceived()
		}
		if err != nil {
			failure, ok := fault.As(err)
			if !ok || failure.Kind != fault.Invalid && failure.Kind != fault.TooLarge || failure.Message == "" ||
				!utf8.ValidString(failure.Message) {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		again, err := ParseEvent(e.AppendJSON(nil))
		if err != nil {
			t.Fatalf("%q: written and refused: %v", body, err)
		}
		if err := again.CheckReceived(); err != nil {
			t.Fatalf("%q: written and refused: %v", body, err)
		}
		again.Payload, e.Payload = nil, nil
		if !sameEvent(&e, &again) {
			t.Fatalf("%q: got %+v, then %+v", body, e, again)
		}
	})
}

func sameEvent(a, b *Event) bool { return string(a.AppendJSON(nil)) == string(b.AppendJSON(nil)) }

// FuzzWalk: the walker is exactly as strict as Check.
func FuzzWalk(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	for _, typ := range allTypes() {
		f.Add(golden(f, typ))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var w walker
		got, want := w.walk(text, anything, 0), canonical.Check(text)
		if (got == nil) != (want == nil) {
			t.Fatalf("%q: the walker says %v, Check %v", text, got, want)
		}
	})
}
