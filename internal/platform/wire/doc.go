// Package wire is what goes over the wire and how it is compared: strict JSON in,
// one canonical form and its digest, the identity of a request that may be
// repeated, the rules for names and keys; and the events of the bus, their envelope,
// their payloads and the schemas that both are held against.
//
// It is pure: no clock, no network, no disk. The invariants: two bodies have one
// digest exactly when they mean the same JSON value, and what cannot be read in
// one way only (duplicate names, lone surrogates, bad UTF-8) is refused, never
// guessed at. An event that passed its check is what its schema in api/events says, to
// every reader.
package wire
