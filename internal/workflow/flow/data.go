package flow

// DataOf is the caller's data that a payload carries: what a Blob with its event stands for.
func DataOf(p Payload) Data {
	switch p := p.(type) {
	case *ExecutionCreated:
		return p.Input
	case *ExecutionCompleted:
		return p.Result
	case *NodeReady:
		return p.Input
	case *NodeProgressReported:
		return p.Metrics
	case *NodeWaiting:
		return p.Prompt
	case *NodeResumed:
		return p.Output
	case *NodeSucceeded:
		return p.Output
	}
	return nil
}
