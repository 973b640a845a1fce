// Package api holds the contracts, and what is generated from them: openapi.yaml of the whole HTTP
// interface, events/ of what travels on the bus. The server serves them, the tests
// hold every response and every event against them.
package api

import "embed"

//go:generate go run ./contract/generate

// OpenAPI is the contract, as it is served at /openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Events holds a JSON Schema per event type, events/{eventType}.json, each complete in
// itself.
//
//go:embed events
var Events embed.FS
