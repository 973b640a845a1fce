// Package events is what travels on the bus: the envelope of an event, the payload of each type, and the schemas
// that both are checked against. It does not send anything; that is package bus.
//
// It is pure: no clock, no network, no disk. The invariant: an event that passed its check is what its schema in
// api/events says, to every reader.
package events
