package events

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/platform/fault"
)

// schemaTree is a schema file as maps and lists.
func schemaTree(t *testing.T, typ string) map[string]any {
	t.Helper()
	text, ok := EventSchema(typ)
	if !ok {
		t.Fatalf("%s has no schema", typ)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestEveryTypeHasASchemaAndNothingElseHas(t *testing.T) {
	if got := len(EventTypes()); got != 20 {
		t.Errorf("got %d business events, want 20", got)
	}
	for _, typ := range allTypes() {
		schemaTree(t, typ)
	}
	files, err := api.Events.ReadDir("events")
	if err != nil || len(files) != len(allTypes()) {
		t.Errorf("got %d files, %v, want %d", len(files), err, len(allTypes()))
	}
	for _, typ := range []string{"", "RecordUndeleted", "../openapi", "envelope"} {
		if _, ok := EventSchema(typ); ok {
			t.Errorf("%q has a schema", typ)
		}
	}
}

// TestEnvelopeIsTheSameInAllSchemas allows Event to check it once for all.
func TestEnvelopeIsTheSameInAllSchemas(t *testing.T) {
	bare := func(typ string) map[string]any {
		tree := schemaTree(t, typ)
		eventType := tree["properties"].(map[string]any)["eventType"].(map[string]any)
		if tree["title"] != typ || eventType["const"] != typ || !strings.HasSuffix(tree["$id"].(string), "/"+typ) {
			t.Errorf("%s: its schema names another type", typ)
		}
		delete(eventType, "const")
		for _, own := range []string{"$defs", "$id", "title", "description"} {
			delete(tree, own)
		}
		return tree
	}
	want := bare("RecordCreated")
	for _, typ := range allTypes() {
		if diff := cmp.Diff(want, bare(typ)); diff != "" {
			t.Errorf("%s has another envelope than RecordCreated:\n%s", typ, diff)
		}
	}
}

func TestGoTypesHaveTheMembersOfTheirSchemas(t *testing.T) {
	for _, p := range payloads {
		payload := schemaTree(t, p.EventType())["$defs"].(map[string]any)["payload"].(map[string]any)
		var required []string
		for _, name := range payload["required"].([]any) {
			required = append(required, name.(string))
		}
		var has, must []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(p)) {
			name, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
			has = append(has, name)
			if omit == "" {
				must = append(must, name)
			}
		}
		slices.Sort(has)
		if want := slices.Sorted(maps.Keys(payload["properties"].(map[string]any))); !slices.Equal(has, want) {
			t.Errorf("%T has %q, its schema %q", p, has, want)
		}
		if !slices.Equal(must, required) {
			t.Errorf("%T always writes %q, its schema requires %q", p, must, required)
		}
	}
}

// TestEnumerationsOfTheDocumentAreComplete has them as the document lists them, word
// for word; a list that is not here stays open.
func TestEnumerationsOfTheDocumentAreComplete(t *testing.T) {
	closed := map[string]string{
		"RoleHierarchyChanged/changeType": "RoleCreated RoleUpdated RoleDeleted ParentChanged",
		"GroupMemberChanged/changeType":   "MemberAdded MemberRemoved",
		"TeamMemberChanged/changeType":    "MemberAdded MemberUpdated MemberRemoved",
		"TerritoryAssignmentChanged/changeType": "UserAssigned UserUnassigned AccountAssigned AccountUnassigned " +
			"TerritoryHierarchyChanged",
		"SharingConfigChanged/changeType": "OWDChanged ShareRuleCreated ShareRuleUpdated ShareRuleDeleted " +
			"TeamRoleSettingChanged",
		"AutomationConfigChanged/changeType": "ValidationRuleCreated ValidationRuleUpdated ValidationRuleDeleted " +
			"WorkflowRuleCreated WorkflowRuleUpdated WorkflowRuleDeleted ScheduledJobCreated ScheduledJobUpdated " +
			"ScheduledJobDeleted",
		"ApprovalConfigChanged/changeType": "ProcessCreated ProcessUpdated ProcessDeleted ProcessActivated " +
			"ProcessDeactivated",
		"CampaignMemberChanged/changeType": "MemberAdded MemberUpdated MemberRemoved StatusChanged Responded",
		"SharingRebuildCompleted/scope":    "full incremental",
		"ApprovalDecided/decision":         "APPROVED REJECTED RECALLED",
	}
	for _, typ := range EventTypes() {
		payload := schemaTree(t, typ)["$defs"].(map[string]any)["payload"].(map[string]any)
		for name, schema := range payload["properties"].(map[string]any) {
			at := typ + "/" + name
			if _, ok := schema.(map[string]any)["enum"]; ok != (closed[at] != "") {
				t.Errorf("%s is a closed list: %t", at, ok)
			}
		}
	}
	for at, words := range closed {
		typ, member, _ := strings.Cut(at, "/")
		for word := range strings.FieldsSeq(words) {
			if err := with(t, typ, member, word).CheckPublished(); err != nil && !strings.Contains(err.Error(), "OWD") {
				t.Errorf("%s %s: %v", at, word, err)
			}
		}
		for _, word := range []string{"", "Something", strings.ToLower(words[:4]) + words[4:], words} {
			wantRefusal(t, with(t, typ, member, word).CheckReceived(), "/payload/"+member+" must be one of")
		}
	}
	for _, at := range []string{
		"MetadataChanged/changeType", "PermissionChanged/changeType",
		"GroupMemberChanged/groupType", "TeamMemberChanged/accessLevel", "SharingConfigChanged/newOWD",
	} {
		typ, member, _ := strings.Cut(at, "/")
		if err := with(t, typ, member, "Something").CheckPublished(); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// with is the golden event of a type with another value of a member of its payload;
// a value of nil takes the member away.
func with(t *testing.T, typ, member string, value any) *Event {
	t.Helper()
	e := parsed(t, golden(t, typ))
	var payload map[string]any
	if err := json.Unmarshal(e.Payload, &payload); err != nil {
		t.Fatal(err)
	}
	if payload[member] = value; value == nil {
		delete(payload, member)
	}
	text, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	e.Payload = text
	return &e
}

func wantRefusal(t *testing.T, err error, want string) {
	t.Helper()
	failure, _ := fault.As(err)
	if failure == nil || failure.Kind != fault.Invalid || failure.Code != CodeEventInvalid ||
		!strings.HasPrefix(failure.Message,
			want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestEveryRequiredMemberIsMissedWithItsPointer(t *testing.T) {
	optional := []string{
		"/sequence/index", "/payload/fieldChanges", "/payload/events/0/correlationId",
		"/payload/events/1/correlationId", "/payload/events/1/causationId", "/payload/events/0/actor/id",
		"/payload/events/1/actor/id",
	}
	open := []string{"/payload/fields", "/payload/events/0/payload", "/payload/events/1/payload"}
	for _, typ := range allTypes() {
		var tree any
		if err := json.Unmarshal(golden(t, typ), &tree); err != nil {
			t.Fatal(err)
		}
		eachMember(tree, "", func(object map[string]any, name, pointer string) {
			if slices.ContainsFunc(open, func(p string) bool { return strings.HasPrefix(pointer, p+"/") }) ||
				strings.HasPrefix(pointer, "/payload/fieldChanges/") && strings.Count(pointer, "/") == 3 {
				return // whatever a record has
			}
			value := object[name]
			delete(object, name)
			defer func() { object[name] = value }()
			body, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			e := parsed(t, body)
			err = e.CheckReceived()
			switch {
			case slices.Contains(optional, pointer):
				if err != nil {
					t.Errorf("%s without %s: %v", typ, pointer, err)
				}
			case pointer == "/eventType":
				if failure, _ := fault.As(err); failure == nil || failure.Code != CodeEventType {
					t.Errorf("%s without its type: %v", typ, err)
				}
			case pointer == "/schemaVersion":
				wantRefusal(t, err, "/schemaVersion must be 1")
			case pointer == "/producer":
				wantRefusal(t, err, "/producer/service is missing")
			case pointer == "/sequence":
				wantRefusal(t, err, "/sequence/partitionKey is missing")
			default:
				wantRefusal(t, err, pointer+" is missing")
			}
		})
	}
}

// eachMember calls do for the members of all objects of a tree.
func eachMember(tree any, pointer string, do func(object map[string]any, name, pointer string)) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			do(tree, name, pointer+"/"+name)
			eachMember(tree[name], pointer+"/"+name, do)
		}
	case []any:
		for i, v := range tree {
			eachMember(v, pointer+"/"+string(rune('0'+i)), do)
		}
	}
}

func TestSchemasThatAreNotUnderstoodAreRefused(t *testing.T) {
	for payload, want := range map[string]string{
		`{"type":"object","patternProperties":{}}`:             "patternProperties",
		`{"properties":{"a":{"type":"string","pattern":"x"}}}`: "pattern",
		`{"type":"number"}`:                        `type "number"`,
		`{"type":"integer","minimum":0}`:           "minimum and maximum",
		`{"type":"string","format":"email"}`:       `format "email"`,
		`{"type":["string","null"],"enum":["a"]}`:  "enum",
		`{"enum":[1]}`:                             "string",
		`{"const":[]}`:                             "const",
		`{"const":1.5}`:                            "const",
		`{"items":{"items":{"uniqueItems":true}}}`: "uniqueItems",
		`{"if":{"not":{}}}`:                        "not",
		`{"type":"object","additionalProperties":{"$ref":"#/defs"}}`: "$ref",
	} {
		_, err := compile([]byte(`{"$defs":{"payload":` + payload + `}}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", payload, err, want)
		}
	}
	if _, err := compile([]byte(`{"properties":{}}`)); err == nil {
		t.Error("a schema without a payload was compiled")
	}
}
