// Package api holds the contract of the whole HTTP interface, openapi.yaml, and
// nothing else: the server serves it, the tests hold every response against it.
package api

import _ "embed"

// OpenAPI is the contract, as it is served at /openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte
