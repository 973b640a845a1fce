// Package bus is the event backbone: what a transaction announces reaches every
// consumer, at least once on the way and once in effect, in order per key.
//
// Publish writes events into the outbox, in the transaction of the change. A relay
// per partition publishes them to a carrier (JetStream) and notes that it did. A
// reader per consumer and partition takes them from there, in batches, and commits
// the consumer's effects together with the marks that make a repetition harmless: the
// ids that were processed, the newest version of each key, and its place in the stream.
//
// Relays and readers are posts; one process at a time holds each, under a lease with an
// epoch. A transaction of a post begins by asking whether its epoch still stands, so
// a process that was taken for dead cannot commit anything.
//
// The outbox is the record, the carrier may forget. When a relay finds that its
// stream lost something it publishes again what readers may have missed, in order
// and before anything new.
//
// A key whose event fails waits in its lane, with what comes behind it, while all
// other keys go on: for another try, or, as a dead letter, for somebody's decision.
// Only the reader that holds the post works on lanes, so decisions of operators are
// rows that it carries out.
package bus
