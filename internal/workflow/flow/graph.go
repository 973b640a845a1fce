package flow

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
)

// Kind is the type of a node.
type Kind uint8

// The eight kinds of node.
const (
	_ Kind = iota
	StartKind
	TaskKind
	WaitKind
	ForkKind
	JoinKind
	SuccessKind
	FailedKind
	CanceledKind

	kindEnd
)

var kindNames = [kindEnd]string{"", "Start", "Task", "Wait", "Fork", "Join", "Success", "Failed", "Canceled"}

func (k Kind) String() string {
	if k >= kindEnd {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Terminal reports whether reaching a node of this kind ends the execution.
func (k Kind) Terminal() bool { return k >= SuccessKind }

func (k Kind) valid() bool { return k > 0 && k < kindEnd }

// MarshalText writes the name of the kind.
func (k Kind) MarshalText() ([]byte, error) {
	if !k.valid() {
		return nil, fmt.Errorf("flow: node type %d does not exist", uint8(k))
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText reads the name of a kind.
func (k *Kind) UnmarshalText(b []byte) error {
	for i, name := range kindNames {
		if i > 0 && name == string(b) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown node type %q: use Start, Task, Wait, Fork, Join, Success, Failed or Canceled",
		shorten(string(b)))
}

// Policy says when a Join lets the execution pass.
type Policy string

// The join policies.
const (
	AllSuccess Policy = "ALL_SUCCESS"
	AnySuccess Policy = "ANY_SUCCESS"
	AllDone    Policy = "ALL_DONE"
	Custom     Policy = "CUSTOM"
)

// Outcome is the side of a node that an edge leaves from.
type Outcome string

// The outcomes.
const (
	OnSuccess Outcome = "success"
	OnFailure Outcome = "failure"
	OnTimeout Outcome = "timeout" // of a Wait that nobody resumed in time; asked before failure
)

// Duration is a time span that is written as a Go duration string ("50ms").
type Duration time.Duration

// MarshalText writes a Go duration string.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a Go duration string.
func (d *Duration) UnmarshalText(b []byte) error {
	got, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration: write it like 50ms, 2s or 24h", shorten(string(b)))
	}
	*d = Duration(got)
	return nil
}

// Retry is when a Task that failed is tried again. An interval may be zero, so ParseGraph puts its
// default where the author wrote none.
type Retry struct {
	MaxAttempts     int      `json:"maxAttempts"`     // default 1: no retry
	InitialInterval Duration `json:"initialInterval"` // default 1s
	Backoff         float64  `json:"backoff"`         // default 2
	MaxInterval     Duration `json:"maxInterval"`     // default 1h
	Except          []string `json:"except,omitzero"` // codes of errors after which there is no other attempt
}

// The defaults.
const (
	DefaultQueue  = "default"
	DefaultPolicy = AllSuccess
)

func defaultRetry() Retry {
	return Retry{MaxAttempts: 1, InitialInterval: Duration(time.Second), Backoff: 2, MaxInterval: Duration(time.Hour)}
}

// NodeSpec is a node as its author wrote it.
type NodeSpec struct {
	NodeID     string   `json:"nodeId"`
	Type       Kind     `json:"type"`
	Queue      string   `json:"queue,omitempty"`   // Task; default "default"
	Retry      *Retry   `json:"retry,omitempty"`   // Task
	Timeout    Duration `json:"timeout,omitzero"`  // Task: per attempt; Wait
	For        Duration `json:"for,omitzero"`      // Wait: after so long it succeeds by itself
	WaitKey    string   `json:"waitKey,omitempty"` // Wait
	Policy     Policy   `json:"policy,omitempty"`  // Join; default ALL_SUCCESS
	Expression string   `json:"expression,omitempty"`
	Outcome    string   `json:"outcome,omitempty"` // Success

	Input     map[string]string `json:"input,omitempty"`     // Task: its members, each with an expression
	Prompt    *Prompt           `json:"prompt,omitempty"`    // Wait
	Assignees *Assignees        `json:"assignees,omitempty"` // Wait: who may resume it; nil: everybody
	Remind    *Remind           `json:"remind,omitempty"`    // Wait
	Schema    jsontext.Value    `json:"schema,omitzero"`     // Wait: a JSON Schema that the output of a resume fits
	Message   *Message          `json:"message,omitempty"`   // Wait: what resumes it; Start: what starts the graph
}

// Prompt is what a Wait asks of people. NODE_WAITING has it with the values of its fields.
type Prompt struct {
	Title  string            `json:"title"`
	Text   string            `json:"text,omitempty"`
	Fields map[string]string `json:"fields,omitempty"` // what it shows, each with an expression
}

// Edge leads from a node to the next one.
type Edge struct {
	From string  `json:"from"`
	To   string  `json:"to"`
	On   Outcome `json:"on,omitempty"` // default success
	When string  `json:"when,omitempty"`
}

// Graph is a workflow as its author wrote it.
type Graph struct {
	Nodes    []NodeSpec `json:"nodes"`
	Edges    []Edge     `json:"edges"`
	OnCancel *OnCancel  `json:"onCancel,omitempty"`
}

// OnCancel is what cleans up after an execution that somebody cancels.
type OnCancel struct {
	Graph string `json:"graph"` // its newest version is started as a new execution
}

// The limits of a graph.
const (
	MaxNodes       = 10_000
	MaxEdges       = 4 * MaxNodes
	MaxNesting     = 100       // forks inside forks
	MaxExpressions = 256 << 10 // bytes of all different expressions of a graph
	MaxSteps       = 50_000    // of all expressions that one decision evaluates
	MaxOutputs     = 8 << 20   // bytes of outputs that are read for the expressions of one decision
	MaxGates       = 8 << 20   // bytes of the branches that the updates of gates name in one decision
	MaxAttempts    = 100
	MaxBackoff     = 100
	MaxSpan        = 365 * 24 * time.Hour // of a timeout or an interval
	MaxName        = 128                  // bytes of a name
	MaxWaitKey     = 255                  // characters of a wait key
	MaxOutcome     = 64                   // bytes of the outcome of a Success node
	MaxExcept      = 64                   // codes after which a Task is not tried again
	MaxInputs      = 64                   // members of the input of a Task
	MaxTaskInput   = 256 << 10            // bytes of the input that a Task declares
	MaxErrorCode   = 128                  // characters of the code of an error
	MaxTitle       = 200                  // characters of the title of a prompt
	MaxPromptText  = 4096                 // characters of the text of a prompt
	MaxAssignees   = 100                  // users, roles or groups of a Wait
	MaxAssignee    = 255                  // characters of one
	MaxReminders   = 100                  // of a Wait
	MaxSchemas     = 256 << 10            // bytes of all different schemas of a graph
)

// ValidName reports whether s can be the name of a node, a queue or a graph.
func ValidName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return s != "" && len(s) <= MaxName
}

// withDefaults is a copy of the graph with every default filled in.
func (g Graph) withDefaults() Graph {
	full := g
	full.Nodes, full.Edges = append([]NodeSpec{}, g.Nodes...), append([]Edge{}, g.Edges...)
	retry := defaultRetry()
	for i := range full.Nodes {
		n := &full.Nodes[i]
		switch n.Type {
		case TaskKind:
			n.Queue = cmp.Or(n.Queue, DefaultQueue)
			n.Retry = n.Retry.withDefaults(&retry)
		case WaitKind:
			n.Remind = n.Remind.withDefaults()
		case JoinKind:
			n.Policy = cmp.Or(n.Policy, DefaultPolicy)
		}
	}
	for i := range full.Edges {
		full.Edges[i].On = cmp.Or(full.Edges[i].On, OnSuccess)
	}
	return full
}

// withDefaults fills in what cannot be zero; what then says the same is the default itself.
func (r *Retry) withDefaults(def *Retry) *Retry {
	if r == nil {
		return def
	}
	full := *r
	full.MaxAttempts = cmp.Or(full.MaxAttempts, def.MaxAttempts)
	full.Backoff = cmp.Or(full.Backoff, def.Backoff)
	if len(full.Except) == 0 {
		full.Except = nil
	}
	if full.Except == nil && full.same(def) {
		return def
	}
	return &full
}

// WithoutDefaults is a copy of the graph without what an author need not write.
func (g Graph) WithoutDefaults() Graph {
	short := g
	short.Nodes, short.Edges = append([]NodeSpec{}, g.Nodes...), append([]Edge{}, g.Edges...)
	retry := defaultRetry()
	for i := range short.Nodes {
		n := &short.Nodes[i]
		if n.Queue == DefaultQueue {
			n.Queue = ""
		}
		if n.Retry != nil && n.Retry.Except == nil && n.Retry.same(&retry) {
			n.Retry = nil
		}
		n.Remind = n.Remind.withoutDefaults()
		if n.Policy == DefaultPolicy {
			n.Policy = ""
		}
	}
	for i := range short.Edges {
		if short.Edges[i].On == OnSuccess {
			short.Edges[i].On = ""
		}
	}
	return short
}

// same compares all but the codes.
func (r *Retry) same(other *Retry) bool {
	return r.MaxAttempts == other.MaxAttempts && r.InitialInterval == other.InitialInterval &&
		r.Backoff == other.Backoff && r.MaxInterval == other.MaxInterval
}

// canonical is a graph with its defaults as canonical JSON (RFC 8785), so that graphs that say the
// same have one digest.
func (g Graph) canonical() ([]byte, error) {
	body, err := json.Marshal(g)
	if err != nil {
		return nil, fault.Wrap("flow.canonical", err)
	}
	value := jsontext.Value(body)
	return value, fault.Wrap("flow.canonical", value.Canonicalize())
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}
