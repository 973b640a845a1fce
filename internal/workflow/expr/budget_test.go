package expr

import (
	"errors"
	"strings"
	"testing"
)

func TestABudgetEndsEvaluations(t *testing.T) {
	p, err := When("input.all(x, x >= 0)")
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]any{"input": []any{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0}}
	_, each, err := p.eval(vars)
	if err != nil {
		t.Fatal(err)
	}
	budget := NewBudget(10 * (1 + int(each)))
	for i := range 10 {
		if ok, err := budget.Eval(p, vars); err != nil || !ok {
			t.Fatalf("evaluation %d: %t, %v", i, ok, err)
		}
	}
	var spent ErrBudget
	if _, err := budget.Eval(p, vars); !errors.As(err, &spent) || spent.Steps != 10*(1+int(each)) {
		t.Errorf("got %v, want that the budget is used up", err)
	}
}

func TestDataThatIsReadCounts(t *testing.T) {
	p, err := When("true")
	if err != nil {
		t.Fatal(err)
	}
	budget := NewBudget(1_000)
	budget.Read(1_000 * readPerStep)
	if _, err := budget.Eval(p, nil); err == nil || !strings.Contains(err.Error(), "1000 steps") {
		t.Errorf("got %v, want that the budget is used up", err)
	}
}
