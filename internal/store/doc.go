// Package store fills the engine's port on SQL: the log, the executions, keys,
// ready tasks and graphs.
//
// On the hot path a commit appends to engine_log and touches little else: an
// execution's row changes when its status or its deadline does, a ready task is a
// row only when no worker waited for it.
//
// Every statement names its tenant. The exceptions are those on engine_log, which
// name an execution by the number that its row, asked for with the tenant, gave; and
// what looks after all tenants alike: Due, Scan, Retain and the numbers given out.
//
// storetest holds the suite that every implementation of the port passes.
package store
