package contract

import (
	"bytes"
	"fmt"
	"go/format"
)

// Client is the source of what the client knows: the operations that take an idempotency key,
// and the header it goes in.
func (d *Document) Client() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.\n\n")
	b.WriteString("package client\n\n// keyed are the operations that take an idempotency key.\nvar keyed = []keyedOperation{\n")
	for _, op := range d.Operations {
		if op.KeyHeader != "" {
			fmt.Fprintf(&b, "{%q, %q, %q},\n", op.Method, op.Path, op.KeyHeader)
		}
	}
	b.WriteString("}\n")
	return format.Source(b.Bytes())
}
