package flow

import (
	"slices"

	"renga.dev/renga/internal/workflow/expr"
)

// planInput is a member of the input that a Task declares, a field of the prompt of a Wait, or the key of the message
// that it asks for.
type planInput struct {
	name    string
	value   *expr.Program
	outputs []int // the nodes whose outputs it names; nil: it may look at all that come before
}

// declared are the members that a node declares, and what they stand in.
func (n *NodeSpec) declared() (members map[string]string, in string) {
	if n.Prompt != nil {
		return n.Prompt.Fields, "prompt.fields."
	}
	return n.Input, "input."
}

// addInputs compiles what Tasks declare as their input and Waits show. It may look at the outputs of nodes that come
// before.
func (c *compiler) addInputs() error {
	for i := range c.nodes {
		p := &c.nodes[i]
		members, in := p.spec.declared()
		if c.inputs += len(members); c.inputs > MaxEdges {
			return invalidGraph("nodes", "the inputs and prompts of the graph have more than %d members together",
				MaxEdges)
		}
		for _, name := range sortedNames(members) {
			value, err := c.value(i, in+name, members[name])
			if err != nil {
				return err
			}
			value.name = name
			p.input = append(p.input, value)
		}
	}
	return nil
}

// value compiles an expression that a node declares in a field.
func (c *compiler) value(i int, field, source string) (planInput, error) {
	spec := &c.nodes[i].spec
	program, err := c.expression("input ", expr.Input, source)
	if err != nil {
		return planInput{}, explainExpression(err, spec.NodeID, field, "node %q: %s: ", spec.NodeID, field)
	}
	for _, of := range program.Members("outputs") {
		k := c.find(of)
		switch {
		case k < 0:
			return planInput{}, refuseField(spec, field, "there is no node %q", shorten(of))
		case c.before == nil:
			c.before = c.ancestry()
		}
		if !c.before[i].has(k) {
			return planInput{}, refuseField(spec, field, "node %q does not come before this one", of)
		}
	}
	return planInput{value: program, outputs: c.outputs(program)}, nil
}

func sortedNames(members map[string]string) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ancestry is, by node, which nodes come before it.
type ancestry []bitset

func (c *compiler) ancestry() ancestry {
	all := make(ancestry, len(c.nodes))
	for _, i := range c.order {
		for _, from := range c.nodes[i].preds {
			all[i].addAll(&all[from])
			all[i].add(from)
		}
	}
	return all
}

// Ancestors walks the nodes that come before one, its direct predecessors and then theirs, until yield says no.
func (p *Plan) Ancestors(i int, yield func(i int) bool) {
	var seen bitset
	seen.add(i)
	queue := []int{i}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, from := range p.nodes[at].preds {
			if seen.has(from) {
				continue
			}
			if !yield(from) {
				return
			}
			seen.add(from)
			queue = append(queue, from)
		}
	}
}

// input is what a node declares, evaluated; none when it declares nothing.
func (r *router) input(i int) (Data, *Error) {
	p := &r.d.plan.nodes[i]
	if len(p.input) == 0 {
		return nil, nil
	}
	in := scope{r: r, node: i, err: r.d.errorAt(r.way)}
	data := Data{'{'}
	for k := range p.input {
		m := &p.input[k]
		value, err := in.evaluate(m)
		if len(r.need) > 0 {
			return nil, nil
		}
		if err != nil {
			return nil, inputError("The member " + m.name + " of the " + what(p) + " failed: " + err.Error())
		}
		if k > 0 {
			data = append(data, ',')
		}
		data = append(append(append(append(data, '"'), m.name...), '"', ':'), value...)
		if len(data) > MaxTaskInput {
			return nil, inputError("The " + what(p) + " is larger than 256 KiB.")
		}
	}
	data = append(data, '}')
	if err := r.d.room(int64(len(data))); err != nil {
		return nil, inputError("There is no room for the " + what(p) + ": " + err.Error())
	}
	return data, nil
}

// evaluate gives the JSON of what a node declares. When data must be read first, the router says so and the answer
// means nothing.
func (s *scope) evaluate(m *planInput) ([]byte, error) {
	some := m.outputs
	if some == nil && m.value.Uses("outputs") {
		some = s.r.ancestors(s.node)
	}
	s.bind(m.value, some)
	if len(s.r.need) > 0 {
		return nil, nil
	}
	return s.r.budget.Value(m.value, s.vars)
}

// what names the data that a node declares.
func what(p *planNode) string {
	if p.spec.Type == WaitKind {
		return "prompt of " + p.spec.NodeID
	}
	return "input of " + p.spec.NodeID
}

func inputError(message string) *Error {
	return &Error{Code: CodeExpression, Message: message}
}

func (r *router) ancestors(i int) []int {
	all := []int{}
	r.d.plan.Ancestors(i, func(k int) bool {
		all = append(all, k)
		return true
	})
	return all
}

// failureOf is the error of a node that did not succeed; nil when there is no such node.
func (s *State) failureOf(id string) *Error {
	n, _ := s.Find(id)
	switch {
	case n == nil:
		return nil
	case n.Status == NodeIsCanceled:
		return canceledError(n)
	}
	return n.Error
}

// ErrorAt is the first failure of those that led to a node over a failure edge; nil when the node was not reached so.
func (s *State) ErrorAt(n *Node) *Error { return s.errorAt(way{n.On, n.FailedNode}) }

func (s *State) errorAt(by way) *Error {
	if by.on != OnFailure {
		return nil
	}
	e := s.failureOf(by.failed)
	if e == nil {
		e = new(Error) // a failure that says nothing is a failure still
	}
	return e
}
