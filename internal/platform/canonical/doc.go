// Package canonical says which requests mean the same: strict JSON in, one canonical form and its digest, the
// idempotency key of a request, the rules for names and keys, and the form of an instant. Scanner is the strict
// reader of JSON that the schemas of package events use too.
//
// It is pure: no clock, no network, no disk. The invariant: two bodies have one digest exactly when they mean the
// same JSON value, and what cannot be read in one way only (duplicate names, lone surrogates, bad UTF-8) is
// refused, never guessed at.
package canonical
