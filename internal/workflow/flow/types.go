package flow

import "fmt"

// kinds is the closed list: the name of each event type and a maker of its payload.
var kinds = [typeEnd]struct {
	name string
	make func() Payload
}{
	ExecutionCreatedType:   {"EXECUTION_CREATED", func() Payload { return new(ExecutionCreated) }},
	ExecutionStartedType:   {"EXECUTION_STARTED", func() Payload { return new(ExecutionStarted) }},
	ExecutionCompletedType: {"EXECUTION_COMPLETED", func() Payload { return new(ExecutionCompleted) }},
	ExecutionArchivedType:  {"EXECUTION_ARCHIVED", func() Payload { return new(ExecutionArchived) }},
	ExecutionCancelRequestedType: {
		"EXECUTION_CANCEL_REQUESTED",
		func() Payload { return new(ExecutionCancelRequested) },
	},
	ExecutionCanceledType:      {"EXECUTION_CANCELED", func() Payload { return new(ExecutionCanceled) }},
	ExecutionFailRequestedType: {"EXECUTION_FAIL_REQUESTED", func() Payload { return new(ExecutionFailRequested) }},
	ExecutionFailedType:        {"EXECUTION_FAILED", func() Payload { return new(ExecutionFailed) }},
	NodeCreatedType:            {"NODE_CREATED", func() Payload { return new(NodeCreated) }},
	NodeReadyType:              {"NODE_READY", func() Payload { return new(NodeReady) }},
	NodeStartedType:            {"NODE_STARTED", func() Payload { return new(NodeStarted) }},
	NodeProgressReportedType:   {"NODE_PROGRESS_REPORTED", func() Payload { return new(NodeProgressReported) }},
	NodeWaitingType:            {"NODE_WAITING", func() Payload { return new(NodeWaiting) }},
	NodeResumeRequestedType:    {"NODE_RESUME_REQUESTED", func() Payload { return new(NodeResumeRequested) }},
	NodeResumedType:            {"NODE_RESUMED", func() Payload { return new(NodeResumed) }},
	NodeSucceededType:          {"NODE_SUCCEEDED", func() Payload { return new(NodeSucceeded) }},
	NodeFailReportedType:       {"NODE_FAIL_REPORTED", func() Payload { return new(NodeFailReported) }},
	NodeFailedType:             {"NODE_FAILED", func() Payload { return new(NodeFailed) }},
	NodeCancelRequestedType:    {"NODE_CANCEL_REQUESTED", func() Payload { return new(NodeCancelRequested) }},
	NodeCanceledType:           {"NODE_CANCELED", func() Payload { return new(NodeCanceled) }},
	NodeInterruptRequestedType: {"NODE_INTERRUPT_REQUESTED", func() Payload { return new(NodeInterruptRequested) }},
	ForkOpenedType:             {"FORK_OPENED", func() Payload { return new(ForkOpened) }},
	JoinGateUpdatedType:        {"JOIN_GATE_UPDATED", func() Payload { return new(JoinGateUpdated) }},
	JoinPassedType:             {"JOIN_PASSED", func() Payload { return new(JoinPassed) }},
}

// Types lists the 24 event types in the order of the document.
func Types() []Type {
	all := make([]Type, 0, typeEnd-1)
	for t := Type(1); t < typeEnd; t++ {
		all = append(all, t)
	}
	return all
}

// Valid reports whether t is one of the 24.
func (t Type) Valid() bool { return t > 0 && t < typeEnd }

func (t Type) String() string {
	if !t.Valid() {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return kinds[t].name
}

// MarshalText writes the name of the type; only the 24 can be written.
func (t Type) MarshalText() ([]byte, error) {
	if !t.Valid() {
		return nil, fmt.Errorf("flow: event type %d does not exist", uint8(t))
	}
	return []byte(kinds[t].name), nil
}

// UnmarshalText reads the name of a type.
func (t *Type) UnmarshalText(b []byte) error {
	for i := Type(1); i < typeEnd; i++ {
		if kinds[i].name == string(b) {
			*t = i
			return nil
		}
	}
	return fmt.Errorf("flow: event type %q does not exist", b)
}

// NewPayload makes an empty payload to decode into; nil if there is no such type.
func NewPayload(t Type) Payload {
	if !t.Valid() {
		return nil
	}
	return kinds[t].make()
}

// Type is EXECUTION_CREATED.
func (*ExecutionCreated) Type() Type { return ExecutionCreatedType }

// Type is EXECUTION_STARTED.
func (*ExecutionStarted) Type() Type { return ExecutionStartedType }

// Type is EXECUTION_COMPLETED.
func (*ExecutionCompleted) Type() Type { return ExecutionCompletedType }

// Type is EXECUTION_ARCHIVED.
func (*ExecutionArchived) Type() Type { return ExecutionArchivedType }

// Type is EXECUTION_CANCEL_REQUESTED.
func (*ExecutionCancelRequested) Type() Type { return ExecutionCancelRequestedType }

// Type is EXECUTION_CANCELED.
func (*ExecutionCanceled) Type() Type { return ExecutionCanceledType }

// Type is EXECUTION_FAIL_REQUESTED.
func (*ExecutionFailRequested) Type() Type { return ExecutionFailRequestedType }

// Type is EXECUTION_FAILED.
func (*ExecutionFailed) Type() Type { return ExecutionFailedType }

// Type is NODE_CREATED.
func (*NodeCreated) Type() Type { return NodeCreatedType }

// Type is NODE_READY.
func (*NodeReady) Type() Type { return NodeReadyType }

// Type is NODE_STARTED.
func (*NodeStarted) Type() Type { return NodeStartedType }

// Type is NODE_PROGRESS_REPORTED.
func (*NodeProgressReported) Type() Type { return NodeProgressReportedType }

// Type is NODE_WAITING.
func (*NodeWaiting) Type() Type { return NodeWaitingType }

// Type is NODE_RESUME_REQUESTED.
func (*NodeResumeRequested) Type() Type { return NodeResumeRequestedType }

// Type is NODE_RESUMED.
func (*NodeResumed) Type() Type { return NodeResumedType }

// Type is NODE_SUCCEEDED.
func (*NodeSucceeded) Type() Type { return NodeSucceededType }

// Type is NODE_FAIL_REPORTED.
func (*NodeFailReported) Type() Type { return NodeFailReportedType }

// Type is NODE_FAILED.
func (*NodeFailed) Type() Type { return NodeFailedType }

// Type is NODE_CANCEL_REQUESTED.
func (*NodeCancelRequested) Type() Type { return NodeCancelRequestedType }

// Type is NODE_CANCELED.
func (*NodeCanceled) Type() Type { return NodeCanceledType }

// Type is NODE_INTERRUPT_REQUESTED.
func (*NodeInterruptRequested) Type() Type { return NodeInterruptRequestedType }

// Type is FORK_OPENED.
func (*ForkOpened) Type() Type { return ForkOpenedType }

// Type is JOIN_GATE_UPDATED.
func (*JoinGateUpdated) Type() Type { return JoinGateUpdatedType }

// Type is JOIN_PASSED.
func (*JoinPassed) Type() Type { return JoinPassedType }

// Node is none: the event is about the execution.
func (*ExecutionCreated) Node() string { return "" }

// Node is none: the event is about the execution.
func (*ExecutionStarted) Node() string { return "" }

// Node is none: the event is about the execution.
func (*ExecutionCompleted) Node() string { return "" }

// Node is none: the event is about the execution.
func (*ExecutionArchived) Node() string { return "" }

// Node is none: the event is about the execution.
func (*ExecutionCancelRequested) Node() string { return "" }

// Node is none: the event is about the execution.
func (*ExecutionCanceled) Node() string { return "" }

// Node is none: the event is about the execution.
func (*ExecutionFailRequested) Node() string { return "" }

// Node is none: the event is about the execution.
func (*ExecutionFailed) Node() string { return "" }

// Node is the node that the event is about.
func (p *NodeCreated) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeReady) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeStarted) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeProgressReported) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeWaiting) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeResumeRequested) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeResumed) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeSucceeded) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeFailReported) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeFailed) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeCancelRequested) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeCanceled) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *NodeInterruptRequested) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *ForkOpened) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *JoinGateUpdated) Node() string { return p.NodeID }

// Node is the node that the event is about.
func (p *JoinPassed) Node() string { return p.NodeID }
