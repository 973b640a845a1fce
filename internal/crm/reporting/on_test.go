package reporting

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReportingTakesExactlyWhatTheDocumentLists holds the subscriptions against the lists of
// subscribers in the document, sections 4.1 to 4.20.
func TestReportingTakesExactlyWhatTheDocumentLists(t *testing.T) {
	document := []string{
		// 4.1 to 4.6
		"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "StageChanged", "LeadConverted",
		"ApprovalSubmitted", "ApprovalDecided", "MetadataChanged", "SharingUpdated", // 4.7 to 4.9, 4.11
		"SharingRebuildCompleted", "CampaignMemberChanged", // 4.19, 4.20
	}
	if diff := cmp.Diff(document, (&Reporting{}).Consumer().Types); diff != "" {
		t.Errorf("subscriptions (-document +code):\n%s", diff)
	}
}
