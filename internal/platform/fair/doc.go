// Package fair shares out what all tenants use: places in which to work (Places) and a queue
// in front of a loop (Line).
//
// Whoever asks does so under a key, the tenant's. A key has at most its part of the places, and
// keys that wait come in turn, so however much one of them sends, another waits for no more
// than what is under way. The package knows nothing of what is done in a place.
package fair
