// Package wire is what goes over the wire and how it is compared: strict JSON in,
// one canonical form and its digest, the identity of a request that may be
// repeated, the rules for names and keys.
//
// It is pure: no clock, no network, no disk. The invariant: two bodies have one
// digest exactly when they mean the same JSON value, and what cannot be read in
// one way only (duplicate names, lone surrogates, bad UTF-8) is refused, never
// guessed at.
package wire
