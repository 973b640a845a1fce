package api_test

import (
	"slices"
	"testing"

	"renga.dev/renga/api"
)

// TestEveryOperationOfTheContractHasItsFacts asks for what no default would be right.
func TestEveryOperationOfTheContractHasItsFacts(t *testing.T) {
	seen := map[string]bool{}
	for _, op := range api.Operations() {
		if op.Rate == "" {
			t.Errorf("%s has no x-renga-rate", op.ID)
		}
		if seen[op.ID] {
			t.Errorf("two operations are called %s", op.ID)
		}
		seen[op.ID] = true
	}
	for _, surface := range []string{"crm", "workflow", "recheck"} {
		if len(api.Prefixes(surface)) == 0 {
			t.Errorf("no path begins like those of the surface %s", surface)
		}
	}
	var asked []string
	for _, op := range api.Operations() {
		if op.Scope != "" && !slices.Contains(asked, op.Scope) {
			asked = append(asked, op.Scope)
		}
	}
	if got, want := slices.Sorted(slices.Values(api.Scopes())), slices.Sorted(slices.Values(asked)); !slices.Equal(got,
		want) {
		t.Errorf("x-renga-scopes are %q, and operations ask for %q", got, want)
	}
	if len(seen) < 150 || len(api.Scopes()) < 20 {
		t.Errorf("found %d operations with %d scopes: the test reads too little", len(seen), len(api.Scopes()))
	}
}
