// Package contract reads openapi.yaml, so that nobody types a second time what stands there.
// The generator and tests use it; the program does not.
package contract

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Core is the surface of the paths that no other surface has.
const Core = "core"

// Operation is one row of the contract.
type Operation struct {
	ID, Method, Path string
	Surface          string
	Scope            string // "": none
	Rate             string // the class of its rate limit
	KeyHeader        string // of the idempotency key; "": it takes none
	KeyRequired      bool
	Body             *Schema   // of the JSON body; nil: it has none
	Answers          []*Schema // of the JSON answers that are no errors
	Tag              string    // under which people see it
}

// Document is what is read of the contract.
type Document struct {
	Operations []Operation         // in the order of path and method
	Scopes     []string            // in the order in which people see them
	Surfaces   map[string][]string // how the paths of a surface begin; Core is not among them
	Tags       []string            // of the operations, in the order in which people see them
	Schemas    map[string]*Schema  // by name
	bodies     map[string]message  // components that are named
	answers    map[string]message
}

// Parameters are the parameters in the path of an operation.
func (o *Operation) Parameters() (names []string) {
	for segment := range strings.SplitSeq(o.Path, "/") {
		if name, found := strings.CutPrefix(segment, "{"); found {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// methods are the members of a path that are operations.
var methods = []string{"get", "put", "post", "patch", "delete"}

type parameter struct {
	Ref      string `yaml:"$ref"`
	Name     string
	In       string
	Required bool
}

// message is a body or an answer.
type message struct {
	Ref     string `yaml:"$ref"`
	Content map[string]struct{ Schema *Schema }
}

type operation struct {
	OperationID string `yaml:"operationId"`
	Tags        []string
	Parameters  []parameter
	Security    []map[string][]string // a bearer token's roles are scopes
	Rate        string                `yaml:"x-renga-rate"`
	RequestBody message               `yaml:"requestBody"`
	Responses   map[string]message
}

type raw struct {
	Scopes     [][]string          `yaml:"x-renga-scopes"`
	Surfaces   map[string][]string `yaml:"x-renga-surfaces"`
	Tags       []struct{ Name string }
	Paths      map[string]map[string]yaml.Node
	Components struct {
		Parameters    map[string]parameter
		Schemas       map[string]*Schema
		RequestBodies map[string]message `yaml:"requestBodies"`
		Responses     map[string]message
	}
}

// Parse reads the contract.
func Parse(text []byte) (*Document, error) {
	var in raw
	if err := yaml.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("the contract: %w", err)
	}
	doc := &Document{
		Scopes: slices.Concat(in.Scopes...), Surfaces: in.Surfaces, Schemas: in.Components.Schemas,
		bodies: in.Components.RequestBodies, answers: in.Components.Responses,
	}
	for _, tag := range in.Tags {
		doc.Tags = append(doc.Tags, tag.Name)
	}
	for name, s := range doc.Schemas {
		if s.GoType == "" && len(s.Properties)+len(s.GoEnum) > 0 {
			s.GoType = name
		}
	}
	for path, item := range in.Paths {
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
			op.Parameters = slices.Concat(shared, op.Parameters)
			doc.Operations = append(doc.Operations, doc.operation(method, path, &op, in.Components.Parameters))
		}
	}
	slices.SortFunc(doc.Operations, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return doc, nil
}

// operation is the row of an operation.
func (d *Document) operation(method, path string, op *operation, named map[string]parameter) Operation {
	row := Operation{
		ID: op.OperationID, Method: strings.ToUpper(method), Path: path, Surface: d.surface(path), Rate: op.Rate,
		Body: d.schemaOf(op.RequestBody, d.bodies), Tag: strings.Join(op.Tags, " "),
	}
	for _, way := range op.Security {
		if roles := way["bearer"]; len(roles) > 0 {
			row.Scope = roles[0]
		}
	}
	row.KeyHeader, row.KeyRequired = key(op.Parameters, named)
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if s := d.schemaOf(op.Responses[status], d.answers); s != nil {
			row.Answers = append(row.Answers, s)
		}
	}
	return row
}

// surface is the surface with the longest prefix of a path.
func (d *Document) surface(path string) string {
	found, longest := Core, 0
	for name, prefixes := range d.Surfaces {
		for _, prefix := range prefixes {
			if len(prefix) > longest && strings.HasPrefix(path, prefix) {
				found, longest = name, len(prefix)
			}
		}
	}
	return found
}

// key is the header parameter that holds the idempotency key, "" when there is none.
func key(all []parameter, named map[string]parameter) (header string, required bool) {
	for _, p := range all {
		if name, found := strings.CutPrefix(p.Ref, "#/components/parameters/"); found {
			p = named[name]
		}
		if p.In == "header" && strings.HasSuffix(strings.ToLower(p.Name), "idempotency-key") {
			return p.Name, p.Required
		}
	}
	return "", false
}
