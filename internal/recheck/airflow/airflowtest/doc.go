// Package airflowtest is an Airflow for tests: a server that speaks the two versions of
// Airflow's stable REST API, as far as the adapter uses them, and holds every request
// against their published shapes. It can be slow, wrong and dead, on demand.
//
// It runs no DAGs: a test says how each run ends. What Airflow really does is tested with
// a real one (make test-airflow).
package airflowtest
