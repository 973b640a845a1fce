// Package store fills the engine's port on SQL: the log, the executions, keys,
// ready tasks and graphs.
//
// On the hot path a commit appends to engine_log and touches little else: an execution's row
// changes when its status or its deadline does, a ready task is a row only when no worker waited.
//
// On SQLite there is one writer, which knows what is current. On PostgreSQL (*_postgres.go) others
// commit too: a commit locks the executions that it looks at and reads after that, their rows carry
// the number of the newest commit, and what it writes are a few statements over arrays, in one trip.
//
// Every statement names its tenant. The exceptions are those on engine_log, which name an execution
// by the number that its row, asked for with the tenant, gave; and what looks after all tenants
// alike: Due, Scan, Commits, Retain, CompactCounts, Source and the numbers given out.
//
// Source is the log as the bus reads it: rows that are published have a number,
// and are published in the order of their numbers.
//
// storetest holds the suite that every implementation of the port passes.
package store
