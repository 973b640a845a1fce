package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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

func TestTheContractListsExactlyTheRoutesOfTheTable(t *testing.T) {
	telemetry := &gate.Telemetry{Metrics: nil}
	var routes []string
	for _, route := range table(telemetry, app.Routes()) {
		routes = append(routes, route.Pattern)
	}
	routes = append(routes, "GET /metrics") // there only with telemetry
	slices.Sort(routes)
	if diff := cmp.Diff(theContract().operations(), routes); diff != "" {
		t.Errorf("contract and route table differ (-contract +table):\n%s", diff)
	}
}

func TestEveryRouteHasARateClassAndItsRefusalIsInTheContract(t *testing.T) {
	c := theContract()
	for _, route := range table(&gate.Telemetry{}, app.Routes()) {
		if route.Rate == "" {
			t.Errorf("%s has no rate class", route.Pattern)
		}
		method, path, _ := strings.Cut(route.Pattern, " ")
		found, _ := c.at("/paths/" + escape(path) + "/" + strings.ToLower(method) + "/responses/429")
		headers, _ := found.(map[string]any)["headers"].(map[string]any)
		for _, name := range []string{
			"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
		} {
			if headers[name] == nil {
				t.Errorf("%s: its 429 lacks %s", route.Pattern, name)
			}
		}
	}
}

func TestTheContractMarksWhatTheRouteTableDeprecates(t *testing.T) {
	routes := table(&gate.Telemetry{}, app.Routes())
	for _, problem := range undeclared(theContract(), routes) {
		t.Error(problem)
	}
	planted := slices.Clone(routes)
	planted[0].Deprecated = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	planted[0].Sunset = planted[0].Deprecated.Add(gate.MinNotice)
	want := []string{
		planted[0].Pattern + ": deprecated is true in the table and false in the contract",
		planted[0].Pattern + ": the contract does not name its sunset, 2026-04-01",
	}
	if diff := cmp.Diff(want, undeclared(theContract(), planted)); diff != "" {
		t.Errorf("a deprecation that the contract lacks (-want +got):\n%s", diff)
	}
}

// undeclared says where contract and route table do not deprecate the same.
func undeclared(c *contract, routes []gate.Route) []string {
	var problems []string
	for _, route := range routes {
		method, path, _ := strings.Cut(route.Pattern, " ")
		found, _ := c.at("/paths/" + escape(path) + "/" + strings.ToLower(method))
		operation, _ := found.(map[string]any)
		marked := operation["deprecated"] == true
		if is := !route.Deprecated.IsZero(); is != marked {
			problems = append(
				problems,
				fmt.Sprintf("%s: deprecated is %t in the table and %t in the contract", route.Pattern, is, marked),
			)
		}
		day := route.Sunset.UTC().Format(time.DateOnly)
		if text, _ := operation["description"].(string); !route.Sunset.IsZero() && !strings.Contains(text, day) {
			problems = append(
				problems,
				fmt.Sprintf("%s: the contract does not name its sunset, %s", route.Pattern, day),
			)
		}
	}
	return problems
}
