package schema

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDataFitsOrItsProblemsAreNamed(t *testing.T) {
	const form = `{"type":"object","required":["approved"],"additionalProperties":false,"properties":{` +
		`"approved":{"type":"boolean"},"amount":{"type":"number","maximum":1e3},"when":{"format":"date"},` +
		`"lines":{"type":"array","uniqueItems":true,"items":{"properties":{"code":{"pattern":"^[A-Z]{2}$"}}}}}}`
	s, err := New().Compile([]byte(form))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		data string
		want []Problem
	}{
		{`{"approved":true}`, nil},
		{`{"approved":false,"amount":1000,"when":"2026-02-28","lines":[{"code":"DE"},{}]}`, nil},
		{``, []Problem{{"output", "missing property 'approved'"}}},
		{`{}`, []Problem{{"output", "missing property 'approved'"}}},
		{`{"approved":"yes"}`, []Problem{{"output.approved", "got string, want boolean"}}},
		{`{"approved":true,"amount":1e300}`, []Problem{{"output.amount", "maximum: got 1×10³⁰⁰, want 1,000"}}},
		{`{"approved":true,"x":1}`, []Problem{{"output", "additional properties 'x' not allowed"}}},
		{
			`{"approved":true,"when":"2026-02-30"}`,
			[]Problem{{"output.when", "'2026-02-30' is not valid date: parsing time \"2026-02-30\": day out of range"}},
		},
		{
			`{"approved":true,"lines":[{},{"code":"de"}]}`,
			[]Problem{{"output.lines[1].code", "'de' does not match pattern '^[A-Z]{2}$'"}},
		},
	} {
		if diff := cmp.Diff(tt.want, s.Check([]byte(tt.data), "output")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.data, diff)
		}
	}
	var many strings.Builder
	for range 100 {
		many.WriteString(`{"code":"x"},`)
	}
	all := s.Check([]byte(`{"approved":true,"lines":[`+many.String()+`1]}`), "output")
	if len(all) != MaxProblems {
		t.Errorf("%d problems, want the first %d", len(all), MaxProblems)
	}
}

func TestASchemaThatCannotBeBoundedIsRefused(t *testing.T) {
	deep := strings.Repeat(`{"not":`, MaxDepth) + `{}` + strings.Repeat(`}`, MaxDepth)
	for text, want := range map[string]string{
		`true`:                                    "must be an object: a JSON Schema",
		`{"properties":{"a":{"$ref":"#"}}}`:       "properties.a.$ref is not a keyword that a schema may",
		`{"$id":"file:///etc/passwd"}`:            "$id is not a keyword",
		`{"requierd":["a"]}`:                      "requierd is not a keyword",
		`{"allOf":[{"$dynamicRef":"#a"}]}`:        "allOf[0].$dynamicRef is not a keyword",
		`{"type":"text"}`:                         "is no JSON Schema: schema.type value must be one of",
		`{"pattern":"("}`:                         "pattern is not a regular expression",
		`{"patternProperties":{"(":{}}}`:          "patternProperties is not a regular expression",
		`{"pattern":"((a{10}){10}){1000}"}`:       "is not a regular expression",
		`{"$schema":"http://example.com/own"}`:    "is no JSON Schema",
		deep:                                      "nests deeper than 32",
		`"` + strings.Repeat("x", MaxBytes) + `"`: "at most 16384 are allowed",
	} {
		_, err := New().Compile([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// TestNoCheckTakesLong asks schemas that were made to be slow, with the largest data that each takes.
func TestNoCheckTakesLong(t *testing.T) {
	slow := map[string]string{
		"patterns": `{"properties":{"a":{"allOf":[` + strings.Repeat(`{"pattern":"^(a|aa){200}$"},`, 20) + `{}]}}}`,
		"branches": `{"properties":{"l":{"items":{"anyOf":[` + strings.Repeat(`{"type":"null"},`, 500) + `{}]}}}}`,
		"values":   `{"properties":{"l":{"items":{"enum":[` + strings.Repeat(`[[[1]]],`, 1000) + `2]}}}}`,
	}
	for name, text := range slow {
		s, err := New().Compile([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n := min(1<<20, maxWork/s.weight)
		data := `{"a":"` + strings.Repeat("a", n-20) + `"}`
		if name != "patterns" {
			data = `{"l":[` + strings.Repeat("1,", min(n/2-10, maxChecks/s.parts-4)) + `1]}`
		}
		began := time.Now()
		problems := s.Check([]byte(data), "output")
		t.Logf("%s: weight %d, %d bytes, %d problems in %v", name, s.weight, len(data), len(problems),
			time.Since(began))
		if len(problems) == 1 && problems[0].Field == "output" {
			t.Errorf("%s was not asked: %v", name, problems)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	s, err := New().Compile([]byte(slow["branches"]))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Check(make([]byte, 1<<20), "output"); len(got) != 1 || !strings.Contains(got[0].Message, "too large") {
		t.Errorf("data beyond the limit: %v", got)
	}
}
