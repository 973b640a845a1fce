package flow

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/fault"
)

// checkNode checks one node by itself; i is its place, for nodes that cannot be named.
func checkNode(i int, n *NodeSpec) error {
	switch {
	case n.NodeID == "":
		return invalidGraph(fmt.Sprintf("nodes[%d].nodeId", i), "is missing")
	case !ValidName(n.NodeID):
		return invalidGraph(fmt.Sprintf("nodes[%d].nodeId", i), "%q is not a name: use 1 to %d of A-Z a-z 0-9 . _ -",
			shorten(n.NodeID), MaxName)
	case !n.Type.valid():
		return refuse("node", n.NodeID, "has no type")
	}
	if err := checkFields(n); err != nil {
		return err
	}
	switch {
	case n.Queue != "" && !ValidName(n.Queue):
		return refuseField(n, "queue", "%q is not a name: use 1 to %d of A-Z a-z 0-9 . _ -", shorten(n.Queue), MaxName)
	case n.Timeout < 0:
		return refuseField(n, "timeout", "must be more than 0s")
	case n.Timeout > Duration(MaxSpan):
		return refuseField(n, "timeout", "must be at most %s", hours(MaxSpan))
	case n.For < 0:
		return refuseField(n, "for", "must be more than 0s")
	case n.For > Duration(MaxSpan):
		return refuseField(n, "for", "must be at most %s", hours(MaxSpan))
	case n.For != 0 && n.Timeout != 0:
		return refuseField(n, "for", "excludes timeout: a Wait either succeeds or fails when nobody resumes it")
	case !validWaitKey(n.WaitKey):
		return refuseField(n, "waitKey", "must be 1 to %d characters", MaxWaitKey)
	case n.Outcome != "" && (!ValidName(n.Outcome) || len(n.Outcome) > MaxOutcome):
		return refuseField(n, "outcome", "%q is not a name: use 1 to %d of A-Z a-z 0-9 . _ -", shorten(n.Outcome),
			MaxOutcome)
	}
	for _, check := range [...]func(*NodeSpec) error{
		checkRetry, checkPolicy, checkPrompt, checkAssignees, checkMessage, checkRemind,
	} {
		if err := check(n); err != nil {
			return err
		}
	}
	return nil
}

func checkPrompt(n *NodeSpec) error {
	p := n.Prompt
	switch {
	case p == nil:
		return nil
	case p.Title == "":
		return refuseField(n, "prompt.title", "is missing: lists show it")
	case !utf8.ValidString(p.Title) || utf8.RuneCountInString(p.Title) > MaxTitle:
		return refuseField(n, "prompt.title", "must be 1 to %d characters", MaxTitle)
	case !utf8.ValidString(p.Text) || utf8.RuneCountInString(p.Text) > MaxPromptText:
		return refuseField(n, "prompt.text", "must be at most %d characters", MaxPromptText)
	}
	return nil
}

func checkFields(n *NodeSpec) error {
	task, wait, join := n.Type == TaskKind, n.Type == WaitKind, n.Type == JoinKind
	success := n.Type == SuccessKind
	for _, f := range [...]struct {
		name       string
		has, fits  bool
		whereItIsA string
	}{
		{"queue", n.Queue != "", task, "a Task"},
		{"retry", n.Retry != nil, task, "a Task"},
		{"timeout", n.Timeout != 0, task || wait, "a Task or a Wait"},
		{"for", n.For != 0, wait, "a Wait"},
		{"waitKey", n.WaitKey != "", wait, "a Wait"},
		{"policy", n.Policy != "", join, "a Join"},
		{"expression", n.Expression != "", join, "a Join"},
		{"outcome", n.Outcome != "", success, "a Success"},
		{"input", n.Input != nil, task, "a Task"},
		{"prompt", n.Prompt != nil, wait, "a Wait"},
		{"schema", n.Schema != nil, wait, "a Wait"},
		{"assignees", n.Assignees != nil, wait, "a Wait"},
		{"message", n.Message != nil, wait || n.Type == StartKind, "a Wait or a Start"},
		{"remind", n.Remind != nil, wait, "a Wait"},
	} {
		if f.has && !f.fits {
			return refuseField(n, f.name, "belongs to %s, not to a %s", f.whereItIsA, n.Type)
		}
	}
	return nil
}

func checkRetry(n *NodeSpec) error {
	r := n.Retry
	if r == nil {
		return nil
	}
	switch {
	case r.MaxAttempts < 1 || r.MaxAttempts > MaxAttempts:
		return refuseField(n, "retry.maxAttempts", "must be 1 to %d", MaxAttempts)
	case !(r.Backoff >= 1 && r.Backoff <= MaxBackoff): // also when it is no number
		return refuseField(n, "retry.backoff", "must be 1 to %d", MaxBackoff)
	case r.InitialInterval < 0 || r.InitialInterval > Duration(MaxSpan):
		return refuseField(n, "retry.initialInterval", "must be 0s to %s", hours(MaxSpan))
	case r.MaxInterval < 0 || r.MaxInterval > Duration(MaxSpan):
		return refuseField(n, "retry.maxInterval", "must be 0s to %s", hours(MaxSpan))
	case len(r.Except) > MaxExcept:
		return refuseField(n, "retry.except", "has %d codes; at most %d are allowed", len(r.Except), MaxExcept)
	}
	for i, code := range r.Except {
		switch {
		case code == "" || !utf8.ValidString(code) || utf8.RuneCountInString(code) > MaxErrorCode:
			return refuseField(n, fmt.Sprintf("retry.except[%d]", i), "must be a code of 1 to %d characters",
				MaxErrorCode)
		case slices.Contains(r.Except[:i], code):
			return refuseField(n, fmt.Sprintf("retry.except[%d]", i), "%q is there twice", shorten(code))
		}
	}
	return nil
}

func checkPolicy(n *NodeSpec) error {
	switch n.Policy {
	case "", AllSuccess, AnySuccess, AllDone:
		if n.Expression != "" {
			return refuseField(n, "expression", "is only for the policy %s", Custom)
		}
	case Custom:
		if n.Expression == "" {
			return refuseField(n, "expression", "is missing: the policy %s needs one", Custom)
		}
	default:
		return refuseField(n, "policy", "%q does not exist: use %s, %s, %s or %s", shorten(string(n.Policy)),
			AllSuccess, AnySuccess, AllDone, Custom)
	}
	return nil
}

// checkEdge checks the k-th edge and finds its nodes.
func (c *compiler) checkEdge(k int, e *Edge) (from, to int, err error) {
	field := func(name string) string { return fmt.Sprintf("edges[%d].%s", k, name) }
	from, to = c.find(e.From), c.find(e.To)
	switch {
	case e.From == "":
		return 0, 0, invalidGraph(field("from"), "is missing")
	case e.To == "":
		return 0, 0, invalidGraph(field("to"), "is missing")
	case from < 0:
		return 0, 0, invalidGraph(field("from"), "there is no node %q", shorten(e.From))
	case to < 0:
		return 0, 0, invalidGraph(field("to"), "there is no node %q", shorten(e.To))
	case e.On != OnSuccess && e.On != OnFailure && e.On != OnTimeout:
		return 0, 0, invalidGraph(field("on"), "%q does not exist: use %s, %s or %s", shorten(string(e.On)), OnSuccess,
			OnFailure, OnTimeout)
	case from == to:
		return 0, 0, refuse("node", e.From, "has an edge to itself")
	}
	spec := &c.nodes[from].spec
	kind := spec.Type
	switch {
	case kind.Terminal():
		return 0, 0, refuse("node", e.From, "is a %s node: no edge may leave it", kind)
	case to == c.start:
		return 0, 0, refuse("node", e.To, "is the Start node: no edge may lead to it (from %q)", e.From)
	case e.On == OnFailure && kind != TaskKind && kind != WaitKind && kind != JoinKind:
		return 0, 0, refuse("node", e.From, "is a %s node: only a Task, a Wait or a Join has failure edges",
			kind)
	case e.On == OnTimeout && (kind != WaitKind || spec.Timeout == 0):
		return 0, 0, refuse("node", e.From, "has a timeout edge: only a Wait with a timeout has them")
	}
	return from, to, nil
}

func (c *compiler) find(id string) int {
	if i, ok := c.index[id]; ok {
		return i
	}
	return -1
}

func refuseField(n *NodeSpec, field, format string, args ...any) *fault.Error {
	e := refuseAt(n.NodeID, "node %q: %s: "+format, append([]any{n.NodeID, field}, args...)...)
	e.Details.(map[string]any)["field"] = field
	return e
}

// shorten keeps what is quoted in a message short.
func shorten(s string) string { return clip(s, 64) }

// clip cuts text that has more than a number of bytes, between two characters.
func clip(s string, most int) string {
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}

func hours(d time.Duration) string { return fmt.Sprintf("%dh", d/time.Hour) }
