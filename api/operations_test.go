package api_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"renga.dev/renga/api"
	"renga.dev/renga/api/contract"
)

var update = flag.Bool("update", false, "write the generated files")

// TestGeneratedFilesAreThoseOfTheContract: who changes the contract runs go generate ./api.
func TestGeneratedFilesAreThoseOfTheContract(t *testing.T) {
	doc, err := contract.Parse(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []struct {
		name   string
		source func() ([]byte, error)
	}{
		{"operations_gen.go", doc.API},
		{filepath.Join("..", "client", "operations_gen.go"), doc.Client},
	} {
		want, err := file.source()
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file.name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file.name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what the contract says: run go generate ./api", file.name)
		}
	}
}

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
