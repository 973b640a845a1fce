package main

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/api/contract"
)

const generated = "// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.\n\n"

// operationsOfAPI is the source of the table of operations that the server and the command line read.
func operationsOfAPI(d *contract.Document) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generated + "package api\n\n// prefixes are how the paths of each surface begin.\n")
	b.WriteString("var prefixes = map[string][]string{\n")
	for _, name := range slices.Sorted(maps.Keys(d.Surfaces)) {
		fmt.Fprintf(&b, "%q: {%s},\n", name, quoted(d.Surfaces[name]))
	}
	b.WriteString("}\n\nvar scopes = []string{\n")
	for _, scope := range d.Scopes {
		fmt.Fprintf(&b, "%q,\n", scope)
	}
	b.WriteString("}\n\nvar operations = []Operation{\n")
	for _, op := range d.Operations {
		route := fmt.Sprintf("%q, %q, %q,", op.ID, op.Method, op.Path)
		facts := fmt.Sprintf("%q, %q, %q, %q, %t", op.Surface, op.Scope, op.Rate, op.KeyHeader, op.KeyRequired)
		if len(route)+len(facts) < 110 {
			fmt.Fprintf(&b, "{%s %s},\n", route, facts)
		} else {
			fmt.Fprintf(&b, "{%s\n%s},\n", route, facts)
		}
	}
	b.WriteString("}\n")
	return format.Source(b.Bytes())
}

func quoted(words []string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = strconv.Quote(word)
	}
	return strings.Join(all, ", ")
}

// operationsOfClient is the source of what the client knows: the operations that take an idempotency key,
// and the header it goes in.
func operationsOfClient(d *contract.Document) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generated + "package client\n\n// keyed are the operations that take an idempotency key.\n")
	b.WriteString("var keyed = []keyedOperation{\n")
	for _, op := range d.Operations {
		if op.KeyHeader != "" {
			fmt.Fprintf(&b, "{%q, %q, %q},\n", op.Method, op.Path, op.KeyHeader)
		}
	}
	b.WriteString("}\n")
	return format.Source(b.Bytes())
}
