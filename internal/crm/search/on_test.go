package search

import (
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
	if diff := cmp.Diff(document, (&Search{}).Consumer().Types); diff != "" {
		t.Errorf("subscriptions (-document +code):\n%s", diff)
	}
}
