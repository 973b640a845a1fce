// Package reporting counts records: pipeline, forecast, won and lost, and the outcome of leads, campaigns
// and approvals.
//
// Event handlers read the current record and write what is counted of it (its fact) and the difference
// to the counts, in one transaction. There are counts for each owner and for all owners together. So
// a report is a sum over few rows: the counts of the owners of whom the caller sees all records, and
// the facts of the records that it sees individually. Sharing says which both are, in the transaction
// of the report. Facts of opportunities are cached for callers who see many individually, in the
// version that the transaction sees.
//
// The invariants: the counts are the sums of the facts, exactly and at every commit; when all events are
// handled, facts are what a recount from the records gives, and a report is what the caller would
// find by counting the records that it may see. A rebuild repairs facts and counts, as an execution,
// while events continue to be handled.
//
// What a caller may not read is not shown: a report that depends on such a field is refused, and a
// column that merely sums one up is left out and listed as omitted.
package reporting
