// Package sharing says who may read, edit or give away which record, and why.
//
// Access comes from the owner (also to the roles above it and to the members of a queue),
// from the organization-wide default, from sharing rules, teams and territories, and from
// the account of a record. docs/sharing.md has the table.
//
// What follows from the owner of a record is decided by its row and by two small tables
// that are derived from the directory: which principals a user has (sharing_principal), and
// the records of which owners a principal reaches (sharing_reach). Only what does not follow
// from the owner has rows of its own (sharing_share): rules with criteria, teams and
// territories. What an account passes on to its records is looked up through their account,
// so it is never late.
//
// The rows and the rules belong to a model of an object. A rebuild makes the next model
// while the active one is in force, with the configuration as it was at its start; events
// meanwhile change both. The switch is one transaction.
//
// The invariants: handlers read what is true now and write the difference, so an event
// that comes twice or late does no harm; when all events are handled, access is what a
// recomputation from nothing says; nobody sees a record by two models at once.
//
// The package reads records through a port and never changes them.
package sharing
