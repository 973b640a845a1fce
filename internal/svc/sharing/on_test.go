package sharing

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSharingTakesExactlyWhatTheDocumentLists holds the subscriptions against the lists of
// subscribers in the document, sections 4.1 to 4.20.
func TestSharingTakesExactlyWhatTheDocumentLists(t *testing.T) {
	document := []string{
		"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", // 4.1 to 4.4
		"MetadataChanged", "PermissionChanged", // 4.9, 4.10
		"RoleHierarchyChanged", "GroupMemberChanged", "TeamMemberChanged", "TerritoryAssignmentChanged", "SharingConfigChanged", // 4.12 to 4.16
	}
	if diff := cmp.Diff(document, Types); diff != "" {
		t.Errorf("subscriptions (-document +code):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(document)), slices.Sorted(maps.Keys(handlers))); diff != "" {
		t.Errorf("handlers (-document +code):\n%s", diff)
	}
}
