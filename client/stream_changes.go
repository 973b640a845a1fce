package client

import (
	"context"
	"encoding/json"
	"iter"
)

// ExecutionChange is an execution as it is after a change.
type ExecutionChange struct {
	ExecutionID string `json:"executionId"`
	GraphID     string `json:"graphId"`
	Status      Status `json:"status"`
	Waiting     bool   `json:"waiting"` // a node waits for somebody
	Seq         uint64 `json:"seq"`

	// ReadAgain stands alone: what changed before is not told. The stream has begun, perhaps after its
	// connection broke, or there was too much for this reader.
	ReadAgain bool `json:"-"`
}

// Changes follows what changes among the executions: to one of some statuses, of a graph; none and "" are all. Of
// one execution there are at most four changes a second, and always the last. A connection that breaks is
// opened again. An error is the last thing that comes.
func (c Executions) Changes(ctx context.Context, status []Status, graphID string) iter.Seq2[ExecutionChange, error] {
	return func(yield func(ExecutionChange, error) bool) {
		s := &stream{client: c.transport, path: "/executions/stream", query: given(map[string]string{
			"status": joined(status), "graphId": graphID,
		})}
		s.handle = func(f *frame) error {
			var one ExecutionChange
			switch f.name {
			case "begin", "behind":
				one.ReadAgain = true
			case "execution":
				if err := json.Unmarshal(f.data, &one); err != nil {
					return s.unreadable(err)
				}
			default:
				return nil // a heartbeat
			}
			if !yield(one, nil) {
				return errStreamDone
			}
			return nil
		}
		if err := s.run(ctx); err != nil {
			yield(ExecutionChange{}, err)
		}
	}
}
