package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// lying is a store whose rows of executions are not what was written.
type lying struct {
	engine.Store
	lie func(*engine.Head)
}

func (l lying) Scan(ctx context.Context, after int64, limit int) ([]engine.Head, error) {
	heads, err := l.Store.Scan(ctx, after, limit)
	for i := range heads {
		l.lie(&heads[i])
	}
	return heads, err
}

func (l lying) Head(ctx context.Context, tenant string, id flow.ID) (engine.Head, engine.LogRow, error) {
	head, row, err := l.Store.Head(ctx, tenant, id)
	l.lie(&head)
	return head, row, err
}

func TestVerifyComparesAllOfARowWithItsLog(t *testing.T) {
	r := newRig(t)
	id := r.started("pair")
	c := r.claim(r.claiming("w", 1, 0))
	r.settle()
	r.tasks(c, id) // a lease runs
	r.must(r.to(r.started("line"), flow.Cancel{}))
	for name, test := range map[string]struct {
		lie      func(*engine.Head)
		problems int
		says     string
	}{
		"the truth":              {func(*engine.Head) {}, 0, ""},
		"a status":               {func(h *engine.Head) { h.Status = flow.Failed }, 2, "the row says FAILED of"},
		"a graph":                {func(h *engine.Head) { h.GraphID = "other" }, 2, "of other version 1"},
		"when it was created":    {func(h *engine.Head) { h.CreatedAt++ }, 2, "the row says created"},
		"when it ended":          {func(h *engine.Head) { h.EndedAt++ }, 2, "the row says ended"},
		"that it was archived":   {func(h *engine.Head) { h.ArchivedAt = 1 }, 2, "the row says archived"},
		"that nothing is due":    {func(h *engine.Head) { h.DueAt = 0 }, 1, "the row says due"},
		"that it is due later":   {func(h *engine.Head) { h.DueAt++ }, 1, "the row says due"},
		"that it is due earlier": {func(h *engine.Head) { h.DueAt = 1 }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := engine.New(lying{r.mem, test.lie}, r.clock, engine.Config{}).Verify(t.Context(), nil)
			if err != nil || rep.Executions != 2 || len(rep.Problems) != test.problems {
				t.Fatalf("got %+v, %v, want %d problems", rep, err, test.problems)
			}
			for _, p := range rep.Problems {
				if !strings.Contains(p.What, test.says) {
					t.Errorf("got %q, want it to say %q", p.What, test.says)
				}
			}
		})
	}
}

// forgetful is a store that has lost an execution.
type forgetful struct {
	engine.Store
	lost flow.ID
}

func (f forgetful) Head(ctx context.Context, tenant string, id flow.ID) (engine.Head, engine.LogRow, error) {
	if id == f.lost {
		return engine.Head{}, engine.LogRow{}, fault.New(fault.NotFound, "", "lost")
	}
	return f.Store.Head(ctx, tenant, id)
}

func (f forgetful) Scan(ctx context.Context, after int64, limit int) ([]engine.Head, error) {
	heads, err := f.Store.Scan(ctx, after, limit)
	return slices.DeleteFunc(heads, func(h engine.Head) bool { return h.ID == f.lost }), err
}

func TestVerifyMissesTheExecutionThatCleansUp(t *testing.T) {
	r := newRig(t)
	r.graph("order", cleaned)
	id := r.started("order")
	r.must(r.to(id, flow.Cancel{}))
	s := r.state(id)
	for lost, problems := range map[flow.ID]int{{}: 0, s.Compensation: 1} {
		rep, err := engine.New(forgetful{r.mem, lost}, r.clock, engine.Config{}).Verify(t.Context(), nil)
		if err != nil || len(rep.Problems) != problems {
			t.Errorf("without %v: got %+v, %v, want %d problems", lost, rep, err, problems)
		}
	}
}
