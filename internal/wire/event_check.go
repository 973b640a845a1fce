package wire

import (
	"bytes"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/fault"
)

// The codes of events that are refused.
const (
	CodeEventType     = "EVENT_TYPE_UNKNOWN"
	CodeEventInvalid  = "EVENT_INVALID"
	CodeEventTooLarge = "EVENT_TOO_LARGE"
)

// CheckPublished holds an event against its schema before it is sent: strictly, so
// members that the schema does not have are refused.
func (e *Event) CheckPublished() error { return e.check(true) }

// CheckReceived holds an event that came in against its schema. Members that the
// schema does not have are accepted: later versions of a type may add some.
func (e *Event) CheckReceived() error { return e.check(false) }

func (e *Event) check(strict bool) error {
	set, ok := schemas()[e.Type]
	if !ok {
		return fault.New(fault.Invalid, CodeEventType, "there is no event type %s", quote([]byte(e.Type)))
	}
	if len(e.Payload) > MaxEvent {
		return fault.New(fault.TooLarge, CodeEventTooLarge, "an event may have %d bytes", MaxEvent)
	}
	body := e.AppendJSON(nil)
	if len(body) > MaxEvent {
		return fault.New(fault.TooLarge, CodeEventTooLarge, "an event may have %d bytes", MaxEvent)
	}
	if err := Check(body); err != nil {
		return err
	}
	if parts := strings.Split(e.Key, ":"); len(parts) != 3 || parts[1] != e.Tenant {
		return fault.New(fault.Invalid, CodeEventInvalid, "/sequence/partitionKey must name tenantId in the middle")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fault.New(fault.Invalid, CodeEventInvalid, "%v", err)
	}
	schema := set.loose
	if strict {
		schema = set.strict
	}
	if err := schema.Validate(value); err != nil {
		return fault.New(fault.Invalid, CodeEventInvalid, "%v", err)
	}
	payload := value.(map[string]any)["payload"].(map[string]any)
	if version, ok := payload["recordVersion"].(string); ok {
		if got, err := ParseStamp(version); err != nil || got != e.Version {
			return fault.New(fault.Invalid, CodeEventInvalid, "/payload/recordVersion is not sequence.recordVersion")
		}
	}
	return nil
}

type strictAndLoose struct{ strict, loose *jsonschema.Schema }

var schemas = sync.OnceValue(func() map[string]strictAndLoose {
	out := map[string]strictAndLoose{}
	for _, typ := range append(EventTypes(), ExecutionChanged) {
		text, _ := EventSchema(typ)
		var p strictAndLoose
		for _, strict := range []bool{true, false} {
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				panic(err)
			}
			if strict {
				closeAll(doc)
			}
			c := jsonschema.NewCompiler()
			c.DefaultDraft(jsonschema.Draft2020)
			c.AssertFormat()
			if err := c.AddResource(typ, doc); err != nil {
				panic(err)
			}
			if strict {
				p.strict = c.MustCompile(typ)
			} else {
				p.loose = c.MustCompile(typ)
			}
		}
		out[typ] = p
	}
	return out
})

func closeAll(doc any) {
	switch doc := doc.(type) {
	case map[string]any:
		for _, v := range doc {
			closeAll(v)
		}
		if _, ok := doc["additionalProperties"]; !ok && doc["type"] == "object" && doc["properties"] != nil {
			doc["additionalProperties"] = false
		}
	case []any:
		for _, v := range doc {
			closeAll(v)
		}
	}
}

// ExecutionChanged is the type of the engine's own events, beside the 20.
const ExecutionChanged = "ExecutionChanged"

// EventTypes are the business events in the order of the document.
func EventTypes() []string {
	return []string{
		"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "StageChanged", "LeadConverted",
		"ApprovalSubmitted", "ApprovalDecided", "MetadataChanged", "PermissionChanged", "SharingUpdated",
		"RoleHierarchyChanged", "GroupMemberChanged", "TeamMemberChanged", "TerritoryAssignmentChanged",
		"SharingConfigChanged", "AutomationConfigChanged", "ApprovalConfigChanged", "SharingRebuildCompleted",
		"CampaignMemberChanged",
	}
}

// EventSchema is the JSON Schema (2020-12) of an event type, envelope and payload.
func EventSchema(typ string) ([]byte, bool) {
	text, err := api.Events.ReadFile("events/" + typ + ".json")
	return text, err == nil
}

