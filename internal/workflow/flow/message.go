package flow

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
)

// MaxMessageKey is how many bytes the key of a message has.
const MaxMessageKey = 200

// Message is the message that a Wait asks for, or a Start.
type Message struct {
	Name string `json:"name"`
	Key  string `json:"key,omitempty"` // Wait: an expression; the text or number that it gives is the key
}

// Awaited is the message that a node asks for, with the value of its key.
type Awaited struct {
	Name string `json:"name"`
	Key  string `json:"key,omitempty"`
}

// String names it, for people.
func (a *Awaited) String() string {
	if a == nil {
		return "no message"
	}
	if a.Key == "" {
		return a.Name
	}
	return a.Name + " " + a.Key
}

// Received is a message that somebody sent.
type Received struct {
	ID string
	Awaited
}

// ValidMessageKey reports whether a text can be the key of a message; "" is that of one without.
func ValidMessageKey(s string) bool {
	return len(s) <= MaxMessageKey && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func checkMessage(n *NodeSpec) error {
	m := n.Message
	switch {
	case m == nil:
		return nil
	case !ValidName(m.Name):
		return refuseField(n, "message.name", "must be the name of a message: 1 to %d of A-Z a-z 0-9 . _ -", MaxName)
	case m.Key != "" && n.Type == StartKind:
		return refuseField(n, "message.key", "belongs to a Wait: every message of the name starts the graph")
	}
	return nil
}

// addKeys compiles the keys of the messages that Waits ask for.
func (c *compiler) addKeys() error {
	for i := range c.nodes {
		m := c.nodes[i].spec.Message
		if m == nil || m.Key == "" {
			continue
		}
		if c.inputs++; c.inputs > MaxEdges {
			return invalidGraph("nodes", "the inputs and prompts of the graph have more than %d members together",
				MaxEdges)
		}
		key, err := c.value(i, "message.key", m.Key)
		if err != nil {
			return err
		}
		c.nodes[i].key = &key
	}
	return nil
}

// StartedBy is the name of the messages that start the graph; "": none do.
func (p *Plan) StartedBy() string {
	if m := p.nodes[p.start].spec.Message; m != nil {
		return m.Name
	}
	return ""
}

// awaited is the message that a Wait asks for; nil when it asks for none.
func (r *router) awaited(i int) (*Awaited, *Error) {
	p := &r.d.plan.nodes[i]
	if p.spec.Message == nil {
		return nil, nil
	}
	a := &Awaited{Name: p.spec.Message.Name}
	if p.key == nil {
		return a, nil
	}
	in := scope{r: r, node: i, err: r.d.errorAt(r.way)}
	value, err := in.evaluate(p.key)
	if len(r.need) > 0 {
		return nil, nil
	}
	bad := func(why string) *Error {
		return inputError("The key of the message of " + p.spec.NodeID + " " + why)
	}
	if err != nil {
		return nil, bad("failed: " + err.Error())
	}
	switch v := jsontext.Value(value); v.Kind() {
	case '0':
		a.Key = string(value)
	case '"':
		text, _ := jsontext.AppendUnquote(nil, value) // it was just written
		a.Key = string(text)
	default:
		return nil, bad("must be a text or a number.")
	}
	if a.Key == "" || !ValidMessageKey(a.Key) {
		return nil, bad("must have 1 to 200 bytes, without control characters.")
	}
	return a, nil
}

// awaited is the guard of messages.
func (m *Received) awaited(d *draft, n *Node) error {
	if n.Awaits == nil || *n.Awaits != m.Awaited {
		return d.refuseNode(n, GuardMessage, "node %s asks for %s, not for %s", n.ID, n.Awaits, &m.Awaited)
	}
	return nil
}

func (m *Received) id() string {
	if m == nil {
		return ""
	}
	return m.ID
}

// messageOf is what an error says to whoever sent the data.
func messageOf(err error) string {
	if failure, ok := fault.As(err); ok {
		return failure.Message
	}
	return err.Error()
}
