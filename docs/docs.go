// Package docs has the pages of this folder, for tests that try what they say.
package docs

import "embed"

// Pages are the pages about the product.
//
//go:embed *.md
var Pages embed.FS
