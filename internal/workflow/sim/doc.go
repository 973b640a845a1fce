// Package sim runs the whole engine on one seed, and serves tests alone.
//
// A World holds one or two engines, a store in memory and a clock, and drives them
// without a goroutine: logical clients send every command there is, repeat what was
// not answered, use keys again, and race each other, while commits fail, single
// commands turn out to be poison, engines die at every step of a commit and the
// clock jumps both ways. A ledger holds what clients were told; an audit follows
// the committed log with a dumb model of its own. Both speak up after every step.
//
// Whatever happens follows from the seed: the same seed gives the same trace, so
// a failure is found again by its number.
//
// Memory and Clock also serve the tests of other packages. Nothing here is a
// store for production: it forgets everything when the process ends.
package sim
