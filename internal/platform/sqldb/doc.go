// Package sqldb is the database under all state: opening and migrating, transactions, and the classification of
// driver errors. It is the only importer of SQL drivers. SQLite and PostgreSQL are behind one DB; Write and Tx say
// what callers must know of the difference.
//
// Writes are jobs. On SQLite one loop owns the write connection: it runs the waiting jobs in one transaction, syncs
// once, and answers them after the sync. A caller that finds the loop idle runs its turn itself. Engine jobs run
// once: the first of a transaction bare, later ones in savepoints. Without any, the others run bare too. A failed job
// is undone alone, by its savepoint or by rolling back and running the others again. Engine jobs go first; the others
// get a third of the time.
//
// On PostgreSQL a job is a transaction of its own on a pooled connection; reads and other jobs never occupy all of
// them. BEGIN and savepoints travel with the next statement and a Batch is one round trip, so a transaction costs its
// statements and a COMMIT. When the answer to that is lost, another connection asks for the outcome.
//
// A job does only SQL: it never waits for the network, a lock or another job. Reads are short and cannot write.
//
// The invariants: when Write returns nil, the job is on disk; when it returns an error, nothing of it is visible, now
// or later. Two exceptions: after a failed sync of SQLite the state of the disk is unknown, so the loop stops for
// good and Run returns the reason; and when PostgreSQL cannot be asked for the outcome of a COMMIT in time, Write
// says that it is unknown.
//
// The package knows no tables of others. They hand in migrations and statements, with $n placeholders for both
// dialects.
package sqldb
