package events

import (
	"strings"
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
	version bool   // the payload repeats sequence.recordVersion
	about   *about // nil: of no one record
}

// about is which record the events of a type are about, and so which key they have.
type about struct {
	object string // the one that all of them are of; "": objectName says
	record string // the member that names the record
}

// abouts are the types that are about one record. The others have keys of a kind of
// their own (see RecordKey), which nothing in the payload has to repeat.
var abouts = map[string]*about{
	"RecordCreated":         {"", "recordId"},
	"RecordUpdated":         {"", "recordId"},
	"RecordDeleted":         {"", "recordId"},
	"OwnerChanged":          {"", "recordId"},
	"TeamMemberChanged":     {"", "recordId"}, // it changes its parent
	"StageChanged":          {"Opportunity", "opportunityId"},
	"LeadConverted":         {"Lead", "leadId"},
	"CampaignMemberChanged": {"Campaign", "campaignId"},
}

// misses says how a key, which has three parts, is not that of the record that a
// payload, which was walked, is about; "" when it is.
func (a *about) misses(w *walker, key string) string {
	object, rest, _ := strings.Cut(key, ":")
	_, record, _ := strings.Cut(rest, ":")
	from, right := a.object, object == a.object
	if from == "" {
		from, right = "{/payload/objectName}", object == string(w.inside(noteObject))
	}
	if right && record == string(w.inside(noteRecord)) {
		return ""
	}
	return "/sequence/partitionKey must be " + from + ":{/tenantId}:{/payload/" + a.record + "}"
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
		s := &schema{typ: typ, payload: payload, about: abouts[typ]}
		s.version = payload.mark("recordVersion", noteVersion)
		if s.about != nil {
			payload.mark("objectName", noteObject)
			payload.mark(s.about.record, noteRecord)
		}
		all[typ] = s
	}
	return all
})
