package test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// subscribers is the document's table: who takes which event, also where that is optional.
var subscribers = map[string][]string{
	"RecordCreated":              {"sharing", "search", "reporting", "automation", "approval"},
	"RecordUpdated":              {"sharing", "search", "reporting", "automation", "approval"},
	"RecordDeleted":              {"sharing", "search", "reporting", "automation"},
	"OwnerChanged":               {"sharing", "automation", "reporting"},
	"StageChanged":               {"reporting", "automation", "search"},
	"LeadConverted":              {"search", "reporting", "automation"},
	"ApprovalSubmitted":          {"core", "automation", "reporting", "search"},
	"ApprovalDecided":            {"core", "automation", "reporting"},
	"MetadataChanged":            {"core", "search", "reporting", "sharing", "automation"},
	"PermissionChanged":          {"core", "sharing", "approval"},
	"SharingUpdated":             {"search", "reporting"},
	"RoleHierarchyChanged":       {"sharing", "core", "approval"},
	"GroupMemberChanged":         {"sharing", "core"},
	"TeamMemberChanged":          {"sharing"},
	"TerritoryAssignmentChanged": {"sharing", "core"},
	"SharingConfigChanged":       {"sharing", "core"},
	"AutomationConfigChanged":    {"automation", "core"},
	"ApprovalConfigChanged":      {"approval", "core"},
	"SharingRebuildCompleted":    {"core", "search", "reporting"},
	"CampaignMemberChanged":      {"reporting", "automation", "search"},
}

// TestEveryServiceTakesExactlyWhatTheDocumentListsForIt asks the program who takes what.
// Metadata takes nothing: it is in nobody's list.
func TestEveryServiceTakesExactlyWhatTheDocumentListsForIt(t *testing.T) {
	c := serve(t, newSite(t))
	resp, err := http.Get(c.url + "/events/consumers")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all struct {
		Items []struct {
			Consumer   string   `json:"consumer"`
			EventTypes []string `json:"eventTypes"`
		} `json:"items"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, consumer := range all.Items {
		if consumer.Consumer == "webhooks" { // outside of the document: whoever stores a webhook chooses
			if len(consumer.EventTypes) > 0 {
				t.Errorf("webhooks take %v alone, want all types", consumer.EventTypes)
			}
			continue
		}
		var want []string
		for event, services := range subscribers {
			if slices.Contains(services, consumer.Consumer) {
				want = append(want, event)
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(slices.Values(consumer.EventTypes)); !slices.Equal(got, want) {
			t.Errorf("%s takes %v, the document lists %v", consumer.Consumer, got, want)
		}
		found = append(found, consumer.Consumer)
	}
	slices.Sort(found)
	if want := slices.Sorted(slices.Values(services)); !slices.Equal(found, want) {
		t.Errorf("events are taken by %v, want %v", found, want)
	}
	for event, all := range subscribers {
		for _, service := range all {
			if !slices.Contains(services, service) {
				t.Errorf("%s is for %s, which is no service", event, service)
			}
		}
	}
	if len(subscribers) != 20 {
		t.Errorf("the table has %d events", len(subscribers))
	}
}
