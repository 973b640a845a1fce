package wire

import (
	"sync"

	"renga.dev/renga/api"
)

// ExecutionChanged is the type of the engine's own events, beside the 20 of business.
const ExecutionChanged = "ExecutionChanged"

// EventTypes are the types of the business events, in the order of the document.
func EventTypes() []string {
	return []string{
		"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "StageChanged", "LeadConverted",
		"ApprovalSubmitted", "ApprovalDecided", "MetadataChanged", "PermissionChanged", "SharingUpdated",
		"RoleHierarchyChanged", "GroupMemberChanged", "TeamMemberChanged", "TerritoryAssignmentChanged",
		"SharingConfigChanged", "AutomationConfigChanged", "ApprovalConfigChanged", "SharingRebuildCompleted",
		"CampaignMemberChanged",
	}
}

// EventSchema is the JSON Schema (2020-12) of an event type, envelope and payload,
// complete in itself. It allows members that it does not name, as consumers must;
// publishers are refused those of an object whose members it lists.
func EventSchema(typ string) ([]byte, bool) {
	if _, ok := schemas()[typ]; !ok {
		return nil, false
	}
	text, err := api.Events.ReadFile("events/" + typ + ".json")
	return text, err == nil
}

// schema is what is checked of the payloads of a type.
type schema struct {
	typ     string // the one copy of the name that all its events share
	payload *rule
	version bool // the payload repeats sequence.recordVersion
}

// schemas are the schemas of all types, compiled once. A file that cannot be compiled
// is a mistake in the program, which the first test finds.
var schemas = sync.OnceValue(func() map[string]*schema {
	all := map[string]*schema{}
	for _, typ := range append(EventTypes(), ExecutionChanged) {
		text, err := api.Events.ReadFile("events/" + typ + ".json")
		if err != nil {
			panic(err)
		}
		payload, err := compile(text)
		if err != nil {
			panic("api/events/" + typ + ".json: " + err.Error())
		}
		s := &schema{typ: typ, payload: payload}
		if i := payload.find([]byte("recordVersion"), 0); i >= 0 {
			payload.members[i].rule.note, s.version = noteVersion, true
		}
		all[typ] = s
	}
	return all
})
