package client

import (
	"flag"
	"os"
	"strings"
	"testing"

	"renga.dev/renga/api"
	"renga.dev/renga/api/contract"
)

var update = flag.Bool("update", false, "write operations_gen.go anew")

// TestTheOperationsAreThoseOfTheContract: who changes the contract runs go generate ./api.
func TestTheOperationsAreThoseOfTheContract(t *testing.T) {
	doc, err := contract.Parse(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	want, err := doc.Client()
	if err != nil {
		t.Fatal(err)
	}
	const file = "operations_gen.go"
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("operations_gen.go is not what the contract says: run go generate ./api")
	}
}

// TestEveryKeyGoesInTheHeaderOfItsOperation asks for every operation of the contract, with ids
// that look like anything.
func TestEveryKeyGoesInTheHeaderOfItsOperation(t *testing.T) {
	doc, err := contract.Parse(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	keys := 0
	for _, op := range doc.Operations {
		if op.KeyHeader == "" {
			continue
		}
		keys++
		path := op.Path
		for {
			before, rest, found := strings.Cut(path, "{")
			if !found {
				break
			}
			_, after, _ := strings.Cut(rest, "}")
			path = before + "bulk%2F7" + after
		}
		if got := (&call{method: op.Method, path: path}).keyHeader(); got != op.KeyHeader {
			t.Errorf("%s %s: the key goes in %s, want %s", op.Method, path, got, op.KeyHeader)
		}
	}
	if keys < 20 {
		t.Errorf("the contract has %d operations with keys only", keys)
	}
}
