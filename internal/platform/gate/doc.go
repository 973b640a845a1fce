// Package gate is the door: every request of every surface comes in here.
//
// One route table says what may be called and on which terms: surface, scope,
// rate class, idempotency policy, body limit. What the table does not name is
// denied. The gate reads the table, settles who is calling, holds the limits,
// reads the body and turns a failure into the answer of the surface it belongs
// to; a handler sees a Call and returns a Reply or an error.
//
// It knows nothing of executions or records, decodes no body and remembers no
// idempotency key: a key travels with the command and is settled in the
// transaction of its effect. Its tables hold what processes that share a database have
// used of the limits of their clients, and nothing else.
//
// The invariant: no handler runs for a caller who was not let in by its route,
// and nothing of an error's cause or of a token reaches an answer or the log of
// another caller.
package gate
