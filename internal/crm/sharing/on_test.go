package sharing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
)

// TestSharingTakesExactlyWhatTheDocumentLists holds the subscriptions against the lists of
// subscribers in the document, sections 4.1 to 4.20.
func TestSharingTakesExactlyWhatTheDocumentLists(t *testing.T) {
	document := []string{
		"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", // 4.1 to 4.4
		"MetadataChanged", "PermissionChanged", // 4.9, 4.10
		// 4.12 to 4.16
		"RoleHierarchyChanged", "GroupMemberChanged", "TeamMemberChanged", "TerritoryAssignmentChanged",
		"SharingConfigChanged",
	}
	if diff := cmp.Diff(document, (&Sharing{}).Consumer().Types); diff != "" {
		t.Errorf("subscriptions (-document +code):\n%s", diff)
	}
}

func TestOnlyWhatRulesLookAtConcernsTheRowsOfARecord(t *testing.T) {
	rules := func(criteria ...string) []Model {
		m := Model{Setup: Setup{Rules: []Rule{{Kind: model.OwnerRule}}}}
		for _, c := range criteria {
			m.Setup.Rules = append(m.Setup.Rules, Rule{Kind: model.CriteriaRule, Criteria: c})
		}
		return []Model{{}, m}
	}
	for name, tc := range map[string]struct {
		models []Model
		m      mention
		want   bool
	}{
		"no rules":               {nil, mention{ruled: true, fields: []string{"Name", "OwnerId"}}, false},
		"rules on owners":        {rules(), mention{ruled: true, fields: []string{"Name"}}, false},
		"gone, or another owner": {nil, mention{surely: true}, true},
		"new":                    {rules(`record.Name == "x"`), mention{ruled: true}, true},
		"what a rule names": {
			rules(`record.Amount > 1.0`, `record["Name"] == "x"`),
			mention{fields: []string{"Name"}},
			true,
		},
		"what none names": {
			rules(`record.Amount > 1.0`, `record.Name == "x"`),
			mention{fields: []string{"StageName"}},
			false,
		},
		"the owner": {rules(`record.Name == "x"`), mention{fields: []string{"OwnerId"}}, true},
		"any field": {
			rules(`record.exists(name, record[name] == "x")`),
			mention{fields: []string{"StageName"}},
			true,
		},
		"what does not compile": {rules(`record.`), mention{fields: []string{"StageName"}}, true},
	} {
		if got := tc.m.concerns(watchedBy(tc.models)); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
