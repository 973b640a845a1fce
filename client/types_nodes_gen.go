// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

// CancelNode: cancels one node.
type CancelNode struct {
	// With the same key it happens once; "" is a new one.
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	Reason      string `json:"reason,omitempty"`
}

func (c CancelNode) parts() parts {
	return parts{
		name: "CancelNode", path: "/executions/{executionId}/nodes/{nodeId}/cancel",
		key: c.Key, execution: c.ExecutionID, node: c.NodeID, body: c,
	}
}

// FailNode: reports that a running Task failed. The retry policy of the node decides what
// follows.
type FailNode struct {
	// With the same key it happens once; "" is a new one.
	Key         string     `json:"-"`
	ExecutionID string     `json:"-"`
	NodeID      string     `json:"-"`
	Error       *NodeError `json:"error,omitempty"`
	Attempt     int        `json:"attempt,omitempty"`
	WorkerID    string     `json:"workerId,omitempty"`
	// As with SucceedNode.
	Next bool `json:"next,omitempty"`
}

func (c FailNode) parts() parts {
	return parts{
		name: "FailNode", path: "/executions/{executionId}/nodes/{nodeId}/fail",
		key: c.Key, execution: c.ExecutionID, node: c.NodeID, body: c,
	}
}

// ReportNodeProgress: says how far a Task is, and renews its lease.
type ReportNodeProgress struct {
	// With the same key it happens once; "" is a new one.
	Key         string   `json:"-"`
	ExecutionID string   `json:"-"`
	NodeID      string   `json:"-"`
	Progress    *float64 `json:"progress,omitempty"`
	Message     string   `json:"message,omitempty"`
	Metrics     any      `json:"metrics,omitempty"`
	Attempt     int      `json:"attempt,omitempty"`
	WorkerID    string   `json:"workerId,omitempty"`
}

func (c ReportNodeProgress) parts() parts {
	c.Metrics = data(c.Metrics)
	return parts{
		name: "ReportNodeProgress", path: "/executions/{executionId}/nodes/{nodeId}/progress",
		key: c.Key, execution: c.ExecutionID, node: c.NodeID, body: c,
	}
}

// ResumeNode: resumes a node that waits. Where a wait key is set, `resumeKey` must equal it.
type ResumeNode struct {
	// With the same key it happens once; "" is a new one.
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	ResumeKey   string `json:"resumeKey,omitempty"`
	Output      any    `json:"output,omitempty"`
}

func (c ResumeNode) parts() parts {
	c.Output = data(c.Output)
	return parts{
		name: "ResumeNode", path: "/executions/{executionId}/nodes/{nodeId}/resume",
		key: c.Key, execution: c.ExecutionID, node: c.NodeID, body: c,
	}
}

// StartNode: starts a Task that is READY, without a lease. Workers claim instead.
type StartNode struct {
	// With the same key it happens once; "" is a new one.
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	Attempt     int    `json:"attempt"`
	WorkerID    string `json:"workerId,omitempty"`
}

func (c StartNode) parts() parts {
	return parts{
		name: "StartNode", path: "/executions/{executionId}/nodes/{nodeId}/start",
		key: c.Key, execution: c.ExecutionID, node: c.NodeID, body: c,
	}
}

// SucceedNode: completes a running Task.
type SucceedNode struct {
	// With the same key it happens once; "" is a new one.
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	Output      any    `json:"output,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	WorkerID    string `json:"workerId,omitempty"`
	// The answer may hold a Task of the same execution and queue that this made ready, started
	// for the same worker.
	Next bool `json:"next,omitempty"`
}

func (c SucceedNode) parts() parts {
	c.Output = data(c.Output)
	return parts{
		name: "SucceedNode", path: "/executions/{executionId}/nodes/{nodeId}/success",
		key: c.Key, execution: c.ExecutionID, node: c.NodeID, body: c,
	}
}

// PutNodeWaiting: lets a running Task wait for somebody.
type PutNodeWaiting struct {
	// With the same key it happens once; "" is a new one.
	Key         string `json:"-"`
	ExecutionID string `json:"-"`
	NodeID      string `json:"-"`
	WaitKey     string `json:"waitKey,omitempty"`
	Prompt      any    `json:"prompt,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	WorkerID    string `json:"workerId,omitempty"`
}

func (c PutNodeWaiting) parts() parts {
	c.Prompt = data(c.Prompt)
	return parts{
		name: "PutNodeWaiting", path: "/executions/{executionId}/nodes/{nodeId}/wait",
		key: c.Key, execution: c.ExecutionID, node: c.NodeID, body: c,
	}
}
