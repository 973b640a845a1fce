package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Command is something that somebody wants to happen: one of the eleven commands
// below. Send sends one, SendAll many at once.
//
// In every command Key makes it safe to repeat; without one, one is made for each
// call of Send or SendAll. Data (Input, Output, Prompt, Metrics, Detail) is
// whatever encoding/json makes an object of: a struct, a map, json.RawMessage.
type Command interface{ parts() parts }

// parts is a command taken apart: where it goes and what stands in its body.
type parts struct {
	name, path           string
	key, execution, node string
	body                 any
}

// NodeError says how a Task failed. A handler of a Worker that returns one chooses
// what is reported.
type NodeError struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Detail  any    `json:"detail,omitempty"`
	// Final says that another attempt would fail again: there is none, whatever the retry policy of the node says.
	Final bool `json:"final,omitempty"`
}

func (e *NodeError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return e.Code + ": " + e.Message
}

// MarshalJSON leaves out a detail that is JSON of no length.
func (e *NodeError) MarshalJSON() ([]byte, error) {
	type plain NodeError
	sent := plain(*e)
	sent.Detail = data(e.Detail)
	return json.Marshal(sent)
}

// data is v, or nothing when it is JSON of no length.
func data(v any) any {
	if raw, ok := v.(json.RawMessage); ok && len(raw) == 0 {
		return nil
	}
	return v
}

// encoded is a command as it is sent, however often that is.
type encoded struct {
	parts
	raw []byte // the body of its own endpoint
}

// encode makes a command ready to be sent.
func encode(cmd Command) (encoded, error) {
	if cmd == nil {
		return encoded{}, errors.New("client: there is no command")
	}
	e := encoded{parts: cmd.parts()}
	switch {
	case strings.Contains(e.path, "{executionId}") && e.execution == "":
		return e, fmt.Errorf("client: %s needs an ExecutionID", e.name)
	case strings.Contains(e.path, "{nodeId}") && e.node == "":
		return e, fmt.Errorf("client: %s needs a NodeID", e.name)
	}
	if e.key == "" {
		e.key = newKey()
	}
	var err error
	if e.raw, err = json.Marshal(e.body); err != nil {
		return e, fmt.Errorf("client: %s: %w", e.name, err)
	}
	return e, nil
}

// appendInner appends the command as it stands in a POST /commands.
func (e *encoded) appendInner(dst []byte) []byte {
	dst = append(dst, `{"command":"`...)
	dst = append(append(dst, e.name...), '"')
	for _, m := range [...]struct{ name, value string }{
		{"idempotencyKey", e.key}, {"executionId", e.execution}, {"nodeId", e.node},
	} {
		if m.value != "" {
			quoted, _ := json.Marshal(m.value) // a string always can be
			dst = append(append(dst, `,"`...), m.name...)
			dst = append(append(dst, `":`...), quoted...)
		}
	}
	if len(e.raw) > len("{}") {
		dst = append(dst, ',')
	}
	return append(dst, e.raw[1:]...)
}
