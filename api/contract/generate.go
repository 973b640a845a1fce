package contract

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const generated = "// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.\n\n"

// API is the source of the table of operations that the server and the command line read.
func (d *Document) API() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generated + "package api\n\n// prefixes are how the paths of each surface begin.\n")
	b.WriteString("var prefixes = map[string][]string{\n")
	for _, name := range slices.Sorted(maps.Keys(d.Surfaces)) {
		fmt.Fprintf(&b, "%q: {%s},\n", name, quoted(d.Surfaces[name]))
	}
	fmt.Fprintf(&b, "}\n\nvar scopes = []string{%s}", quoted(d.Scopes))
	b.WriteString("\n\nvar operations = []Operation{\n")
	for _, op := range d.Operations {
		fmt.Fprintf(&b, "{ID: %q, Method: %q, Path: %q,\nSurface: %q, Rate: %q", op.ID, op.Method, op.Path, op.Surface, op.Rate)
		if op.Scope != "" {
			fmt.Fprintf(&b, ", Scope: %q", op.Scope)
		}
		if op.KeyHeader != "" {
			fmt.Fprintf(&b, ", KeyHeader: %q", op.KeyHeader)
		}
		if op.KeyRequired {
			b.WriteString(", KeyRequired: true")
		}
		b.WriteString("},\n")
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

// Client is the source of what the client knows: the operations that take an idempotency key,
// and the header it goes in.
func (d *Document) Client() ([]byte, error) {
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
