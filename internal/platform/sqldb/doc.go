// Package sqldb is the database underneath everything that keeps state: opening
// and migrating it, transactions, and what driver errors mean. It is the only
// importer of SQL drivers. There are two databases, SQLite and PostgreSQL, behind
// one DB; what its callers must know of the difference stands at Write and Tx.
//
// Writes are jobs. On SQLite one loop owns the single write connection: it takes the
// jobs that wait, runs them in one transaction, syncs once, and answers all of them
// after the sync. A caller that finds the loop idle does its next turn itself. Jobs of
// the engine run once: the first of a transaction bare, what follows in savepoints. As
// long as there is none of it the others run bare too. A job that fails is undone
// alone: by its savepoint, or by rolling back and running again what shared the
// transaction. Jobs of the engine go first, the others are sure of a third of the time.
//
// On PostgreSQL a job is a transaction of its own on one of a pool of connections, of
// which reads and other jobs never have all, so that the engine finds one. BEGIN and
// savepoints travel with the statement after them and a Batch is one trip, so a
// transaction costs its statements and a COMMIT. When the answer to that is lost,
// another connection is asked what became of it.
//
// A job does SQL and nothing else: it never waits for the network, a lock or another
// job. Reads are short transactions that cannot write.
//
// The invariants: when Write returns nil, what the job wrote is on disk; when it
// returns an error, nothing of it is visible, now or later. There are two
// exceptions. After a sync of SQLite that failed nobody can say what the disk holds,
// so the loop stops for good and Run returns the reason. And when PostgreSQL cannot
// be asked for the outcome of a COMMIT in time, Write says that it is unknown.
//
// The package holds no SQL of others and knows none of their tables. Packages
// hand in their migrations (Migration) and their statements, written once with
// $n placeholders for every dialect.
package sqldb
