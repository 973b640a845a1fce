package app

import (
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/recheck/airflow"
	"renga.dev/renga/internal/workflow/flow"
)

// newAirflow lets Airflow do the checks of strategies.
func (a *App) newAirflow() (*Part, error) {
	adapter, err := airflow.New(*a.cfg.Airflow, airflow.Ports{
		Engine: a.Engine, Queue: recheck.Queue, Worker: "airflow-" + a.name, Tenants: a.Rechecks.Tenants,
		Parse: parseCheck, Meter: a.telemetry.Bare, Tracer: a.telemetry.Tracer, Log: a.log,
	})
	if err != nil {
		return nil, err
	}
	if a.cfg.Airflow.Exposed() {
		a.log.Warn("credentials for Airflow go over the network in the clear; use https in --airflow-url")
	}
	a.airflow = adapter
	return &Part{Name: "airflow", Run: loops(adapter.Run)}, nil
}

// parseCheck is what a task of the queue of checks asks for.
func parseCheck(node string, input flow.Data) (airflow.Check, error) {
	k, err := recheck.ParseCheck(node, input)
	return airflow.Check(k), err
}

// checksWait says that Airflow, which should do the checks, does not answer.
func (a *App) checksWait() bool { return a.airflow != nil && a.airflow.Down() }
