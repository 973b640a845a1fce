package play

import (
	"cmp"
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

// Report is a play as scripts and callers of the API see it.
type Report struct {
	Status       string       `json:"status"`
	GraphID      string       `json:"graphId"`
	GraphDigest  string       `json:"graphDigest"`
	Took         string       `json:"took"`
	Result       flow.Data    `json:"result,omitzero"`
	Outcome      string       `json:"outcome,omitzero"`
	Error        *flow.Error  `json:"error,omitzero"`
	FailedNodeID string       `json:"failedNodeId,omitzero"`
	CancelSeq    uint64       `json:"cancelSeq,omitzero"`
	Commands     []Command    `json:"commands"`
	Events       []flow.Event `json:"events"`
	// of an execution that is still ACTIVE, the nodes that would wait for ever
	WaitsFor []string `json:"waitsFor,omitzero"`
}

// Command is a command of a play, as the server lists commands.
type Command struct {
	Command  string     `json:"command"`
	NodeID   string     `json:"nodeId,omitzero"`
	At       flow.Time  `json:"decidedAt"`
	Actor    flow.Actor `json:"actor"`
	Accepted bool       `json:"accepted"`
	FirstSeq uint64     `json:"firstSeq,omitzero"`
	LastSeq  uint64     `json:"lastSeq,omitzero"`
	Error    *Problem   `json:"error,omitzero"`
}

// Report shows the play.
func (p *Play) Report() *Report {
	s := &p.State
	out := &Report{
		Status: s.Status.String(), GraphID: s.GraphID, GraphDigest: s.GraphDigest, Took: p.Took().String(),
		Outcome: s.Outcome,
		Error:   s.Error, FailedNodeID: s.FailedNode, CancelSeq: s.CancelSeq, Events: p.Log, WaitsFor: p.Stuck(),
	}
	for _, d := range p.Decisions {
		v := Command{
			Command: d.Command.Name(), NodeID: d.Command.Target(), At: d.At, Actor: actorOf(d.Command),
			Accepted: d.Refused == nil,
		}
		if len(d.Events) > 0 {
			v.Actor, v.FirstSeq, v.LastSeq = d.Events[0].Actor, d.Events[0].Seq, d.Events[len(d.Events)-1].Seq
		}
		if r := d.Refused; r != nil {
			v.Error = &Problem{"COMMAND_REJECTED", r.Error(), map[string]any{"guard": r.Guard}}
		}
		out.Commands = append(out.Commands, v)
	}
	out.Result = p.Result()
	return out
}

// Result is that of an execution that completed, nil where there is none.
func (p *Play) Result() flow.Data {
	for i := range p.Log {
		if p.Log[i].Type == flow.ExecutionCompletedType {
			return flow.DataOf(p.Log[i].Payload)
		}
	}
	return nil
}

// Took is the virtual time from the creation to the end.
func (p *Play) Took() time.Duration {
	return cmp.Or(p.State.EndedAt, p.now).Sub(Beginning)
}

// Stuck are the nodes that nothing will ever happen to.
func (p *Play) Stuck() []string {
	if p.State.Status.Terminal() {
		return nil
	}
	var names []string
	for _, n := range p.State.Nodes {
		if n.Status == flow.NodeIsWaiting {
			names = append(names, n.ID)
		}
	}
	return names
}

// Problem is why a command was refused, in the form of the server's errors.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details any    `json:"details,omitzero"`
}
