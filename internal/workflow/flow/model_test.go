package flow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"renga.dev/renga/internal/workflow/flow"
)

// model is a dumb oracle of what commands do to an execution. It is written from
// the requirements, not from the code: plain maps and strings, changed in place,
// nothing compiled, nothing shared. Of the real package it uses only the words:
// graphs, commands and facts come in, lines of text go out.
type model struct {
	shape *shape
	nodes map[string]*modelNode

	status   string // "" before the execution exists
	started  bool
	archived bool
	filed    int // the seq of EXECUTION_ARCHIVED
	fence    int // the seq of the cancel request, 0 if there was none
	cause    int // the seq of the event that caused the execution's state
	input    string
	failed   string // the node that failed the execution
	failCode string
	seq      int // events so far
	seen     map[string]int
	now      int64
	by       string   // who the next event is by
	after    int      // the seq of the event that the next one follows from
	out      []string // the decision in progress
	readyNow []string // Tasks that it made ready, in order
}

// modelNode is a node of the model.
type modelNode struct {
	flow.NodeSpec
	status     string
	attempt    int
	worker     string
	lease      int64 // ms
	leaseUntil int64
	timeoutAt  int64
	timeLeft   int64
	retryAt    int64
	waitUntil  int64
	remindAt   int64
	reminders  int
	waitKey    string
	first      string // the failure that the path to it leads on from
	byExec     bool
	output     string
	code       string // of its error
	cause      int
	gate       *modelGate
}

// modelGate is what a Join has seen: how each expected branch ended, "" if it has not.
type modelGate struct {
	expected []string
	end      map[string]string // completed, failed or canceled
	cause    string            // the first failure that ended a branch
	told     bool              // it was in an event
	decided  bool              // nothing that its branches do matters any more
}

func (g *modelGate) list(how string) []string {
	var heads []string
	for _, head := range g.expected {
		if g.end[head] == how {
			heads = append(heads, head)
		}
	}
	return heads
}

func newModel(s *shape, seen map[string]int) *model {
	m := &model{shape: s, nodes: map[string]*modelNode{}, seen: seen}
	for _, spec := range s.graph.Nodes {
		m.nodes[spec.NodeID] = &modelNode{NodeSpec: spec}
	}
	return m
}

// emit adds an event to the decision. The first one follows from what enabled it,
// each other one from the one before; the first is by whoever sent the command,
// the others are by the system.
func (m *model) emit(typ, node, fields string) {
	m.seq++
	m.out = append(m.out, line(typ, node, fields, m.by, m.after))
	m.by, m.after = "system/", m.seq
	m.note("event " + typ)
}

// line is an event as text.
func line(typ, node, fields, by string, cause int) string {
	return fmt.Sprintf("%s %s %s by %s after %d", typ, node, fields, by, cause)
}

// note counts something that was seen, so that a run can tell what it covered.
func (m *model) note(what string) { m.seen[what]++ }

// put brings a node into a status by the event that was just emitted.
func (m *model) put(n *modelNode, status string) { n.status, n.cause = status, m.seq }

// live reports whether a node takes part in the execution right now.
func (n *modelNode) live() bool {
	return n.status == "READY" || n.status == "RUNNING" || n.status == "WAITING" || n.retryAt != 0
}

func (n *modelNode) ended() bool {
	return n.status == "SUCCEEDED" || n.status == "FAILED" || n.status == "CANCELED"
}

// deadline is when a node changes by itself, 0 if it does not.
func (n *modelNode) deadline() int64 {
	switch {
	case n.status == "RUNNING" && n.leaseUntil != 0:
		return n.leaseUntil // never later than the timeout
	case n.status == "RUNNING":
		return n.timeoutAt
	case n.status == "CREATED":
		return n.retryAt
	case n.status == "WAITING" && n.remindAt != 0:
		return n.remindAt // earlier than the end
	case n.status == "WAITING":
		return n.waitUntil
	}
	return 0
}

// busy is who does the node's work right now.
func (n *modelNode) busy() string {
	if n.Type == flow.TaskKind && (n.status == "RUNNING" || n.status == "WAITING") {
		return n.worker
	}
	return ""
}

// inBranches reports whether a node stands in a branch of the fork, at any depth.
func (m *model) inBranches(node, fork string) bool {
	for p := m.shape.place[node]; p != nil; p = m.shape.place[p.fork] {
		if p.fork == fork {
			return true
		}
	}
	return false
}

// scope is what an expression sees.
type scope struct {
	input, output map[string]any // nil is null
	outputs       map[string]map[string]any
	code          string // of the error; "" when there is none or it has no code
}

var errExpression = errors.New("the expression cannot be evaluated")

// scope is what the edges of a node see.
func (m *model) scope(output, code string) scope {
	s := scope{input: object(m.input), output: object(output), outputs: map[string]map[string]any{}, code: code}
	for id, n := range m.nodes {
		if n.status == "SUCCEEDED" && n.output != "" {
			s.outputs[id] = object(n.output)
		}
	}
	return s
}

func object(raw string) map[string]any {
	if raw == "" {
		return nil
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		panic(err)
	}
	return o
}

// edges are the edges of a node on one side, in the order of the graph.
func (m *model) edges(node string, on flow.Outcome) []flow.Edge {
	var all []flow.Edge
	for _, e := range m.shape.graph.Edges {
		if e.From == node && (e.On == on || e.On == "" && on == flow.OnSuccess) {
			all = append(all, e)
		}
	}
	return all
}

// pick is where the edges lead: the first that holds, or all that hold from a Fork.
func (m *model) pick(edges []flow.Edge, all bool, s scope) ([]string, error) {
	var to []string
	for _, e := range edges {
		holds := true
		if e.When != "" {
			var err error
			if holds, err = m.shape.when[e.When](s); err != nil {
				return nil, err
			}
		}
		if holds {
			to = append(to, e.To)
			if !all {
				break
			}
		}
	}
	return to, nil
}

// names writes a list of branches.
func names(list []string) string { return "[" + strings.Join(list, ",") + "]" }

// due are the deadlines that have come, as text, sorted.
func (m *model) due(now int64) []string {
	var all []string
	if m.status == "ACTIVE" && m.fence == 0 {
		for id, n := range m.nodes {
			if at := n.deadline(); at != 0 && at <= now {
				all = append(all, fmt.Sprintf("%s %d at %d", id, n.attempt, at))
			}
		}
	}
	slices.Sort(all)
	return all
}

// String is the state of the model as text, nodes in the order of the graph.
func (m *model) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s started=%t archived=%t fence=%d failed=%s/%s\n", m.status, m.started, m.archived, m.fence,
		m.failed, m.failCode)
	for _, spec := range m.shape.graph.Nodes {
		n := m.nodes[spec.NodeID]
		fmt.Fprintf(&b, "%s %s attempt=%d deadline=%d retry=%d byExecution=%t error=%s cause=%d",
			n.NodeID, n.status, n.attempt, n.deadline(), n.retryAt, n.byExec, n.code, n.cause)
		if g := n.gate; g != nil && g.told {
			fmt.Fprintf(&b, " gate=%s%s%s%s", names(g.expected), names(g.list("completed")), names(g.list("failed")),
				names(g.list("canceled")))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
