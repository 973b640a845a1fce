package events

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// payloads has every Go type of a payload, in the order of the document.
var payloads = []Payload{
	RecordCreated{},
	RecordUpdated{},
	RecordDeleted{},
	OwnerChanged{},
	StageChanged{},
	LeadConverted{},
	ApprovalSubmitted{},
	ApprovalDecided{},
	MetadataChanged{},
	PermissionChanged{},
	SharingUpdated{},
	RoleHierarchyChanged{},
	GroupMemberChanged{},
	TeamMemberChanged{},
	TerritoryAssignmentChanged{},
	SharingConfigChanged{},
	AutomationConfigChanged{},
	ApprovalConfigChanged{},
	SharingRebuildCompleted{},
	CampaignMemberChanged{},
}

// allTypes are the 20 and the engine's own.
func allTypes() []string { return append(EventTypes(), ExecutionChanged) }

// golden is a published event of a type: the document's own example, made complete.
// Others have stored such events and follow them, so these files are never edited: what
// they show stays valid for good. A new form of a type gets a file of its own.
func golden(t testing.TB, typ string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "events", typ+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text[:len(text)-1]
}

func parsed(t testing.TB, body []byte) Event {
	t.Helper()
	e, err := ParseEvent(body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return e
}

func TestEveryGoldenFileIsOfAType(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "events"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(allTypes()) {
		t.Errorf("got %d files, want one for each of %d types", len(files), len(allTypes()))
	}
}

func TestGoldenEventsComeBackAsTheyWere(t *testing.T) {
	for _, typ := range allTypes() {
		text := golden(t, typ)
		e := parsed(t, text)
		if err := e.CheckPublished(); err != nil {
			t.Errorf("%s cannot be published: %v", typ, err)
		}
		if err := e.CheckReceived(); err != nil {
			t.Errorf("%s cannot be received: %v", typ, err)
		}
		if diff := cmp.Diff(string(text), string(e.AppendJSON(nil))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", typ, diff)
		}
	}
}

func TestGoTypesReadAndWriteTheGoldenPayloads(t *testing.T) {
	for i, p := range payloads {
		if p.EventType() != EventTypes()[i] || reflect.TypeOf(p).Name() != p.EventType() {
			t.Errorf("%T says %s, and stands in the place of %s", p, p.EventType(), EventTypes()[i])
		}
		want := parsed(t, golden(t, p.EventType())).Payload
		into := reflect.New(reflect.TypeOf(p))
		if err := json.Unmarshal(want, into.Interface(), json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		got, err := NewPayload(into.Elem().Interface().(Payload))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.EventType(), diff)
		}
	}
}

func TestEnvelopeIsReadInAnyOrderAndSpelling(t *testing.T) {
	want := parsed(t, golden(t, "RecordDeleted"))
	body := ` {"payload" : ` + string(want.Payload) + `, "later": [{"a": 1}, "x"],
		"sequence":{"index":0.0,"recordVersion":"2026-01-10T21:40:00.0009+09:00","more":null,"partitionKey":"` +
		want.Key + `"},
		"correlationId":"` + strings.Replace(want.CorrelationID, "0", `\u0030`, 1) + `",
		"producer":{"instanceId":"pod-xyz","service":"core-platform"}, "tenantId":"` + want.Tenant + `",
		"occurredAt":"2026-01-10t12:40:00z","event\u0054ype":"RecordDeleted","schemaVersion":1e0,"eventId":"` +
		want.ID + `"} `
	got := parsed(t, []byte(body))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := got.CheckReceived(); err != nil {
		t.Error(err)
	}
}

func TestEnvelopeOfTheDocumentHasNoIndex(t *testing.T) {
	body := strings.Replace(string(golden(t, "RecordUpdated")), `,"index":0`, "", 1)
	e := parsed(t, []byte(body))
	if err := e.CheckReceived(); err != nil || e.Index != 0 {
		t.Errorf("got index %d, %v", e.Index, err)
	}
}

func TestBodiesThatAreNotEventsAreRefused(t *testing.T) {
	good := string(golden(t, "RecordUpdated"))
	for _, tc := range []struct{ name, body, want string }{
		{"nothing", "", "not valid JSON: it ends too early"},
		{"no object", "[]", "must be an object"},
		{"a number for a text", strings.Replace(good, `"RecordUpdated"`, "7", 1), "/eventType must be a string"},
		{
			"a text for a number", strings.Replace(good, `"index":0`, `"index":"0"`, 1),
			"/sequence/index must be a whole number",
		},
		{"a fraction", strings.Replace(good, `"index":0`, `"index":0.5`, 1), "/sequence/index must be a whole number"},
		{
			"a number that is too large", strings.Replace(good, `"index":0`, `"index":1e30`, 1),
			"/sequence/index must be a whole number",
		},
		{"null", strings.Replace(good, `"pod-xyz"`, "null", 1), "/producer/instanceId must be a string"},
		{
			"no time", strings.Replace(good, `"occurredAt":"2026`, `"occurredAt":"26`, 1),
			"/occurredAt must be an RFC 3339 time",
		},
		{
			"a payload that is no object", good[:strings.Index(good, `"payload"`)] + `"payload":[]}`,
			"/payload must be an object",
		},
		{
			"a member twice", strings.Replace(good, `{"eventId"`, `{"tenantId":"x","eventId"`, 1),
			`the member "tenantId" twice`,
		},
		{
			"a foreign member twice", strings.Replace(good, `{"eventId"`, `{"x":1,"x":2,"eventId"`, 1),
			`the member "x" twice`,
		},
		{
			"a member twice in other letters", strings.Replace(good, `{"eventId"`, `{"\u0065ventId":1,"eventId"`, 1),
			`/eventId must be a string`,
		},
		{
			"a value twice, deep inside", strings.Replace(good, `"old":10`, `"old":{"a":[{"b":1,"b":2}]}`, 1),
			`the member "b" twice`,
		},
		{
			"a value twice among a few", strings.Replace(good, `"old":10`, `"old":{"x":1,`+many(40)+`"x":2}`, 1),
			`the member "x" twice`,
		},
		{
			"a value twice among many", strings.Replace(good, `"old":10`, `"old":{"x":1,`+many(300)+`"x":2}`, 1),
			`the member "x" twice`,
		},
		{"two names that are one", strings.Replace(good, `"old":10`, `"old":{"é":1,"`+"e\u0301"+`":2}`, 1), `twice`},
		{"bad UTF-8", strings.Replace(good, "Negotiation", "\xff", 1), "not valid UTF-8"},
		{"half a pair", strings.Replace(good, "Negotiation", `\ud800`, 1), "surrogate"},
		{
			"too deep", strings.Replace(good, `"old":10`, `"old":`+strings.Repeat("[", 61)+strings.Repeat("]", 61), 1),
			"nested deeper than 64",
		},
		{"more behind it", good + "{}", "something after"},
		{"a huge exponent", strings.Replace(good, `"old":10`, `"old":1e99999`, 1), "exponent"},
	} {
		_, err := ParseEvent([]byte(tc.body))
		failure, _ := fault.As(err)
		if failure == nil || failure.Kind != fault.Invalid || failure.Code != CodeEventInvalid ||
			!strings.Contains(failure.Message, tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestNestingIsCountedFromTheEnvelope(t *testing.T) {
	deep := func(n int) Event {
		e := parsed(t, golden(t, "RecordUpdated"))
		e.Payload = []byte(strings.Replace(string(e.Payload), `"old":10`, `"old":`+strings.Repeat("[", n)+
			strings.Repeat("]", n), 1))
		return e
	}
	// envelope, payload, fieldChanges, Probability
	for n, ok := range map[int]bool{canonical.MaxDepth - 4: true, canonical.MaxDepth - 3: false} {
		e := deep(n)
		if err := e.CheckPublished(); (err == nil) != ok {
			t.Errorf("%d arrays: publishing gives %v", n, err)
		}
		if _, err := ParseEvent(e.AppendJSON(nil)); (err == nil) != ok {
			t.Errorf("%d arrays: reading gives %v", n, err)
		}
	}
}

func TestARefusedEventNamesItsTenant(t *testing.T) {
	whole := parsed(t, golden(t, "RecordUpdated"))
	body := golden(t, "RecordUpdated")
	got, err := ParseEvent(body[:len(body)-20])
	if err == nil {
		t.Fatal("half an event was read")
	}
	whole.Payload = nil
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLargeEventsAreRefused(t *testing.T) {
	e := parsed(t, golden(t, "RecordCreated"))
	of := func(size int) *Event { // an event of exactly so many bytes
		text := strings.Replace(string(golden(t, "RecordCreated")), "Deal A", "", 1)
		e := parsed(t, []byte(strings.Replace(text, `"Name":""`, `"Name":"`+strings.Repeat("x", size-len(text))+`"`,
			1)))
		return &e
	}
	if got := len(of(MaxEvent).AppendJSON(nil)); got != MaxEvent {
		t.Fatalf("made an event of %d bytes, want %d", got, MaxEvent)
	}
	if err := of(MaxEvent).CheckPublished(); err != nil {
		t.Errorf("an event of the largest size: %v", err)
	}
	e.Payload = []byte(strings.Replace(string(e.Payload), "Deal A", strings.Repeat("x", 2<<20), 1))
	large := of(MaxEvent)
	large.CorrelationID += "x"
	_, err := ParseEvent(e.AppendJSON(nil))
	for name, err := range map[string]error{
		"2 MiB": e.CheckPublished(), "one byte more": large.CheckPublished(),
		"2 MiB to read": err,
	} {
		if failure, _ := fault.As(err); failure == nil || failure.Kind != fault.TooLarge ||
			failure.Code != CodeEventTooLarge {
			t.Errorf("%s: got %v, want %s", name, err, CodeEventTooLarge)
		}
	}
}

func TestPartitionsAndSubjectsStayWhatTheyAre(t *testing.T) {
	// Stored events depend on these: partitions of keys must never change.
	for key, want := range map[string]int{
		"Opportunity:6f1c2b7e-3d44-4a55-9b0a-5f1e0c9d8a70:0198c0de-0111-7000-8000-000000123321": 3,
		"": 1, "a": 0, "b": 1, "c": 2, "foobar": 0,
	} {
		if got := Partition(key); got != want {
			t.Errorf("Partition(%q) = %d, want %d", key, got, want)
		}
	}
	if got, want := Subject(Events, "t", 2, "RecordUpdated"), "renga.event.t.2.RecordUpdated"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Subject(Executions, "t", 3, ExecutionChanged), "renga.execution.t.3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Events.String() + " " + Executions.String(); got != "RENGA_EVENTS RENGA_EXECUTIONS" {
		t.Errorf("got %s", got)
	}
	if got := RecordKey("Lead", "t", "r"); got != "Lead:t:r" {
		t.Errorf("got %s", got)
	}
}

func TestTextsOfAnEnvelopeAreEscaped(t *testing.T) {
	e := parsed(t, golden(t, "RecordUpdated"))
	e.CorrelationID, e.Producer.Service = `a "quoted" \ 商談`, "コア"
	got := parsed(t, e.AppendJSON(nil))
	if diff := cmp.Diff(e, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := got.CheckPublished(); err != nil {
		t.Error(err)
	}
}
