// Package kit holds what every business service repeats:
//
//   - Service: name, database and clock, with Read, Write and Now; Tables for its migrations
//   - Caller, CallerOf and Session: who calls, and what the caller may do, as a transaction sees it
//   - Models, Records and Visible: what services read of each other
//   - On, Ignore, Consumer and GroupRecords: typed event handlers as one consumer of the bus
//   - Class and Key: advisory locks of PostgreSQL, with one registry of all that are in use
//
// Rebuilds that run as executions are in kit/rebuild, test fixtures in crmtest.
//
// It knows no service and owns no table.
package kit
