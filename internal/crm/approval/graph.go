package approval

import (
	"context"
	"strconv"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/workflow/flow"
)

// GraphPrefix begins the ids of the graphs of approvals. Names that users give have no
// colon, so these graphs are nobody else's.
const GraphPrefix = "approval:"

// graphID is the id of the graph of an approval with n stages.
func graphID(n int) string { return GraphPrefix + "stages-" + strconv.Itoa(n) }

// chain is the graph of an approval with n stages: each waits for a decision, and a
// rejection leaves the others out.
func chain(n int) flow.Graph {
	const start, approved, rejected = "start", "approved", "rejected"
	g := flow.Graph{
		Nodes: []flow.NodeSpec{{NodeID: start, Type: flow.StartKind}},
		Edges: []flow.Edge{{From: start, To: nodeOf(0)}},
	}
	for i := range n {
		next := approved
		if i+1 < n {
			next = nodeOf(i + 1)
		}
		g.Nodes = append(g.Nodes, flow.NodeSpec{NodeID: nodeOf(i), Type: flow.WaitKind})
		g.Edges = append(g.Edges,
			flow.Edge{From: nodeOf(i), To: next, When: `output.decision == "` + Approved.String() + `"`},
			flow.Edge{From: nodeOf(i), To: rejected})
	}
	g.Nodes = append(g.Nodes, flow.NodeSpec{NodeID: approved, Type: flow.SuccessKind}, flow.NodeSpec{
		NodeID: rejected,
		Type:   flow.SuccessKind,
	})
	return g
}

// nodeOf names the Wait of a stage, from 0.
func nodeOf(stage int) string { return "stage" + strconv.Itoa(stage+1) }

// passage is what a Wait is resumed with.
type passage struct {
	Decision  Status `json:"decision"`
	DecidedBy string `json:"decidedBy"`
}

// resume is the command that lets an execution pass a stage.
func resume(stage int, d Status, by string) (flow.Command, error) {
	output, err := json.Marshal(passage{d, by})
	return flow.Resume{Node: nodeOf(stage), Output: output}, err
}

// version stores the graph of n stages, unless that is known, and gives its version.
func (s *Approvals) version(ctx context.Context, tenant string, n int) (int, error) {
	v, err := s.graphs.Version(ctx, s.cfg.Engine, tenant, graphID(n), func() flow.Graph { return chain(n) })
	return v, s.Wrap("graph", err)
}
