package flow

import (
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/schema"
)

// addSchemas compiles the schemas of Waits; those of a graph are bounded together.
func (c *compiler) addSchemas() error {
	var made *schema.Compiler
	known := map[*schema.Schema]bool{}
	total := 0
	for i := range c.nodes {
		p := &c.nodes[i]
		if p.spec.Schema == nil {
			continue
		}
		if made == nil {
			made = schema.New()
		}
		text := p.spec.Schema.Clone()
		if err := text.Canonicalize(); err != nil {
			return refuseField(&p.spec, "schema", "is no JSON")
		}
		s, err := made.Compile(text)
		if err != nil {
			cause, _ := fault.As(err)
			return refuseField(&p.spec, "schema", "%s", cause.Message)
		}
		if !known[s] {
			known[s] = true
			if total += len(text); total > MaxSchemas {
				return invalidGraph("nodes", "the schemas of the graph have more than %d bytes together", MaxSchemas)
			}
			c.text += s.Weight()
		}
		p.schema = s
	}
	return nil
}

// fits refuses an output that does not fit the schema of a Wait. Nothing of it is stored, so that the same
// idempotency key can bring a better one.
func (p *planNode) fits(output Data) error {
	if p.schema == nil {
		return nil
	}
	problems := p.schema.Check(output, "output")
	if len(problems) == 0 {
		return nil
	}
	first := problems[0]
	return fault.New(fault.Invalid, CodeUnfit, "%s: %s; node %q waits for an output that fits its schema",
		first.Field, first.Message, p.spec.NodeID).
		With(map[string]any{"nodeId": p.spec.NodeID, "field": first.Field, "problems": problems})
}

// prompt is what a Wait asks of people, with the values of its fields; none when it asks nothing.
func (r *router) prompt(i int) (Data, *Error) {
	spec := &r.d.plan.nodes[i].spec
	if spec.Prompt == nil {
		return nil, nil
	}
	fields, e := r.input(i)
	if len(r.need) > 0 || e != nil {
		return nil, e
	}
	var w Writer
	w.Quote(`{"title":`, spec.Prompt.Title)
	w.Text(`,"text":`, spec.Prompt.Text)
	w.data(`,"fields":`, fields)
	w.Raw(`}`)
	if err := r.d.room(int64(len(w.Dst))); err != nil {
		return nil, inputError("There is no room for the prompt of " + spec.NodeID + ": " + err.Error())
	}
	return w.Dst, nil
}
