package expr

import "fmt"

// Budget is how many steps the evaluations of one decision, or of one transaction, may take
// together: thousands may follow from one request. It belongs to one goroutine.
type Budget struct {
	steps, left int
}

// NewBudget is a budget of some steps.
func NewBudget(steps int) Budget { return Budget{steps, steps} }

// readPerStep is how many bytes of JSON are decoded in the time of a step or two.
const readPerStep = 128

// Charge counts steps that something else takes.
func (b *Budget) Charge(steps int) { b.left -= steps }

// Read counts data that is decoded for expressions to look at.
func (b *Budget) Read(bytes int) { b.left -= bytes / readPerStep }

// Spent reports whether the budget is used up: Eval evaluates nothing any more.
func (b *Budget) Spent() bool { return b.left <= 0 }

// Exhaust uses the budget up.
func (b *Budget) Exhaust() { b.left = 0 }

// ErrBudget says that an expression was not evaluated, since those before it have used the
// budget up.
type ErrBudget struct{ Steps int }

func (e ErrBudget) Error() string {
	const text = "the expressions up to this one, and the data that they look at, take more than %d steps together"
	return fmt.Sprintf(text, e.Steps)
}

// Eval is p.Eval, and counts its steps. What exceeds the budget is ended with ErrBudget.
func (b *Budget) Eval(p *Program, vars map[string]any) (bool, error) {
	if b.Spent() {
		return false, ErrBudget{b.steps}
	}
	ok, steps, err := p.eval(vars)
	b.left -= 1 + int(steps)
	return ok, err
}

// Holds is p.Holds, and counts its steps as Eval does.
func (b *Budget) Holds(p *Program, of Branches) (bool, error) { return b.Eval(p, of.vars()) }
