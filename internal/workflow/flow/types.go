package flow

import "fmt"

// kind is the name of an event type and a maker of its payload.
type kind struct {
	name string
	make func() Payload
}

func kindOf[T any, P interface {
	*T
	Payload
}](name string) kind {
	return kind{name, func() Payload { return P(new(T)) }}
}

// kinds is the closed list.
var kinds = [typeEnd]kind{
	ExecutionCreatedType:         kindOf[ExecutionCreated]("EXECUTION_CREATED"),
	ExecutionStartedType:         kindOf[ExecutionStarted]("EXECUTION_STARTED"),
	ExecutionCompletedType:       kindOf[ExecutionCompleted]("EXECUTION_COMPLETED"),
	ExecutionArchivedType:        kindOf[ExecutionArchived]("EXECUTION_ARCHIVED"),
	ExecutionCancelRequestedType: kindOf[ExecutionCancelRequested]("EXECUTION_CANCEL_REQUESTED"),
	ExecutionCanceledType:        kindOf[ExecutionCanceled]("EXECUTION_CANCELED"),
	ExecutionFailRequestedType:   kindOf[ExecutionFailRequested]("EXECUTION_FAIL_REQUESTED"),
	ExecutionFailedType:          kindOf[ExecutionFailed]("EXECUTION_FAILED"),
	NodeCreatedType:              kindOf[NodeCreated]("NODE_CREATED"),
	NodeReadyType:                kindOf[NodeReady]("NODE_READY"),
	NodeStartedType:              kindOf[NodeStarted]("NODE_STARTED"),
	NodeProgressReportedType:     kindOf[NodeProgressReported]("NODE_PROGRESS_REPORTED"),
	NodeWaitingType:              kindOf[NodeWaiting]("NODE_WAITING"),
	NodeResumeRequestedType:      kindOf[NodeResumeRequested]("NODE_RESUME_REQUESTED"),
	NodeResumedType:              kindOf[NodeResumed]("NODE_RESUMED"),
	NodeSucceededType:            kindOf[NodeSucceeded]("NODE_SUCCEEDED"),
	NodeFailReportedType:         kindOf[NodeFailReported]("NODE_FAIL_REPORTED"),
	NodeFailedType:               kindOf[NodeFailed]("NODE_FAILED"),
	NodeCancelRequestedType:      kindOf[NodeCancelRequested]("NODE_CANCEL_REQUESTED"),
	NodeCanceledType:             kindOf[NodeCanceled]("NODE_CANCELED"),
	NodeInterruptRequestedType:   kindOf[NodeInterruptRequested]("NODE_INTERRUPT_REQUESTED"),
	ForkOpenedType:               kindOf[ForkOpened]("FORK_OPENED"),
	JoinGateUpdatedType:          kindOf[JoinGateUpdated]("JOIN_GATE_UPDATED"),
	JoinPassedType:               kindOf[JoinPassed]("JOIN_PASSED"),
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

// TypeNames are the names of the 24, in their order.
func TypeNames() []string {
	names := make([]string, 0, typeEnd-1)
	for t := ExecutionCreatedType; t < typeEnd; t++ {
		names = append(names, t.String())
	}
	return names
}

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

// The types of the payloads.
func (*ExecutionCreated) Type() Type         { return ExecutionCreatedType }
func (*ExecutionStarted) Type() Type         { return ExecutionStartedType }
func (*ExecutionCompleted) Type() Type       { return ExecutionCompletedType }
func (*ExecutionArchived) Type() Type        { return ExecutionArchivedType }
func (*ExecutionCancelRequested) Type() Type { return ExecutionCancelRequestedType }
func (*ExecutionCanceled) Type() Type        { return ExecutionCanceledType }
func (*ExecutionFailRequested) Type() Type   { return ExecutionFailRequestedType }
func (*ExecutionFailed) Type() Type          { return ExecutionFailedType }
func (*NodeCreated) Type() Type              { return NodeCreatedType }
func (*NodeReady) Type() Type                { return NodeReadyType }
func (*NodeStarted) Type() Type              { return NodeStartedType }
func (*NodeProgressReported) Type() Type     { return NodeProgressReportedType }
func (*NodeWaiting) Type() Type              { return NodeWaitingType }
func (*NodeResumeRequested) Type() Type      { return NodeResumeRequestedType }
func (*NodeResumed) Type() Type              { return NodeResumedType }
func (*NodeSucceeded) Type() Type            { return NodeSucceededType }
func (*NodeFailReported) Type() Type         { return NodeFailReportedType }
func (*NodeFailed) Type() Type               { return NodeFailedType }
func (*NodeCancelRequested) Type() Type      { return NodeCancelRequestedType }
func (*NodeCanceled) Type() Type             { return NodeCanceledType }
func (*NodeInterruptRequested) Type() Type   { return NodeInterruptRequestedType }
func (*ForkOpened) Type() Type               { return ForkOpenedType }
func (*JoinGateUpdated) Type() Type          { return JoinGateUpdatedType }
func (*JoinPassed) Type() Type               { return JoinPassedType }

// The nodes that events are about.
func (*ExecutionCreated) Node() string         { return "" }
func (*ExecutionStarted) Node() string         { return "" }
func (*ExecutionCompleted) Node() string       { return "" }
func (*ExecutionArchived) Node() string        { return "" }
func (*ExecutionCancelRequested) Node() string { return "" }
func (*ExecutionCanceled) Node() string        { return "" }
func (*ExecutionFailRequested) Node() string   { return "" }
func (*ExecutionFailed) Node() string          { return "" }
func (p *NodeCreated) Node() string            { return p.NodeID }
func (p *NodeReady) Node() string              { return p.NodeID }
func (p *NodeStarted) Node() string            { return p.NodeID }
func (p *NodeProgressReported) Node() string   { return p.NodeID }
func (p *NodeWaiting) Node() string            { return p.NodeID }
func (p *NodeResumeRequested) Node() string    { return p.NodeID }
func (p *NodeResumed) Node() string            { return p.NodeID }
func (p *NodeSucceeded) Node() string          { return p.NodeID }
func (p *NodeFailReported) Node() string       { return p.NodeID }
func (p *NodeFailed) Node() string             { return p.NodeID }
func (p *NodeCancelRequested) Node() string    { return p.NodeID }
func (p *NodeCanceled) Node() string           { return p.NodeID }
func (p *NodeInterruptRequested) Node() string { return p.NodeID }
func (p *ForkOpened) Node() string             { return p.NodeID }
func (p *JoinGateUpdated) Node() string        { return p.NodeID }
func (p *JoinPassed) Node() string             { return p.NodeID }
