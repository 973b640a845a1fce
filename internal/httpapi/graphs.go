package httpapi

import (
	"context"
	"math"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

const mediaJSON = "application/json"

// graphMedia are the media types of a graph; all but the first are YAML.
var graphMedia = []string{mediaJSON, "application/yaml", "application/x-yaml", "text/yaml"}

// madePrefixes are in front of the names of graphs that the server makes itself, one for each
// service that runs some.
var madePrefixes = []string{"template:", "pdca:", "sharing:", "search:", "reporting:", "approval:"}

// graphID reports whether a graph can have this id: a name that somebody gave, or that
// of a graph that the server makes itself, which users read and do not register.
func graphID(id string) bool {
	for _, prefix := range madePrefixes {
		if name, ok := strings.CutPrefix(id, prefix); ok {
			return canonical.Name(name)
		}
	}
	return canonical.Name(id)
}

// graphIDRule says what such an id must be; it has the longest name in it.
const graphIDRule = "must be 1 to %d letters, digits, dots, dashes or underscores, " +
	"with template:, pdca:, sharing:, search:, reporting: or approval: in front where the server has made it"

// graphAPI answers the calls of graphs.
type graphAPI struct {
	graphs   Graphs
	reserved func(queue string) bool
}

// routes are the routes of graphs.
func (a *graphAPI) routes() []gate.Route {
	return []gate.Route{
		{Operation: "putGraph", Heavy: true, MaxBody: MaxGraphBody, Media: graphMedia, Do: a.putGraph},
		{Operation: "listGraphs", Heavy: true, Do: rest.Paged(a.graphs, Graphs.Graphs, rest.Same)},
		{Operation: "getGraph", Do: a.graph},
		{Operation: "listGraphVersions", Heavy: true, Do: a.versions},
		{Operation: "checkGraph", Heavy: true, MaxBody: MaxGraphBody, Do: a.check},
		{Operation: "simulateGraph", Heavy: true, MaxBody: MaxGraphBody, Do: a.simulate},
	}
}

func (a *graphAPI) putGraph(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id := c.Path("graphId")
	if !canonical.Name(id) {
		return gate.Reply{}, rest.Invalid("graphId",
			"graphId must be 1 to %d letters, digits, dots, dashes or underscores", canonical.MaxName)
	}
	g, err := flow.ParseGraph(c.Body, c.Media != mediaJSON && c.Media != "")
	if err != nil {
		return gate.Reply{}, err
	}
	if err := a.checkQueues(&g); err != nil {
		return gate.Reply{}, err
	}
	row, created, err := a.graphs.PutGraph(ctx, c.Principal.Tenant, id, g)
	return gate.Reply{Status: rest.PutStatus(created && row.Version == 1), Body: &row}, err
}

// checkQueues refuses queues of the server itself.
func (a *graphAPI) checkQueues(g *flow.Graph) error {
	for i := range g.Nodes {
		if n := &g.Nodes[i]; a.reserved(n.Queue) {
			return rest.Invalid("nodes",
				"node %q: the queue %s is the server's own; choose another name", n.NodeID, n.Queue)
		}
	}
	return nil
}

func (a *graphAPI) graph(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := rest.ReadQuery(c, "version")
	version := q.Int("version", 1, math.MaxInt32, 0)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	id, err := storedGraph(c)
	if err != nil {
		return gate.Reply{}, err
	}
	row, err := a.graphs.Graph(ctx, c.Principal.Tenant, id, version)
	if err != nil {
		return gate.Reply{}, err
	}
	head, err := json.Marshal(&row)
	if err != nil {
		return gate.Reply{}, fault.Wrap("httpapi.graph", err)
	}
	// Both are objects; the content is stored as canonical JSON.
	out := append(append(c.Scratch(), head[:len(head)-1]...), ',')
	return c.Built(http.StatusOK, append(out, row.Body[1:]...)), nil
}

// storedGraph is the id of the graph that a path names, if there can be one.
func storedGraph(c *gate.Call) (string, error) {
	id := c.Path("graphId")
	if !graphID(id) {
		return "", fault.New(fault.NotFound, "GRAPH_NOT_FOUND", "graph %.64q does not exist", id)
	}
	return id, nil
}

func (a *graphAPI) versions(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	id, err := storedGraph(c)
	if err != nil {
		return gate.Reply{}, err
	}
	rows, total, err := a.graphs.Versions(ctx, c.Principal.Tenant, id, p.Offset(), p.Size)
	return gate.Reply{Body: rest.Show(p, rows, total, rest.Same)}, err
}
