package model

import (
	"errors"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/expr"
)

// MaxSteps is how many steps the conditions of one transaction may take: all rules on all
// records that it changes.
const MaxSteps = 100_000

// CodeCostly is the code of what is refused since the conditions take too many steps.
const CodeCostly = "RULES_TOO_COSTLY"

// What a condition costs before it is evaluated: one that was not compiled lately, with each
// of its bytes, and the fields of a record, some of which are made known in a step.
const (
	compileSteps  = 50
	fieldsPerStep = 4
)

// Judge evaluates the conditions of one transaction within one budget. It belongs to one
// goroutine.
type Judge struct {
	budget expr.Budget
	waits  func() error
}

// NewJudge is a judge with all its steps. waits says why nobody waits for the outcome any
// more; nil: somebody does.
func NewJudge(waits func() error) *Judge {
	return &Judge{budget: expr.NewBudget(MaxSteps), waits: waits}
}

// Case is some variables that conditions are held against. A text is evaluated once.
type Case struct {
	judge *Judge
	vars  map[string]any
	known map[string]finding
}

// finding is what a condition was found to be; tooLong says that nobody knows, since the
// texts that it looks at are too long for it.
type finding struct{ holds, tooLong bool }

// Of is the case of a draft, as it is now.
func (j *Judge) Of(d *Draft) *Case {
	j.budget.Charge(len(d.Object.Fields) / fieldsPerStep)
	return &Case{judge: j, vars: d.Vars()}
}

// OfRecord is the case of a record that is not being changed.
func (j *Judge) OfRecord(o *Object, r *Record) *Case {
	return j.Of(&Draft{Object: o, ID: r.ID, OwnerID: r.OwnerID, Fields: r.Fields})
}

// Charge counts steps for what follows from conditions, such as rows that are written. An
// error says that the transaction has none left (see Costly).
func (j *Judge) Charge(steps int) error {
	j.budget.Charge(steps)
	if j.budget.Spent() {
		return expr.ErrBudget{Steps: MaxSteps}
	}
	return nil
}

// Holds reports whether a condition is true; an empty one is. One that cannot be
// evaluated, such as an empty field that is compared with a number, is not. An error says
// that it was not evaluated, since the transaction has no steps left (see Costly) or nobody
// waits for it.
func (c *Case) Holds(condition string) (bool, error) {
	f, err := c.find(condition)
	return f.holds, err
}

// Judge is Holds, and also says whether nobody knows, since the texts that the condition
// looks at are too long for it.
func (c *Case) Judge(condition string) (holds, tooLong bool, err error) {
	f, err := c.find(condition)
	return f.holds, f.tooLong, err
}

func (c *Case) find(condition string) (finding, error) {
	if condition == "" {
		return finding{holds: true}, nil
	}
	if f, is := c.known[condition]; is {
		return f, nil
	}
	j := c.judge
	if err := j.waits(); err != nil {
		return finding{}, err
	}
	p, compiled, err := expr.CompileRule(condition)
	if compiled {
		j.budget.Charge(compileSteps + len(condition))
	}
	var f finding
	if err == nil {
		f.holds, err = j.budget.Eval(p, c.vars)
		if spent := (expr.ErrBudget{}); errors.As(err, &spent) {
			return finding{}, err
		}
		f.holds, f.tooLong = err == nil && f.holds, errors.Is(err, expr.ErrSteps)
	}
	if c.known == nil {
		c.known = make(map[string]finding)
	}
	c.known[condition] = f
	return f, nil
}

// Costly is the error of a case or a charge as its caller sees it: what names the rule
// that was not evaluated. Other errors stay as they are.
func Costly(err error, kind, name, id string) error {
	if spent := (expr.ErrBudget{}); !errors.As(err, &spent) {
		return err
	}
	return fault.New(fault.Invalid, CodeCostly,
		"the %s %q cannot be evaluated: with what comes before it, it takes more than %d steps in one transaction; "+
			"change fewer records at a time, have fewer rules, or make their conditions cheaper", kind, name, MaxSteps).
		With(map[string]string{"ruleId": id, "rule": name})
}

// IsCostly reports whether something was refused since the conditions take too many steps.
func IsCostly(err error) bool {
	e, ok := fault.As(err)
	return ok && e.Code == CodeCostly
}
