// Package reporting counts records: the pipeline, the forecast, what was won and lost, what
// became of leads, campaigns and approvals.
//
// Handlers of events read what is true of a record and write down what is counted of it
// (its fact) and the difference that this makes to the counts, in one transaction. Counts
// are kept by owner, and for all owners together. So a report is a sum over few rows: the
// counts of those owners whose records the caller sees anyway, and the facts of the records
// that it sees beside them. Sharing says which both are, in the transaction of the report.
// Facts of opportunities are kept in memory for callers who see many of them so (cache),
// in the version that the transaction sees.
//
// The invariants: the counts are the sums of the facts, exactly and at every commit; when
// all events are handled, facts are what a recount from the records gives, and a report is
// what the caller would find by counting the records that it may see.
//
// A rebuild puts right what is not so, as an execution, while events go on to be handled.
//
// What a caller may not read is not shown: a report that stands on such a field is refused,
// and what merely sums one up is left out, and said to be.
//
// The package reads records through a port and never changes them. It knows nothing of HTTP.
package reporting
