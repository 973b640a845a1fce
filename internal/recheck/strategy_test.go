package recheck

import (
	"fmt"
	"strings"
	"testing"
)

func TestADraftThatBreaksARuleIsRefusedByTheNameOfItsMember(t *testing.T) {
	for body, want := range map[string]string{
		``:                            "the body must be a JSON object",
		`[]`:                          "the body must be an object",
		`{}`:                          "name is missing",
		`{"name":7}`:                  "name must be a string",
		`{"name":null}`:               "name must be a string",
		`{"name":""}`:                 "name must be 1 to 200 characters on one line",
		`{"name":"a\nb"}`:             "name must be 1 to 200 characters on one line",
		`{"name":"n","nome":1}`:       "nome is not a known field",
		`{"name":"n","Name":"n"}`:     "Name is not a known field",
		`{"name":"n","id":"Upper"}`:   "id must be 1 to 128 of a-z 0-9 . _ -",
		`{"name":"n","id":3}`:         "id must be a string",
		`{"name":"n","tags":"daily"}`: "tags must be an array",
		`{"name":"n","tags":["a",1]}`: "tags[1] must be a string",
		`{"name":"n","tags":["a","b,c"]}`: "tags[1] must be 1 to 64 characters on one line, without commas or blanks " +
			"around it",
		`{"name":"n","tags":[" a"]}`: "tags[0] must be 1 to 64 " +
			"characters on one line, without commas or blanks around it",
		`{"name":"n","tags":[""]}`: "tags[0] must be 1 to 64 " +
			"characters on one line, without commas or blanks around it",
		`{"name":"n","health":"well"}`: "health must be healthy, " +
			"degraded or unknown",
		`{"name":"n","health":false}`: "health must be a string",
		`{"name":"n","metrics":[1]}`:  "metrics must be an object",
		`{"name":"n","metrics":null}`: "metrics must be an object",
		`{"name":"n","last_checked_at":"yesterday"}`: "last_checked_at must be an " +
			"RFC 3339 time, such as 2026-01-05T09:00:00Z, or null",
		`{"name":"n","last_checked_at":5}`: "last_checked_at must be an " +
			"RFC 3339 time, such as 2026-01-05T09:00:00Z, or null",
		fmt.Sprintf(`{"name":%q}`,
			strings.Repeat("戦", MaxName+1)): "name must be 1 to 200 characters on one line",
		`{"name":"n","tags":["a"` + strings.Repeat(`,"a"`, 16) + `]}`: "tags must be at most 16",
		fmt.Sprintf(`{"name":"n","metrics":{"x":%q}}`,
			strings.Repeat("x", MaxMetrics)): "metrics are larger than 4096 bytes",
	} {
		_, err := ParseDraft([]byte(body))
		if got := message(err); got != want {
			t.Errorf("%.60s: got %q (%v), want %q", body, got, err, want)
		}
	}
	for _, body := range []string{
		`{"name":"a","name":"b"}`, `{"name":"a"} x`, "{\"name\":\"\xff\"}",
		`{"name":"\ud800"}`, `{`,
	} {
		if _, err := ParseDraft([]byte(body)); message(err) == "" {
			t.Errorf("%q: got %v, want a refusal", body, err)
		}
	}
	if _, err := ParseDraft(fmt.Appendf(nil, `{"name":%q}`, strings.Repeat("戦", MaxName))); err != nil {
		t.Errorf("the longest name: got %v", err)
	}
}

func TestIDsAreOfSmallLettersDigitsAndThreeSigns(t *testing.T) {
	for id, want := range map[string]bool{
		"strat.meanrev.m1": true, "a": true, "0_-.": true, strings.Repeat("a", 128): true,
		"": false, "A": false, "a b": false, "a/b": false, "ä": false, "a\n": false, strings.Repeat("a", 129): false,
	} {
		if got := ValidID(id); got != want {
			t.Errorf("%q: got %v, want %v", id, got, want)
		}
	}
}

func TestTheParametersOfAListAreRefusedOutsideTheirRules(t *testing.T) {
	for _, bad := range []string{"", "id", "id.up", ".asc", "ID.asc", "tags.asc", "id.asc.desc", "id.ASC"} {
		if _, err := ParseSort(bad); message(err) == "" {
			t.Errorf("sort %q: got %v, want a refusal", bad, err)
		}
	}
	for _, bad := range []string{strings.Repeat("あ", 65), "a\x00b", "a\nb", "\xff"} {
		if _, err := ParseText(bad); message(err) == "" {
			t.Errorf("q %q: got %v, want a refusal", bad, err)
		}
	}
	if _, err := ParseText(strings.Repeat("あ", 64)); err != nil {
		t.Errorf("the longest q: got %v", err)
	}
	for _, bad := range []string{"", "a,", ",a", "a,,b", " a", "a, b", strings.Repeat("a,", 16) + "a", "\xff"} {
		if _, err := ParseTags(bad); message(err) == "" {
			t.Errorf("tags_any %q: got %v, want a refusal", bad, err)
		}
	}
}
