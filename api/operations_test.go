package api_test

import (
	"bytes"
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
	want, err := doc.Files(filepath.Join("..", "client"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".", filepath.Join("..", "client")} {
		names, err := filepath.Glob(filepath.Join(dir, "*_gen.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if want[name] == nil {
				t.Errorf("%s is not generated any more: remove it", name)
			}
		}
	}
	for name, source := range want {
		if *update {
			if err := os.WriteFile(name, source, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, source) {
			t.Errorf("%s is not what the contract says: run go generate ./api: %v", name, err)
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
