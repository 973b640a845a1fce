// Package airflow lets Apache Airflow do the checks of strategies.
//
// An Adapter is an ordinary worker of the queue of checks that lives inside the server:
// it claims tasks, triggers a DAG run for each, polls the runs until they end, and
// succeeds or fails the tasks with what the runs left behind. Nothing of it is stored
// beside the engine's log: the id of a run follows from the request and the strategy, so
// whoever gets a task again, after a crash or in another process, finds the run that is
// there and never triggers a second one.
//
// An outage of Airflow fails nothing. After a few failures in a row a circuit breaker
// opens: no tasks are claimed, those that are held keep their leases, and one probe at a
// time asks whether Airflow is back. Down says so to whoever accepts new requests.
//
// The package knows Airflow's stable REST API in its two versions (/api/v1 of 2.x and
// /api/v2 of 3.x) and the engine's tasks. It knows no tables and no HTTP surface of ours.
// Credentials are read when they are needed and are in no error, log line, span or metric.
package airflow
