// Package contract reads the operations of openapi.yaml, so that nobody types them a second time.
// Generators and tests use it; the server does not.
package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Operation is one row of the contract.
type Operation struct {
	ID, Method, Path string
	KeyHeader        string // of the idempotency key; "": it takes none
}

// Document is what is read of the contract.
type Document struct{ Operations []Operation }

// methods are the members of a path that are operations.
var methods = []string{"get", "put", "post", "patch", "delete"}

type parameter struct {
	Ref  string `yaml:"$ref"`
	Name string
	In   string
}

type operation struct {
	OperationID string `yaml:"operationId"`
	Parameters  []parameter
}

// Parse reads the contract. Its operations stand in the order of path and method.
func Parse(text []byte) (*Document, error) {
	var raw struct {
		Paths      map[string]map[string]yaml.Node
		Components struct{ Parameters map[string]parameter }
	}
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("the contract: %w", err)
	}
	doc := &Document{}
	for path, item := range raw.Paths {
		var shared []parameter // by all operations of the path
		if node, ok := item["parameters"]; ok {
			if err := node.Decode(&shared); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		for _, method := range methods {
			node, ok := item[method]
			if !ok {
				continue
			}
			var op operation
			if err := node.Decode(&op); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			if op.OperationID == "" {
				return nil, fmt.Errorf("%s %s has no operationId", method, path)
			}
			doc.Operations = append(doc.Operations, Operation{
				ID: op.OperationID, Method: strings.ToUpper(method), Path: path,
				KeyHeader: keyHeader(slices.Concat(shared, op.Parameters), raw.Components.Parameters),
			})
		}
	}
	slices.SortFunc(doc.Operations, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return doc, nil
}

// keyHeader is the header parameter that holds the idempotency key, "" when there is none.
func keyHeader(all []parameter, named map[string]parameter) string {
	for _, p := range all {
		if name, found := strings.CutPrefix(p.Ref, "#/components/parameters/"); found {
			p = named[name]
		}
		if p.In == "header" && strings.HasSuffix(strings.ToLower(p.Name), "idempotency-key") {
			return p.Name
		}
	}
	return ""
}
