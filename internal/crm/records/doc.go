// Package records keeps the records of tenants: accounts, contacts, leads, opportunities,
// quotes and campaigns, with their teams, members and history, and tells others of every
// change.
//
// A change is decided by a pure function (decide.go) from the record as it is, what the
// caller wants and the tenant's model, and gives the record as it will be, the fields that
// changed and its events. One transaction holds the rows, decides, and
// writes rows, history and events. Many changes of one request are decided one after the
// other on what was read at once, and written at once.
//
// Who may see what is not decided here: a condition over the rows (Visible) is a part of
// every statement that reads records for a caller, so pages and totals are exact. What the
// model hides of a record (fields) is taken out here.
//
// The invariants: the version of a record rises with every change and every event of a
// change carries it; a refused change writes and publishes nothing; no living record
// names a deleted one in a field that callers write.
//
// The package knows nothing of HTTP and of how access comes about.
package records
