// Package bus is the event backbone: an event that a transaction publishes reaches every consumer, delivered at least
// once, applied exactly once, in order per partition key.
//
// Publish writes events to the outbox in the transaction of the change. A relay per partition publishes them to a
// carrier (JetStream) and marks them. A reader per consumer and partition fetches them in batches and commits, with
// the consumer's effects, what makes redeliveries harmless: the ids of processed events, the newest version of each
// key, and the position in the stream.
//
// Partitions of relays and readers are assignments. Each is held by one process, under a lease with an epoch; a
// coordinator per process balances them. A transaction under a lease verifies the epoch first (the fence), so a
// process that was taken for dead commits nothing.
//
// The outbox is the record; the carrier may lose what it acknowledged. A relay that finds messages lost publishes
// again what readers may have missed, in order and before anything new. Every message names its predecessor, so
// readers verify continuity themselves.
//
// A key whose event fails is blocked: its later events are parked in order while other keys go on. The event is
// retried with backoff, then becomes a dead letter, which an operator redrives or skips. Only the reader with the
// lease works on blocked keys, so a decision is a row that the reader carries out.
package bus
