package inbound

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

// numbered is a number that was given and can be used.
func numbered(n int64) Number { return Number{Given: true, Valid: true, N: n} }

// wrong is something that was given for a number and is none.
var wrong = Number{Given: true}

func TestDeliveriesAreRead(t *testing.T) {
	long := strings.Repeat("é", MaxText)
	for _, tt := range []struct {
		body string
		want Delivery
	}{
		{``, Delivery{}},
		{`{}`, Delivery{}},
		{" \n{}\t", Delivery{}},
		{`{"unknown":[{"a":null}],"TEMPLATE_ID":5,"Template_Id":7}`, Delivery{}},
		{
			`{"template_id":"a","event_name":"b","source":"c","mfcloud_url":"d","notes":"e",` +
				`"idempotency_key":"f","year":2026,"month":2}`,
			Delivery{"a", "b", "c", "d", "e", "f", numbered(2026), numbered(2), ""},
		},
		// Both spellings.
		{`{"templateId":"a"}`, Delivery{TemplateID: "a"}},
		{`{"eventName":"a"}`, Delivery{EventName: "a"}},
		{`{"event_source":"a"}`, Delivery{Source: "a"}},
		{`{"idempotencyKey":"a"}`, Delivery{Key: "a"}},
		{`{"event_id":"a"}`, Delivery{Key: "a"}},
		{`{"eventId":"a"}`, Delivery{Key: "a"}},
		// The first spelling goes before the second, whatever their order; nothing goes before nothing.
		{`{"templateId":"b","template_id":"a"}`, Delivery{TemplateID: "a"}},
		{`{"eventName":"b","event_name":"a"}`, Delivery{EventName: "a"}},
		{`{"event_source":"b","source":"a"}`, Delivery{Source: "a"}},
		{`{"templateId":"b","template_id":""}`, Delivery{TemplateID: "b"}},
		{`{"eventName":"b","event_name":null}`, Delivery{EventName: "b"}},
		{`{"event_source":"b","source":""}`, Delivery{Source: "b"}},
		// null and "" are absent.
		{`{"template_id":null,"event_name":"","source":null,"mfcloud_url":"","notes":null,"idempotency_key":"",` +
			`"year":null,"month":""}`, Delivery{}},
		// Years and months.
		{`{"year":2026.0,"month":2e0}`, Delivery{Year: numbered(2026), Month: numbered(2)}},
		{`{"year":"2026","month":"02"}`, Delivery{Year: numbered(2026), Month: numbered(2)}},
		{`{"year":"0","month":"000"}`, Delivery{Year: numbered(0), Month: wrong}},
		{`{"year":-1,"month":0}`, Delivery{Year: numbered(-1), Month: numbered(0)}},
		{`{"year":"abc","month":2.5}`, Delivery{Year: wrong, Month: wrong}},
		{`{"year":" 2026","month":"2 "}`, Delivery{Year: wrong, Month: wrong}},
		{`{"year":"+2026","month":"0x2"}`, Delivery{Year: wrong, Month: wrong}},
		{`{"year":1e400,"month":99999999999999999999}`, Delivery{Year: wrong, Month: wrong}},
		{`{"year":"２０２６"}`, Delivery{Year: wrong}},
		// Nothing is cut off, and nothing is refused for its characters.
		{`{"source":" a\u2028\u0000\n "}`, Delivery{Source: " a\u2028\x00\n "}},
		{`{"notes":"` + strings.Repeat("x", MaxNotes) + `"}`, Delivery{Notes: strings.Repeat("x", MaxNotes)}},
		{`{"template_id":"` + long + `"}`, Delivery{TemplateID: long}},
		{`{"mfcloud_url":"` + strings.Repeat("é", MaxURL) + `"}`, Delivery{MFCloudURL: strings.Repeat("é", MaxURL)}},
	} {
		got, err := ParseDelivery([]byte(tt.body), "")
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%.80s: %v (-want +got):\n%s", tt.body, err, diff)
		}
	}
}

func TestTheFirstOfTheFiveKeysIsTheKey(t *testing.T) {
	sources := []string{"idempotency_key", "idempotencyKey", "event_id", "eventId", "x-idempotency-key"}
	parse := func(given map[string]string) string {
		var members []string
		for _, name := range sources[:4] {
			if value, ok := given[name]; ok {
				members = append([]string{fmt.Sprintf("%q:%q", name, value)}, members...)
			}
		}
		d, err := ParseDelivery([]byte("{"+strings.Join(members, ",")+"}"), given[sources[4]])
		if err != nil {
			t.Fatal(err)
		}
		return d.Key
	}
	for i, first := range sources {
		if got := parse(map[string]string{first: "one"}); got != "one" {
			t.Errorf("%s alone: got %q", first, got)
		}
		for _, second := range sources[i+1:] {
			if got := parse(map[string]string{first: "one", second: "two"}); got != "one" {
				t.Errorf("%s and %s: got %q", first, second, got)
			}
			if got := parse(map[string]string{first: "", second: "two"}); got != "two" {
				t.Errorf("an empty %s and %s: got %q", first, second, got)
			}
			// The source is chosen before the key is looked at.
			if got := parse(map[string]string{first: "not a key", second: "two"}); got != "" {
				t.Errorf("a bad %s and %s: got %q", first, second, got)
			}
		}
	}
}

func TestAKeyThatCannotBeUsedIsNone(t *testing.T) {
	const all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@-"
	for key, want := range map[string]bool{
		all: true, "a": true, strings.Repeat("k", 128): true, strings.Repeat("k", 129): false,
		" a": false, "a ": false, "a b": false, "a/b": false, "é": false, "a\u2028": false, "a\x00": false,
		"a\n": false, "a+b": false, "a,b": false, "": false,
	} {
		got, err := ParseDelivery(nil, key)
		if err != nil || (got.Key == key && key != "") != want || !want && got.Key != "" {
			t.Errorf("header %q: got %q %v", key, got.Key, err)
		}
	}
	for c := range 256 {
		if got, want := validKey(string([]byte{byte(c)})), strings.IndexByte(all, byte(c)) >= 0; got != want {
			t.Errorf("byte %d: got %v, want %v", c, got, want)
		}
	}
}

func TestWhatCannotBeReadIsRefusedByName(t *testing.T) {
	const both = `{"event_id":"a","eventId":7}`
	for body, want := range map[string]string{
		`[]`:                    "the body must be an object",
		`"x"`:                   "the body must be an object",
		`null`:                  "the body must be an object",
		`{"template_id":5}`:     "template_id must be a string",
		`{"templateId":{}}`:     "templateId must be a string",
		`{"event_name":[]}`:     "event_name must be a string",
		`{"eventName":true}`:    "eventName must be a string",
		`{"source":1}`:          "source must be a string",
		`{"event_source":1}`:    "event_source must be a string",
		`{"mfcloud_url":1}`:     "mfcloud_url must be a string",
		`{"notes":false}`:       "notes must be a string",
		`{"idempotency_key":7}`: "idempotency_key must be a string",
		`{"idempotencyKey":7}`:  "idempotencyKey must be a string",
		`{"event_id":7}`:        "event_id must be a string",
		`{"eventId":7}`:         "eventId must be a string",
		both:                    "eventId must be a string", // also where another goes before it
		`{"year":true}`:         "year must be a whole number",
		`{"month":[2]}`:         "month must be a whole number",
		`{"month":{}}`:          "month must be a whole number",
		`{"template_id":"` + strings.Repeat("é", MaxText+1) + `"}`: "template_id is longer than 255 characters",
		`{"eventName":"` + strings.Repeat("é", MaxText+1) + `"}`:   "eventName is longer than 255 characters",
		`{"source":"` + strings.Repeat("é", MaxText+1) + `"}`:      "source is longer than 255 characters",
		`{"mfcloud_url":"` + strings.Repeat("x", MaxURL+1) + `"}`:  "mfcloud_url is longer than 2048 characters",
		`{"notes":"` + strings.Repeat("x", MaxNotes+1) + `"}`:      "notes are longer than 8192 bytes",
		`{"notes":"` + strings.Repeat("é", MaxNotes/2+1) + `"}`:    "notes are longer than 8192 bytes",
	} {
		got, err := ParseDelivery([]byte(body), "")
		failure, _ := fault.As(err)
		if failure == nil || failure.Kind != fault.Invalid || failure.Message != want ||
			failure.Reason != fault.RefusedField ||
			got != (Delivery{}) && body != both {
			t.Errorf("%.60s: got %+v %v, want %q", body, got, err, want)
		}
	}
}

// Whoever looks into the log finds out who sent what was refused, and for what.
func TestOfARefusedDeliveryIsKeptWhatCouldBeRead(t *testing.T) {
	const good = `"template_id":"a","event_name":"b","source":"c","mfcloud_url":"d","idempotency_key":"f","month":2`
	want := Delivery{TemplateID: "a", EventName: "b", Source: "c", MFCloudURL: "d", Key: "f", Month: numbered(2)}
	for _, bad := range []string{
		`"year":true`, `"notes":5`, `"notes":"` + strings.Repeat("x", MaxNotes+1) + `"`,
		`"templateId":7`, `"event_source":"` + strings.Repeat("x", MaxText+1) + `"`, `"eventId":[]`,
	} {
		got, err := ParseDelivery([]byte("{"+good+","+bad+"}"), "")
		if diff := cmp.Diff(want, got); diff != "" || err == nil {
			t.Errorf("%.60s: %v (-want +got):\n%s", bad, err, diff)
		}
	}
	long := strings.Repeat("x", MaxURL+1)
	got, err := ParseDelivery([]byte(`{"template_id":"`+long+`","source":"`+long+`","event_name":"`+long+
		`","mfcloud_url":"`+long+`","event_id":"`+long+`"}`), "")
	if got != (Delivery{}) || err == nil {
		t.Errorf("what is too long is not kept: got %+v %v", got, err)
	}
}

func TestWhatIsNotStrictJSONIsRefused(t *testing.T) {
	for _, body := range []string{
		`{`, `{}{}`, `x`, ` `, `{"a":1,"a":2}`, `{"year":01}`, `{"notes":"` + "\xff" + `"}`, `{"notes":"\ud800"}`,
		"{\"notes\":\"a\nb\"}",
		strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100),
	} {
		_, err := ParseDelivery([]byte(body), "")
		failure, _ := fault.As(err)
		if failure == nil || failure.Kind != fault.Invalid || failure.Message == "" ||
			failure.Reason != fault.RefusedField {
			t.Errorf("%.60q: got %v", body, err)
		}
	}
}

func FuzzParseDelivery(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `[]`, `{"template_id":"a","eventId":"k","year":"02","month":2.0}`, `{"notes":"\u2028","source":null}`,
		`{"year":1e9999}`,
	} {
		f.Add([]byte(body), "key")
	}
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		d, err := ParseDelivery(body, header)
		if err != nil {
			failure, ok := fault.As(err)
			if !ok || failure.Kind != fault.Invalid || failure.Message == "" || failure.Reason != fault.RefusedField ||
				d != (Delivery{}) {
				t.Fatalf("got %+v %v", d, err)
			}
			return
		}
		for text, limit := range map[string]int{
			d.TemplateID: MaxText, d.EventName: MaxText, d.Source: MaxText,
			d.MFCloudURL: MaxURL, d.Notes: MaxNotes,
		} {
			if !utf8.ValidString(text) || utf8.RuneCountInString(text) > limit {
				t.Fatalf("got %q", text)
			}
		}
		if d.Key != "" && !validKey(d.Key) {
			t.Fatalf("got the key %q", d.Key)
		}
	})
}
