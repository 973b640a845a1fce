package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/gate"
)

// TestEveryRouteIsThatOfItsOperation compares the route table with the table of operations
// that is generated from the contract: surface, scope, rate class and idempotency key.
func TestEveryRouteIsThatOfItsOperation(t *testing.T) {
	telemetry := &gate.Telemetry{Metrics: http.NotFoundHandler()}
	routes := table(telemetry, app.Routes())
	for _, problem := range unlike(routes, api.Operations()) {
		t.Error(problem)
	}
	at := slices.IndexFunc(routes, func(r gate.Route) bool { return r.Pattern == "POST /tasks/claim" })
	planted := slices.Clone(routes)
	planted[at].Surface, planted[at].Scope, planted[at].Rate, planted[at].Once = gate.CRM, "", "", gate.Optional
	want := []string{
		"POST /tasks/claim: the surface is crm, and core in the contract",
		`POST /tasks/claim: the scope is "", and "tasks:work" in the contract`,
		`POST /tasks/claim: the rate class is "", and "executions.write" in the contract`,
		"POST /tasks/claim: the key is optional in Idempotency-Key, and required in X-Idempotency-Key in the contract",
	}
	if diff := cmp.Diff(want, unlike(planted, api.Operations())); diff != "" {
		t.Errorf("a route that differs (-want +got):\n%s", diff)
	}
}

// unlike says where routes and operations differ.
func unlike(routes []gate.Route, operations []api.Operation) (problems []string) {
	facts := map[string]api.Operation{}
	for _, op := range operations {
		facts[op.Method+" "+op.Path] = op
	}
	for _, route := range routes {
		op, ok := facts[route.Pattern]
		if !ok {
			problems = append(problems, route.Pattern+" is not in the contract")
			continue
		}
		surface := route.Surface
		if surface == nil {
			surface = gate.Core
		}
		differs := func(what, got, want string) {
			if got != want {
				problems = append(problems, fmt.Sprintf("%s: the %s is %s, and %s in the contract", route.Pattern, what,
					got, want))
			}
		}
		differs("surface", surface.Name, op.Surface)
		differs("scope", fmt.Sprintf("%q", route.Scope), fmt.Sprintf("%q", op.Scope))
		differs("rate class", fmt.Sprintf("%q", route.Rate), fmt.Sprintf("%q", op.Rate))
		if surface.KeyHeader != "" { // the handler of a workflow event reads its key itself
			differs("key", policy(route.Once, surface.KeyHeader), contracted(op))
		}
	}
	return problems
}

// policy is how a route takes a key.
func policy(once gate.Once, header string) string {
	switch once {
	case gate.Required:
		return "required in " + header
	case gate.Optional:
		return "optional in " + header
	}
	return "none"
}

// contracted is how an operation takes a key.
func contracted(op api.Operation) string {
	switch {
	case op.KeyRequired:
		return policy(gate.Required, op.KeyHeader)
	case op.KeyHeader != "":
		return policy(gate.Optional, op.KeyHeader)
	}
	return policy(gate.None, "")
}
