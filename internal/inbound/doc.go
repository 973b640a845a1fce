// Package inbound starts executions from events of the world outside: a delivery
// finds its template, and the template starts one execution, whatever the number of
// times that the delivery comes.
//
// A delivery that names a key leaves a receipt in the transaction that starts its
// execution, together with its entry in the audit log and its count for the month's
// summary. So there is no run without its receipt, no receipt without its run, and no
// answer that the log does not have. Everything that decides about one tenant holds the
// tenant's row: of deliveries that come at once, in however many processes, one goes first.
//
// A template is compiled to a graph when it is stored, and a run is of exactly the
// version that its template names. The package knows nothing of HTTP: the token, the
// status codes and the shape of answers are the surface's.
package inbound
