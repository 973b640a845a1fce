package flow

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// Payloads written by hand and by reflection must be the same text.
func TestPayloadsByHandAreAsByReflection(t *testing.T) {
	odd := "a\"b\\\n\u2028é"
	payloads := []Payload{
		&ExecutionCreated{GraphID: odd},
		&ExecutionCanceled{Reason: odd, CompensationID: testID(3, 1)},
		&ExecutionCreated{GraphID: "g", BusinessKey: odd, Labels: Labels{{"a", odd}, {"b", "="}}},
		&ExecutionCreated{GraphID: "g", RerunOf: testID(7, 1)},
		&ExecutionCreated{GraphID: "g", Input: Data(`{"a":[1,2.50,null],"b":"é"}`), GraphVersion: 3, GraphDigest: odd},
		&ExecutionStarted{},
		&ExecutionStarted{StartedBy: &Actor{Kind: KindUser, ID: odd}},
		&ExecutionStarted{StartedBy: &Actor{Kind: KindSystem}},
		&ExecutionCompleted{},
		&ExecutionCompleted{Result: Data(`{"x":{}}`)},
		&NodeCreated{NodeID: "a", NodeType: WaitKind},
		&NodeCreated{NodeID: odd, NodeType: JoinKind, Meta: Data(`{}`)},
		&NodeReady{NodeID: "a"},
		&NodeReady{NodeID: odd, Attempt: 12},
		&NodeStarted{NodeID: "a", Attempt: 1},
		&NodeStarted{NodeID: odd, Attempt: 3, WorkerID: odd, Lease: 5, LeaseUntil: 1, TimeoutAt: scriptZero + 999},
		&NodeSucceeded{NodeID: "a"},
		&NodeSucceeded{NodeID: odd, Output: Data(`{}`)},
		&NodeSucceeded{NodeID: "a", Output: Data(`{"a":[1,2.50,null],"b":"é"}`)},
	}
	for _, ev := range examples() {
		payloads = append(payloads, ev.Payload)
	}
	for _, p := range payloads {
		want, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := AppendPayload([]byte("x"), p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("x"+string(want), string(got)); diff != "" {
			t.Errorf("%s (-reflection +hand):\n%s", p.Type(), diff)
		}
		again, err := ParsePayload(p.Type(), want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("%s does not survive the log (-written +read):\n%s", p.Type(), diff)
		}
	}
}

func TestPayloadsMayGainMembers(t *testing.T) {
	got, err := ParsePayload(NodeReadyType, []byte(`{"nodeId":"a","color":{"r":1},"attempt":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&NodeReady{NodeID: "a", Attempt: 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnvelopesAreReadStrictly(t *testing.T) {
	ev := examples()[9]
	line, err := AppendEnvelope(nil, &ev)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := UnmarshalEvent(line); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new string }{
		{"unknown member", `"seq"`, `"color":1,"seq"`},
		{"unknown type", `NODE_READY`, `NODE_SKIPPED`},
		{"no type", `"type":"NODE_READY",`, ``},
		{"no event id", `"eventId":"` + ev.ID.String() + `",`, ``},
		{"no execution id", `"executionId":"` + ev.Execution.String() + `",`, ``},
		{"no instant", `"occurredAt":"` + ev.At.String() + `",`, ``},
		{"unknown actor", `"kind":"external"`, `"kind":"robot"`},
		{"another version", `"schemaVersion":1`, `"schemaVersion":2`},
		{"no node", `"nodeId":"pay"`, `"nodeId":""`},
		{"no payload", `,"payload":{"nodeId":"pay","attempt":2}`, ``},
		{"twice the same member", `"seq":10`, `"seq":10,"seq":11`},
		{"trailing data", `}}`, `}} {}`},
		{"bad uuid", `"eventId":"0`, `"eventId":"x`},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(string(line), c.old, c.new, 1)
			if bad == string(line) {
				t.Fatalf("%q is not in %s", c.old, line)
			}
			if got, err := UnmarshalEvent([]byte(bad)); err == nil {
				t.Errorf("%s is read as %+v", bad, got)
			}
		})
	}
}

func TestOnlyTheEventOfAPayloadCanBeWritten(t *testing.T) {
	for _, ev := range []Event{
		{Type: NodeReadyType},
		{Type: NodeReadyType, Payload: &JoinPassed{NodeID: "j"}},
		{Type: typeEnd, Payload: &JoinPassed{NodeID: "j"}},
	} {
		if got, err := AppendEnvelope(nil, &ev); err == nil {
			t.Errorf("written: %s", got)
		}
	}
}

func TestEventsAreAValueForEncoders(t *testing.T) {
	want := struct{ Items []Event }{examples()}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Items []Event }
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInstantsAreWrittenAsTheStandardLibraryDoes(t *testing.T) {
	for _, at := range []time.Time{
		time.UnixMilli(1), time.UnixMilli(-1), time.UnixMilli(86_399_999), time.UnixMilli(86_400_000),
		time.Date(2000, 2, 29, 23, 59, 59, 999e6, time.UTC), time.Date(2100, 3, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC), time.Date(2026, 11, 5, 7, 8, 9, 10e6, time.UTC),
	} {
		want := at.UTC().Format("2006-01-02T15:04:05.000Z")
		if got := At(at).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		var back Time
		if err := back.UnmarshalText([]byte(want)); err != nil || back != At(at) {
			t.Errorf("%s is read as %d (%v), want %d", want, back, err, At(at))
		}
	}
}

func TestStatesThatAreNoneAreRefused(t *testing.T) {
	for _, bad := range []string{
		``, `[]`, `{"status":4}`, `{"nodes":[null]}`, `{"nodes":[{"id":"a","status":7}]}`,
		`{"seq":-1}`,
	} {
		if got, err := ParseState([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, got)
		}
	}
}

// What time.Parse lets pass and RFC 3339 does not have is no time.
func TestATimeIsStrictlyRFC3339(t *testing.T) {
	for text, right := range map[string]bool{
		"2026-01-05T09:00:00Z":            true,
		"2026-01-05T09:00:00.123456789Z":  true,
		"2026-01-05T09:00:00+09:00":       true,
		"2026-01-05T09:00:00.5-23:59":     true,
		"2026-01-05T9:00:00Z":             false,
		"2026-01-05T9:00:00.5Z":           false,
		"2026-01-05T09:00:00,5Z":          false,
		"2026-01-05T09:00:00+24:00":       false,
		"2026-01-05T09:00:00-24:00":       false,
		"2026-01-05T09:00:00+23:60":       false,
		"2026-01-05T24:00:00Z":            false,
		"2026-02-30T09:00:00Z":            false,
		"2026-01-05 09:00:00Z":            false,
		"2026-01-05T09:00:00":             false,
		"2026-01-05T09:00:00+0900":        false,
		"2026-01-05T9:00:00,123456+24:00": false,
		"2026-01-05T9:00:00+09:00":        false,
		"0000-00-00T00:00:00Z":            false,
		"2026-01-05":                      false,
	} {
		var got Time
		if err := got.UnmarshalText([]byte(text)); (err == nil) != right {
			t.Errorf("%s: got %v (%v), want it to be a time: %v", text, got, err, right)
		}
	}
}
