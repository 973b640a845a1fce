package schedules

import (
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/fault"
)

func TestDefinitionsAreReadStrictly(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                                                         "graph is missing",
		`{"graph":"a b","cron":"@daily"}`:                            "graph must be the id",
		`{"graph":"g"}`:                                              "cron is missing",
		`{"graph":"g","cron":"* * * *"}`:                             "cron must have five parts",
		`{"graph":"g","cron":"*/90 * * * *"}`:                        "step that is too long",
		`{"graph":"g","cron":"@daily","zone":"Mars"}`:                "zone must be a name",
		`{"graph":"g","cron":"@daily","zone":"Local"}`:               "zone must be a name",
		`{"graph":"g","cron":"@daily","nonexistent":"first"}`:        "nonexistent must be shift or skip",
		`{"graph":"g","cron":"@daily","ambiguous":"shift"}`:          "ambiguous must be first, second or both",
		`{"graph":"g","cron":"@daily","overlap":"allow"}`:            "overlap must be skip, queue or cancel",
		`{"graph":"g","cron":"@daily","catchUp":"9s"}`:               "catchUp must be between",
		`{"graph":"g","cron":"@daily","catchUp":"8761h"}`:            "catchUp must be between",
		`{"graph":"g","cron":"@daily","catchUp":"soon"}`:             "catchUp must be a duration",
		`{"graph":"g","cron":"@daily","input":[]}`:                   "input must be a JSON object",
		`{"graph":"g","cron":"@daily","input":null}`:                 "input must be a JSON object",
		`{"graph":"g","cron":"@daily","input":{"schedule":1}}`:       "may not have the member schedule",
		`{"graph":"g","cron":"@daily","every":"1h"}`:                 "every",
		`{"graph":"g","cron":"@daily","input":{"x":"` + long + `"}}`: "input has",
	} {
		_, err := ParseDefinition([]byte(body))
		failure, ok := fault.As(err)
		if !ok || failure.Kind != fault.Invalid || !strings.Contains(failure.Message, want) {
			t.Errorf("%.80s: got %v, want %q", body, err, want)
		}
	}
}

var long = strings.Repeat("x", MaxInput)

func TestTheInputOfAnExecutionNamesItsInstant(t *testing.T) {
	for input, want := range map[string]string{
		`{}`:             `{"schedule":`,
		`{"a":{"b":[]}}`: `{"a":{"b":[]},"schedule":`,
		`{ "a" : "}" }`:  `{"a":"}","schedule":`,
	} {
		d, err := ParseDefinition([]byte(`{"graph":"g","cron":"@daily","zone":"Asia/Tokyo","input":` + input + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.inputFor("s", at(0), ByBackfill)
		want += `{"id":"s","dueAt":"2026-01-05T09:00:00.000Z","localTime":"2026-01-05T18:00:00+09:00",` +
			`"origin":"backfill"}}`
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestTheRulesAboutClocksAreKept(t *testing.T) {
	for _, tt := range []struct{ cron, rules, from, want string }{
		{"30 2 * * *", `"nonexistent":"shift"`, "2026-03-28T12:00:00Z", "2026-03-29T03:00:00+02:00"},
		{"30 2 * * *", `"nonexistent":"skip"`, "2026-03-28T12:00:00Z", "2026-03-30T02:30:00+02:00"},
		{"30 2 * * *", `"ambiguous":"first"`, "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00"},
		{"30 2 * * *", `"ambiguous":"second"`, "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+01:00"},
		{"30 2 * * *", `"ambiguous":"both"`, "2026-10-25T00:30:00Z", "2026-10-25T02:30:00+01:00"},
		{"30 * * * *", `"ambiguous":"first"`, "2026-10-25T00:30:00Z", "2026-10-25T02:30:00+01:00"}, // it counts hours
	} {
		d, err := ParseDefinition([]byte(`{"graph":"g","cron":"` + tt.cron + `","zone":"Europe/Berlin",` + tt.rules +
			`}`))
		if err != nil {
			t.Fatal(err)
		}
		when, err := d.timing()
		if got := d.local(when.next(stamp(tt.from))); err != nil || got != tt.want {
			t.Errorf("%s %s after %s: got %s, %v, want %s", tt.cron, tt.rules, tt.from, got, err, tt.want)
		}
	}
}
