// Package webhooks posts events to the endpoints of outsiders, signed by Standard Webhooks.
//
// A consumer of the bus, webhooks, plans: for each event and each webhook that asks for it, it writes one delivery, in
// the transaction that also marks the event as processed. A loop sends: it claims webhooks that have something to do,
// fairly between tenants, posts their deliveries and writes down what came of them. Ordered webhooks have one delivery
// of a key under way at a time, and a delivery that fails holds up the later ones of its key alone.
//
// What an answer means is a pure function: verdictOf says what of one answer, health.settle what of several for the
// endpoint. One that gives no answer, or refuses everything, is parked and probed with one delivery at a time; after
// DisableAfter it is disabled.
//
// What is posted, and where, is bounded: guard refuses addresses inside when the connection is made, after the name
// was resolved. Redirects are not followed.
//
// The invariant: an event and a webhook have at most one delivery, and a delivery is DELIVERED if and only if the
// endpoint answered it with 2xx. A process that dies sends what it had not written down again.
package webhooks
