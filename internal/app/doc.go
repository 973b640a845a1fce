// Package app puts the program together: it opens the database, makes the parts over it in their order, and runs
// them until it is told to end. cmd/renga turns flags into a Config; apptest starts the same program for tests.
//
// It holds no rules of its own. What it keeps true is the life cycle: nothing is served before everything is made,
// and at the end requests are finished first, then what the engine accepted, then the files that are written after it,
// then NATS and the database.
package app

// Version is the version of the product and of its contract (info.version).
const Version = "0.2.0"
