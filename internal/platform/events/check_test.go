package events

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

func TestEnvelopesThatBreakARuleAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(e *Event)
		want  string
	}{
		{"an id that is no UUID", func(e *Event) { e.ID = "1" }, "/eventId must be a UUID"},
		{"another version of the schema", func(e *Event) { e.SchemaVersion = 2 }, "/schemaVersion must be 1"},
		{"no time", func(e *Event) { e.OccurredAt = 0 }, "/occurredAt is missing"},
		{
			"a time that cannot be written", func(e *Event) { e.OccurredAt = canonical.LastStamp + 1 },
			"/occurredAt must be an instant",
		},
		{"a tenant that is no UUID", func(e *Event) { e.Tenant = "acme" }, "/tenantId must be a UUID"},
		{"no service", func(e *Event) { e.Producer.Service = "" }, "/producer/service is missing"},
		{
			"a service over two lines", func(e *Event) { e.Producer.Service = "a\r\nNats-Msg-Id: b" },
			"/producer/service must have",
		},
		{
			"a long instance", func(e *Event) { e.Producer.Instance = strings.Repeat("長", 129) },
			"/producer/instanceId must have",
		},
		{"bad UTF-8", func(e *Event) { e.CorrelationID = "\xff" }, "/correlationId must have"},
		{"no correlation", func(e *Event) { e.CorrelationID = "" }, "/correlationId is missing"},
		{
			"a long correlation", func(e *Event) { e.CorrelationID = strings.Repeat("x", 129) },
			"/correlationId must have",
		},
		{"no key", func(e *Event) { e.Key = "" }, "/sequence/partitionKey is missing"},
		{"a key of two parts", func(e *Event) { e.Key = "Lead:" + e.Tenant }, "/sequence/partitionKey must be"},
		{
			"a key of four parts", func(e *Event) { e.Key = "Lead:" + e.Tenant + ":x:y" },
			"/sequence/partitionKey must be",
		},
		{
			"a key without a record", func(e *Event) { e.Key = "Lead:" + e.Tenant + ":" },
			"/sequence/partitionKey must be",
		},
		{"a key without an object", func(e *Event) { e.Key = ":" + e.Tenant + ":x" }, "/sequence/partitionKey must be"},
		{
			"a key of another tenant", func(e *Event) { e.Key = "Lead:6f1c2b7e-3d44-4a55-9b0a-5f1e0c9d8a71:x" },
			"/sequence/partitionKey must be",
		},
		{
			"a key with a space", func(e *Event) { e.Key = "Lead:" + e.Tenant + ":x y" },
			"/sequence/partitionKey must be",
		},
		{
			"a long key", func(e *Event) { e.Key = "Lead:" + e.Tenant + ":" + strings.Repeat("x", 255) },
			"/sequence/partitionKey must be",
		},
		{"no version", func(e *Event) { e.Version = 0 }, "/sequence/recordVersion is missing"},
		{
			"a version before 1970", func(e *Event) { e.Version = -1 },
			"/sequence/recordVersion must be an instant from 1970",
		},
		{
			"a version that cannot be written", func(e *Event) { e.Version = canonical.LastStamp + 1 },
			"/sequence/recordVersion must be an instant from 1970",
		},
		{
			"an index that not every reader takes exactly", func(e *Event) { e.Index = MaxWhole + 1 },
			"/sequence/index must not be larger",
		},
		{"a negative index", func(e *Event) { e.Index = -1 }, "/sequence/index must not be negative"},
		{"no payload", func(e *Event) { e.Payload = nil }, "/payload is missing"},
		{"a payload that is no object", func(e *Event) { e.Payload = []byte("[]") }, "/payload must be an object"},
		{
			"a payload that is no JSON", func(e *Event) { e.Payload = []byte(`{"a"}`) },
			"/payload: the body is not valid JSON",
		},
		{
			"another version than its payload's", func(e *Event) { e.Version++ },
			"/payload/recordVersion must be the same instant",
		},
	} {
		e := parsed(t, golden(t, "RecordUpdated"))
		tc.spoil(&e)
		for _, err := range []error{e.CheckPublished(), e.CheckReceived()} {
			failure, _ := fault.As(err)
			if failure == nil || failure.Kind != fault.Invalid || failure.Code != CodeEventInvalid ||
				!strings.HasPrefix(failure.Message, tc.want) {
				t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
			}
		}
	}
}

// What happens to a record is in the order of its own key: two keys for one record would
// let its events overtake each other.
func TestPublishersUseTheKeyOfTheRecord(t *testing.T) {
	for typ, want := range map[string]string{
		"RecordCreated":         "/sequence/partitionKey must be {/payload/objectName}:{/tenantId}:{/payload/recordId}",
		"RecordUpdated":         "/sequence/partitionKey must be {/payload/objectName}:{/tenantId}:{/payload/recordId}",
		"RecordDeleted":         "/sequence/partitionKey must be {/payload/objectName}:{/tenantId}:{/payload/recordId}",
		"OwnerChanged":          "/sequence/partitionKey must be {/payload/objectName}:{/tenantId}:{/payload/recordId}",
		"TeamMemberChanged":     "/sequence/partitionKey must be {/payload/objectName}:{/tenantId}:{/payload/recordId}",
		"StageChanged":          "/sequence/partitionKey must be Opportunity:{/tenantId}:{/payload/opportunityId}",
		"LeadConverted":         "/sequence/partitionKey must be Lead:{/tenantId}:{/payload/leadId}",
		"CampaignMemberChanged": "/sequence/partitionKey must be Campaign:{/tenantId}:{/payload/campaignId}",
	} {
		right := parsed(t, golden(t, typ))
		parts := strings.Split(right.Key, ":")
		for _, key := range []string{RecordKey("Quote", parts[1], parts[2]), RecordKey(parts[0], parts[1],
			"0198c0de-0111-7000-8000-00000012332f")} {
			e := right
			e.Key = key
			failure, _ := fault.As(e.CheckPublished())
			if failure == nil || failure.Kind != fault.Invalid || failure.Code != CodeEventInvalid ||
				failure.Message != want {
				t.Errorf("%s with key %s: got %v, want %q", typ, key, failure, want)
			}
			if err := e.CheckReceived(); err != nil {
				t.Errorf("%s with key %s: a consumer refuses it: %v", typ, key, err)
			}
		}
	}
}

func TestUnknownTypesAreRefused(t *testing.T) {
	for _, typ := range []string{"", "recordUpdated", "RecordRestored"} {
		e := parsed(t, golden(t, "RecordUpdated"))
		e.Type = typ
		if failure, _ := fault.As(e.CheckReceived()); failure == nil || failure.Kind != fault.Invalid ||
			failure.Code != CodeEventType {
			t.Errorf("%q: got %v, want %s", typ, failure, CodeEventType)
		}
	}
}

func TestOnlyConsumersAcceptNewMembers(t *testing.T) {
	for typ, places := range map[string]map[string]string{
		"RecordUpdated":     {`{"objectName"`: "/payload/新しい", `{"old":10`: "/payload/fieldChanges/Probability/新しい"},
		"ApprovalDecided":   {`{"objectName"`: "/payload/target/新しい"},
		"PermissionChanged": {`{"type"`: "/payload/subject/新しい"},
		"ExecutionChanged":  {`{"eventId"`: "/payload/events/0/新しい", `{"kind"`: "/payload/events/0/actor/新しい"},
	} {
		for at, pointer := range places {
			e := parsed(t, golden(t, typ))
			e.Payload = []byte(strings.Replace(string(e.Payload), at, `{"新しい":{"a":[]},`+at[1:], 1))
			if err := e.CheckReceived(); err != nil {
				t.Errorf("%s: a consumer refuses %s: %v", typ, pointer, err)
			}
			wantRefusal(t, e.CheckPublished(), pointer+" is not a known member")
		}
	}
	open := with(t, "RecordCreated", "fields", map[string]any{"金額": map[string]any{"通貨": "JPY"}})
	if err := open.CheckPublished(); err != nil {
		t.Errorf("fields of a record are its own: %v", err)
	}
}

func TestValuesThatMayBeLeftOutOrNull(t *testing.T) {
	null := struct{}{}
	for _, tc := range []struct {
		typ, member string
		value       any
		ok          bool
	}{
		{"RecordUpdated", "fieldChanges", nil, true},
		{"RecordUpdated", "fieldChanges", map[string]any{}, true},
		{"RecordUpdated", "fieldChanges", map[string]any{"A": map[string]any{"old": 1}}, false},
		{"RecordUpdated", "ownerId", null, false},
		{"RecordDeleted", "deleted", false, false},
		{"RoleHierarchyChanged", "parentRoleId", null, true},
		{"RoleHierarchyChanged", "parentRoleId", "top", false},
		{"LeadConverted", "opportunityId", null, true},
		{"LeadConverted", "accountId", null, false},
		{"StageChanged", "closeDate", null, true},
		{"StageChanged", "closeDate", "2026-02-29", false},
		{"StageChanged", "closeDate", "1900-02-29", false},
		{"StageChanged", "closeDate", "2000-02-29", true},
		{"ExecutionChanged", "events", []any{}, false},
		{"StageChanged", "accountId", null, true},
		{"ApprovalDecided", "comment", null, true},
		{"ApprovalDecided", "comment", "", true},
		{"AutomationConfigChanged", "objectName", null, true},
		{"AutomationConfigChanged", "objectName", "", false},
		{"SharingConfigChanged", "oldOWD", nil, false},
		{"SharingConfigChanged", "changeType", "ShareRuleCreated", false}, // has an OWD
		{"SharingConfigChanged", "resourceId", "rule-7", true},
		{"TerritoryAssignmentChanged", "assignedId", null, false},
		{"SharingRebuildCompleted", "oldVersion", 0, true},
		{"SharingRebuildCompleted", "oldVersion", -1, false},
		{"SharingRebuildCompleted", "oldVersion", 1.5, false},
	} {
		if tc.value == null {
			tc.value = (*int)(nil)
		}
		if err := with(t, tc.typ, tc.member, tc.value).CheckPublished(); (err == nil) != tc.ok {
			t.Errorf("%s.%s = %v: got %v", tc.typ, tc.member, tc.value, err)
		}
	}
}

func TestWhatAChangeDoesNotTouchIsLeftOutOfItsPayload(t *testing.T) {
	config := parsed(t, golden(t, "SharingConfigChanged"))
	territory := parsed(t, golden(t, "TerritoryAssignmentChanged"))
	of := func(e Event, p Payload) *Event {
		text, err := NewPayload(p)
		if err != nil {
			t.Fatal(err)
		}
		e.Payload = text
		return &e
	}
	rule := SharingConfigChanged{
		ChangeType: "ShareRuleCreated", ObjectName: "Lead", ResourceID: "rule-7",
		EffectiveAt: 1,
	}
	if err := of(config, rule).CheckPublished(); err != nil {
		t.Error(err)
	}
	owd := SharingConfigChanged{ChangeType: "OWDChanged", ObjectName: "Lead", OldOWD: "Private", EffectiveAt: 1}
	wantRefusal(t, of(config, owd).CheckPublished(), "/payload/newOWD is missing")
	hierarchy := TerritoryAssignmentChanged{
		ChangeType: "TerritoryHierarchyChanged", TerritoryID: "0198c0de-0001-7000-8000-00000000abcd",
		TerritoryName: "Japan", EffectiveAt: 1,
	}
	if err := of(territory, hierarchy).CheckPublished(); err != nil {
		t.Error(err)
	}
	hierarchy.ChangeType = "UserAssigned"
	wantRefusal(t, of(territory, hierarchy).CheckPublished(), "/payload/assignmentType must be a string")
}

func TestMessagesDoNotRepeatValues(t *testing.T) {
	secret := "4111-1111-1111-1111"
	for _, e := range []*Event{
		with(t, "StageChanged", "closeDate", secret), with(t, "ApprovalDecided", "decision", secret),
		with(t, "RecordUpdated", "ownerId", secret), with(t, "RecordUpdated", "fieldChanges",
			map[string]any{"Card": secret}),
	} {
		if err := e.CheckPublished(); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v", e.Type, err)
		}
	}
}

// TestEventsOfTheCoreFitIntoExecutionChanged takes them as the core has published them.
func TestEventsOfTheCoreFitIntoExecutionChanged(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "workflow", "flow", "testdata", "events.golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) < 24 {
		t.Fatalf("got %d events of the core, want one of each type at least", len(lines))
	}
	e := parsed(t, golden(t, ExecutionChanged))
	for _, events := range append(lines, strings.Join(lines, ",")) {
		e.Payload = []byte(
			`{"executionId":"` + e.ID + `","commitNo":1,"firstSeq":1,"lastSeq":99,"events":[` + events +
				`]}`,
		)
		if err := e.CheckPublished(); err != nil {
			t.Errorf("%s: %v", events, err)
		}
	}
	e.Payload = []byte(strings.Replace(string(e.Payload), `"type":"NODE_READY"`, `"type":"NODE_SLEPT"`, 1))
	wantRefusal(t, e.CheckPublished(), "/payload/events/")
}
