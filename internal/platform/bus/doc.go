// Package bus is the event backbone: an event that a transaction publishes reaches every consumer, delivered at least
// once and applied exactly once, in order per partition key.
//
// Publish writes events into the outbox, in the transaction of the change. A relay per partition publishes them to a
// carrier (JetStream) and marks them. A reader per consumer and partition fetches them from there, in batches, and
// commits the consumer's effects together with what makes a redelivery harmless: the ids of processed events, the
// newest version of each key, and the position in the stream.
//
// Partitions of relays and readers are assignments. One process at a time holds each, under a lease with an epoch, and
// a coordinator per process balances them. A transaction under a lease begins by verifying the epoch (the fence), so a
// process that was taken for dead cannot commit anything.
//
// The outbox is the record; the carrier may lose what it acknowledged. When a relay finds that its stream lost
// messages, it publishes again what readers may have missed, in order and before anything new. Every message names its
// predecessor, so readers verify continuity themselves.
//
// A key whose event fails is blocked: its later events are parked in order while all other keys go on. The event is
// retried with backoff, then becomes a dead letter, which an operator redrives or skips. Only the reader that holds the
// lease works on blocked keys, so an operator's decision is a row that the reader carries out.
package bus
