// Package bulk does one thing to many items: to a set that is frozen first and can
// be looked at before anything happens, with a result for every item.
//
// A bulk has a kind, which knows what the items are and what is done to them; this
// package knows neither. It freezes the set (FREEZING, then PREVIEW), works through
// it in order once somebody starts it (RUNNING), rests when somebody stops it
// (STOPPED), and ends DONE. Both freezing and working go in chunks: each is taken
// under a lease, done, and written down in one transaction together with the counts
// and the place to go on from.
//
// The invariants: every item of the set gets one result and is counted once, however
// often a process dies on the way; what came into being after the bulk was asked for
// is not in its set; a process that lost its lease writes nothing down (the epoch).
// A chunk that was done and not written down is done again, so a kind must give the
// same results then.
//
// Run works in every process. It knows nothing of HTTP and of the engine.
package bulk
