package records

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

// costly is a condition that is false after some thousands of steps; with another number it
// is another text.
func costly(n int) string {
	const list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
	return fmt.Sprintf("%s.exists(a, %s.exists(b, %s.exists(c, a + b + c == %d))) && record.Name == ''", list, list,
		list, 1_000+n)
}

// accounts is a batch of new accounts.
func (r *rig) accounts(n int, allOrNone bool) Batch {
	b := Batch{Object: "Account", AllOrNone: allOrNone}
	for range n {
		b.Ops = append(b.Ops, Op{Kind: Create, Fields: r.fieldsOf(`{"Name":"A"}`)})
	}
	return b
}

// apply gives the errors of the operations, or that of the batch.
func (r *rig) apply(ctx context.Context, c Caller, b Batch) (each []error, err error) {
	_, _, err = r.records.Apply(ctx, c, b, func(results []Result) ([]byte, error) {
		each = nil
		for i := range results {
			each = append(each, results[i].Err)
		}
		return []byte("{}"), nil
	})
	return each, err
}

func TestTheRulesOfATransactionHaveABudget(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.records.cfg.Rules = automation.Rules{}
		all := []model.Definition{user(ann, "Ann", sales), set(sales, nil)}
		for i := range 100 {
			all = append(all, validation(fmt.Sprint(100+i), "Account", "", costly(i), "Never."))
		}
		r.Define(tenantA, all...)
		anns := Caller{Tenant: tenantA, Subject: ann, CorrelationID: "test"}
		rows := r.rows()
		for _, b := range []Batch{r.accounts(1, true), r.accounts(200, true)} {
			_, err := r.apply(t.Context(), anns, b)
			e, ok := fault.As(err)
			if !ok || e.Kind != fault.Invalid || e.Code != model.CodeCostly ||
				!strings.Contains(e.Message, `validation rule "VR-`) {
				t.Errorf("%d records: got %v, want a refusal that names the rule", len(b.Ops), err)
			}
		}
		if now := r.rows(); now != rows {
			t.Errorf("what was refused left something behind: %s, then %s", rows, now)
		}
	})
}

func TestABulkDoesWhatTheBudgetOfItsRulesAllows(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.records.cfg.Rules = automation.Rules{}
		all := []model.Definition{user(ann, "Ann", sales), set(sales, nil)}
		for i := range 100 { // a hundred rules with one condition
			all = append(all, validation(fmt.Sprint(100+i), "Account", "", costly(0), "Never."))
		}
		r.Define(tenantA, all...)
		each, err := r.apply(t.Context(), Caller{Tenant: tenantA, Subject: ann, CorrelationID: "test"},
			r.accounts(200, false))
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for i, err := range each {
			switch {
			case err == nil && done == i:
				done++
			case !model.IsCostly(err):
				t.Errorf("operation %d: %v", i, err)
			}
		}
		if done < 5 || done == 200 {
			t.Errorf("%d of 200 records were created, want as many as the budget is enough for", done)
		}
	})
}

// late is a context whose deadline passes when a test says so.
type late struct {
	context.Context
	passed chan struct{}
}

func (c late) Done() <-chan struct{} { return c.passed }

func (c late) Err() error {
	select {
	case <-c.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// slow is rules during which the deadline of the caller passes.
type slow struct {
	automation.Rules
	pass func()
}

func (s slow) Broken(j *model.Judge, m *model.Model, d *model.Draft) ([]*model.ValidationRule, error) {
	s.pass()
	return s.Rules.Broken(j, m, d)
}

func TestNothingIsStoredForACallerWhoseTimeRanOut(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		ctx := late{t.Context(), make(chan struct{})}
		calls := 0
		r.records.cfg.Rules = slow{pass: func() {
			if calls++; calls == 3 {
				close(ctx.passed)
			}
		}}
		r.Define(tenantA, user(ann, "Ann", sales), set(sales, nil), validation("101", "Account", "",
			`record.Name == "?"`, "Never."))
		rows := r.rows()
		_, err := r.apply(ctx, Caller{Tenant: tenantA, Subject: ann, CorrelationID: "test"}, r.accounts(20, false))
		if !errors.Is(err, context.DeadlineExceeded) || fault.KindOf(err) != fault.Unavailable {
			t.Errorf("got %v, want that the time ran out", err)
		}
		if now := r.rows(); now != rows || calls != 3 {
			t.Errorf("after %d evaluations: %s, then %s", calls, rows, now)
		}
	})
}
