// Package recheck keeps the strategies that are checked again, and takes requests to check them.
//
// The tables are the record. Every change of a tenant's strategies has a number, its revision, given
// out while the tenant's row is locked; so whoever knows the strategies up to a revision learns the
// rest by asking for what is newer. A process keeps the columns that lists filter and sort by in
// memory and asks, in the transaction that a list is read in, whether they are current: any list is
// quick, counts exactly, and shows what any process answered before.
//
// A request (Rechecks) is checked in batches, each an execution of the engine, one after the other.
// Accepting it and starting its first batch is one transaction; so is storing the results of a batch
// and starting the next. Nothing is lost or applied twice, whichever process dies when, and a cancel
// wins over all that comes after it.
package recheck
