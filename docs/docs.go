// Package docs has the pages and files of this folder, for tests that try what they say.
package docs

import "embed"

// Pages are the pages about the product, and the files for operators.
//
//go:embed *.md operations
var Pages embed.FS
