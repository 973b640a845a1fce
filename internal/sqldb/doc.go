// Package sqldb is the database underneath everything that keeps state: opening
// and migrating it, the write loop, transactions, and what driver errors mean.
// It is the only importer of SQL drivers.
//
// Writes are jobs. One loop owns the single write connection: it takes the jobs
// that wait, runs them in one transaction, syncs once, and answers all of them
// after the sync. A caller that finds the loop idle does its next turn itself. The
// first job of a transaction runs bare; each later one runs in a savepoint, so that
// a job that fails is undone alone. Jobs of the engine go first, the others are sure
// of a third of the time. A job does SQL and nothing else: it never waits for the
// network, a lock or another job.
//
// Reads are short transactions on a few connections that cannot write.
//
// The invariants: when Write returns nil, what the job wrote is on disk; when it
// returns an error, nothing of it is visible, now or later. There is one
// exception, and it ends the process: after a sync that failed nobody can say
// what the disk holds, so the loop stops for good and Run returns the reason.
//
// The package holds no SQL of others and knows none of their tables. Packages
// hand in their migrations (Migration) and their statements, written once with
// $n placeholders for every dialect.
package sqldb
