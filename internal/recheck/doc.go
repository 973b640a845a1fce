// Package recheck knows the strategies that are checked again: what each is called, how
// healthy it was when it was last looked at, and with which figures.
//
// The tables are the record. Every change of a tenant's strategies has a number, its
// revision, given out while the tenant's row is held; so whoever knows the strategies up
// to a revision learns the rest by asking for what is newer. A process keeps the columns
// that lists filter and sort by in memory and asks, in the transaction that a list is
// read in, whether they are current. So any list is quick, counts exactly, and
// shows what was answered before, by whichever process.
//
// It also takes requests to check strategies again (Rechecks): a request is checked in
// batches, each an execution of the engine, one after the other. That a request is
// accepted and its first batch begins is one transaction; so is that the results of a
// batch reach the strategies and the next one begins. Nothing is lost or applied twice,
// whichever process dies when, and a cancel wins over all that comes after it.
//
// The package knows nothing of HTTP: tokens, status codes and the shape of errors are
// the surface's.
package recheck
