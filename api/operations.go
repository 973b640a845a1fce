package api

import "slices"

// Operation is what the contract says of an operation: its route, and who may call it how often.
type Operation struct {
	ID, Method, Path string
	Surface          string // "core", or one that has Prefixes
	Scope            string // that a token needs; "": none
	Rate             string // the class of its rate limit
	KeyHeader        string // of the idempotency key; "": it takes none
	KeyRequired      bool
}

// Operations are all operations, in the order of path and method.
func Operations() []Operation { return slices.Clone(operations) }

// Prefixes are how the paths of a surface begin, also of those that do not exist; none of "core",
// which has the others.
func Prefixes(surface string) []string { return slices.Clone(prefixes[surface]) }

// Scopes are all scopes that an operation asks for, in the order in which people see them.
func Scopes() []string { return slices.Clone(scopes) }
