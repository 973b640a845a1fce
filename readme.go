// Package renga has the page about the product, for tests that try what it says.
package renga

import _ "embed"

// Readme is README.md.
//
//go:embed README.md
var Readme string
