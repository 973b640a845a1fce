// Package inbound starts executions from events of the world outside: a delivery
// finds its template, and the template starts one execution, whatever the number of
// times that the delivery comes.
//
// A delivery that names a key leaves a receipt in the transaction that starts its
// execution, together with its entry in the audit log and its count for the month's
// summary: no run without its receipt, no receipt without its run, no answer that the log
// does not have. Whoever decides about a tenant locks its row.
//
// Triggers do the same for graphs that are somebody's own: what they make of an event is a pure function
// (Trigger.read), and their receipts are in a table of their own, so that many of them displace none of a workflow
// event.
//
// A template is compiled to a graph when it is stored, and a run is of exactly the version
// that its template names.
package inbound
