package engine

import (
	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// compensation is the execution that cleans up after one that is cancelled, in the commit of the cancel: there is no
// moment at which one of both is stored, and no cancel starts it twice, since only the first one has events.
type compensation struct {
	id   flow.ID // zero: there is none
	plan *flow.Plan
}

// compensation prepares what a cancel would start. A graph that is gone does not stand in the way of a cancel.
func (b *batch) compensation(ent *entry, req *Request) (compensation, error) {
	on := ent.plan.Graph.OnCancel
	if on == nil || !isCancel(req) || ent.state.Status.Terminal() {
		return compensation{}, nil
	}
	plan, err := b.plan(ent.tenant, on.Graph, 0)
	if fault.KindOf(err) == fault.NotFound {
		b.e.cfg.Log.Error("an execution is cancelled without compensation: its graph does not exist",
			"execution", req.Execution, "graph", on.Graph)
		return compensation{}, nil
	}
	return compensation{b.e.newExecutionID(b.now), plan}, err
}

// start starts it when the events of the cancel say so.
func (c *compensation) start(b *batch, ent *entry, events []flow.Event) error {
	if len(events) == 0 || c.id.IsZero() {
		return nil
	}
	last, ok := events[len(events)-1].Payload.(*flow.ExecutionCanceled)
	if !ok || last.CompensationID.IsZero() {
		return nil
	}
	input, err := json.Marshal(remainsOf(&ent.state, last.Reason), json.Deterministic(true))
	if err != nil {
		return fault.Wrap("engine.compensation", err)
	}
	_, err = b.createAs(c.id, c.plan, &Request{
		Tenant: ent.tenant, GraphID: c.plan.ID, Start: true, Command: flow.Create{Input: input},
		Actor: flow.Actor{Kind: flow.KindSystem}, CorrelationID: ent.state.CorrelationID,
	})
	return err
}

// remains is what a cancelled execution leaves behind: the input of its compensation.
type remains struct {
	ExecutionID flow.ID              `json:"executionId"`
	GraphID     string               `json:"graphId"`
	BusinessKey string               `json:"businessKey,omitempty"`
	Reason      string               `json:"reason,omitempty"`
	Input       flow.Data            `json:"input,omitzero"`
	Outputs     map[string]flow.Data `json:"outputs"`
	OutputRefs  map[string]OutputRef `json:"outputRefs,omitempty"` // read with Reads.Output
	Running     []string             `json:"running,omitempty"`    // whose work may still be done
}

// remainsOf is asked before the cancel is applied. Outputs are bounded as those that a Task carries.
func remainsOf(s *flow.State, reason string) *remains {
	r := &remains{
		ExecutionID: s.Execution, GraphID: s.GraphID, BusinessKey: s.BusinessKey, Reason: reason, Input: s.Input,
		Outputs: map[string]flow.Data{}, OutputRefs: map[string]OutputRef{},
	}
	room := MaxTaskOutputs
	for _, n := range s.Nodes {
		size := n.Output.Size
		switch {
		case n.Status == flow.NodeIsRunning && len(r.Running) < MaxTaskNodes:
			r.Running = append(r.Running, n.ID)
		case size == 0 || len(r.Outputs)+len(r.OutputRefs) == MaxTaskNodes:
		case n.Output.Seq == 0 && size <= room:
			room -= size
			r.Outputs[n.ID] = n.Output.Inline
		default:
			r.OutputRefs[n.ID] = OutputRef{n.Cause.Seq, size}
		}
	}
	return r
}
