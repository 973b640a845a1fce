package search

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSearchTakesExactlyWhatTheDocumentLists holds the subscriptions against the lists of
// subscribers in the document, sections 4.1 to 4.20.
func TestSearchTakesExactlyWhatTheDocumentLists(t *testing.T) {
	document := []string{
		"RecordCreated", "RecordUpdated", "RecordDeleted", // 4.1 to 4.3
		"StageChanged", "LeadConverted", "ApprovalSubmitted", // 4.5 to 4.7
		// 4.9, 4.11, 4.19, 4.20
		"MetadataChanged", "SharingUpdated", "SharingRebuildCompleted", "CampaignMemberChanged",
	}
	if diff := cmp.Diff(document, Types); diff != "" {
		t.Errorf("subscriptions (-document +code):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(document)), slices.Sorted(maps.Keys(handlers))); diff != "" {
		t.Errorf("handlers (-document +code):\n%s", diff)
	}
}
