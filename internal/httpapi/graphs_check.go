package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/play"
)

// What a simulation may take of the server; renga graph simulate has no such limits.
const (
	MaxSimulatedEvents = 10_000
	MaxSimulatedBytes  = 4 << 20 // of the payloads of its events
	MaxSimulation      = 2 * time.Second
)

// graphSource is the text of a graph that is not stored: YAML, or JSON if it begins with a bracket.
type graphSource struct {
	GraphID string `json:"graphId"`
	Source  string `json:"source"`
}

func (s *graphSource) yaml() bool {
	return !bytes.HasPrefix(bytes.TrimLeft([]byte(s.Source), " \t\r\n"), []byte("{"))
}

// compileSource checks a graph as PUT does.
func (a *graphAPI) compileSource(ctx context.Context, c *gate.Call, s *graphSource) (*flow.Plan, error) {
	if s.GraphID != "" && !flow.ValidName(s.GraphID) {
		return nil, rest.Invalid("graphId", "graphId must be 1 to %d letters, digits, dots, dashes or underscores",
			flow.MaxName)
	}
	g, err := flow.ParseGraph([]byte(s.Source), s.yaml())
	if err == nil {
		err = a.checkQueues(&g)
	}
	if err != nil {
		return nil, err
	}
	plan, _, err := a.graphs.CheckGraph(ctx, c.Principal.Tenant, cmp.Or(s.GraphID, "graph"), g)
	return plan, err
}

// graphCheckView says whether a graph can be registered.
type graphCheckView struct {
	Valid  bool             `json:"valid"`
	Digest string           `json:"digest,omitzero"`
	Nodes  int              `json:"nodes,omitzero"`
	Edges  int              `json:"edges,omitzero"`
	Errors []graphErrorView `json:"errors"`
}

// graphErrorView is why it cannot, and where in its text.
type graphErrorView struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   any    `json:"field,omitzero"`
	NodeID  any    `json:"nodeId,omitzero"`
	Line    int    `json:"line,omitzero"`
	Column  int    `json:"column,omitzero"`
}

// check answers POST /graphs/check.
func (a *graphAPI) check(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var s graphSource
	if err := c.Decode(&s); err != nil {
		return gate.Reply{}, err
	}
	if s.Source == "" {
		return gate.Reply{}, rest.Invalid("source", "source is missing: send the text of a graph, as YAML or JSON")
	}
	plan, err := a.compileSource(ctx, c, &s)
	e, known := fault.As(err)
	switch {
	case err == nil:
		return gate.Reply{Body: &graphCheckView{
			Valid: true, Digest: plan.Digest, Nodes: len(plan.Graph.Nodes), Edges: len(plan.Graph.Edges),
			Errors: []graphErrorView{},
		}}, nil
	case !known || e.Code != flow.CodeInvalidGraph:
		return gate.Reply{}, err
	}
	at := flow.Locate([]byte(s.Source), s.yaml(), e)
	view := graphErrorView{Code: e.Code, Message: e.Message, Line: at.Line, Column: at.Column}
	if details, ok := e.Details.(map[string]any); ok {
		view.Field, view.NodeID = details["field"], details["nodeId"]
	}
	return gate.Reply{Body: &graphCheckView{Errors: []graphErrorView{view}}}, nil
}

// simulationBody is a graph, stored or not, and how an execution of it goes.
type simulationBody struct {
	graphSource
	Version int `json:"version"`
	play.Script
}

// simulate answers POST /graphs/simulate.
func (a *graphAPI) simulate(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b simulationBody
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	if b.Input != nil && b.Input.Kind() != jsontext.KindBeginObject {
		return gate.Reply{}, rest.Invalid("input", "input must be a JSON object")
	}
	plan, err := a.simulated(ctx, c, &b)
	if err != nil {
		return gate.Reply{}, err
	}
	ctx, stop := context.WithTimeout(ctx, MaxSimulation)
	defer stop()
	p, err := play.New(plan, &b.Script, play.Limits{
		Events: MaxSimulatedEvents, Bytes: MaxSimulatedBytes, Alive: func() error {
			if ctx.Err() != nil {
				return rest.Invalid("source", "the simulation takes longer than %v; simulate it with the command line",
					MaxSimulation)
			}
			return nil
		},
	})
	if err != nil {
		return gate.Reply{}, err
	}
	if err := p.Run(flow.Data(b.Input)); err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: p.Report()}, nil
}

// simulated is the graph of a simulation: that of the source, else a stored one.
func (a *graphAPI) simulated(ctx context.Context, c *gate.Call, b *simulationBody) (*flow.Plan, error) {
	switch {
	case b.Source != "" && b.Version != 0:
		return nil, rest.Invalid("version", "version belongs to a stored graph: leave it out, or source")
	case b.Source != "":
		return a.compileSource(ctx, c, &b.graphSource)
	case b.Version < 0 || !graphID(b.GraphID):
		return nil, rest.Invalid("source", "name a stored graph with graphId (and version), or send one as source")
	}
	row, err := a.graphs.Graph(ctx, c.Principal.Tenant, b.GraphID, b.Version)
	if err != nil {
		return nil, err
	}
	return flow.CompileStored(row.ID, row.Version, row.Body)
}
