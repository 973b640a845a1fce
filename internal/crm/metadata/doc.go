// Package metadata keeps what tenants define: objects and fields, permission sets, users,
// roles, groups, sharing settings, stages, automation and approval processes. It tells
// others of every change, and hands out the model that all definitions make together.
//
// A definition is a row of one table, JSON as package crm has it. A change holds the
// tenant's row, decides on the model as it is then (a pure function), and writes the
// row, its events, its entry in the audit log and the tenant's new stamp in one transaction. What
// changes nothing writes and tells nothing.
//
// Reading is Models: the model of a tenant in memory, held against the stamp in the
// reader's own transaction. So every service sees the definitions that its transaction
// sees, and pays one small read for it.
//
// The package carries nothing out: rules, jobs and processes are only defined here. It
// knows nothing of HTTP.
package metadata
