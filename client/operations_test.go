package client

import (
	"strings"
	"testing"

	"renga.dev/renga/api"
	"renga.dev/renga/api/contract"
)

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
