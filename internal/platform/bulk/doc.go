// Package bulk applies one operation to many items: to a frozen set that can be inspected first, with a result per
// item.
//
// Only the kind knows the items and the operation. A bulk freezes its set (FREEZING, then PREVIEW), processes it in
// order once started (RUNNING), pauses when stopped (STOPPED) and ends DONE. Freezing and working go in chunks: each
// is done under a lease and stored in one transaction with the counts and the next position.
//
// The invariants: every item has one result, counted once, through any number of crashes; nothing created after the
// bulk is in its set; a process that lost its lease stores nothing (the epoch). A chunk that was done but not stored
// is done again, so a kind must repeat its results.
//
// Run works in every process. The package knows nothing of HTTP and the engine.
package bulk
