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
		"that a node waits":      {func(h *engine.Head) { h.Waiting++ }, 2, "a node waits: true, the log: false"},
		"nothing of what waits":  {func(h *engine.Head) { h.Waiting = -1 }, 0, ""}, // it is older than the column
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

func TestVerifyMissesTheExecutionThatOneDoesAgain(t *testing.T) {
	r := newRig(t)
	r.graph("order", cleaned)
	first := r.started("order")
	req := r.creation("order")
	req.Command = flow.Create{RerunOf: first}
	if got := r.state(r.must(req).Execution).RerunOf; got != first {
		t.Errorf("got %v, want %v", got, first)
	}
	for lost, problems := range map[flow.ID]int{{}: 0, first: 1} {
		rep, err := engine.New(forgetful{r.mem, lost}, r.clock, engine.Config{}).Verify(t.Context(), nil)
		if err != nil || len(rep.Problems) != problems {
			t.Errorf("without %v: got %+v, %v, want %d problems", lost, rep, err, problems)
		}
	}
}

// misled is a store whose waits are not what was written.
type misled struct {
	engine.Store
	lie func(rows *[]engine.WaitRow, names map[string][]string)
}

func (m misled) WaitsOf(
	ctx context.Context, tenant string, execution int64,
) ([]engine.WaitRow, map[string][]string, error) {
	rows, names, err := m.Store.WaitsOf(ctx, tenant, execution)
	m.lie(&rows, names)
	return rows, names, err
}

func TestVerifyComparesTheWaitsWithTheLog(t *testing.T) {
	r := newRig(t)
	r.graph("ask", `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"ask","type":"Wait","prompt":{"title":"Pay?"},
		"assignees":{"users":["ann"],"roles":["cfo"]}},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"ask"},{"from":"ask","to":"done"}]}`)
	r.started("ask")
	type rows = *[]engine.WaitRow
	type names = map[string][]string
	for says, lie := range map[string]func(rows, names){
		"": func(rows, names) {},
		"node ask waits and is not among the waits": func(w rows, _ names) { *w = nil },
		"among the waits node ask is not as in the log": func(w rows, _ names) {
			(*w)[0].Assignees = &flow.Assignees{Users: []string{"ben"}}
		},
		"node pay is among the waits and does not wait": func(w rows, _ names) {
			*w = append(*w, engine.WaitRow{WaitRef: engine.WaitRef{Node: "pay"}})
		},
		`node ask is found by the assignees ["user:ann"], the log says ["user:ann" "role:cfo"]`: func(_ rows, n names) {
			n["ask"] = n["ask"][:1]
		},
		`node pay is found by the assignees ["user:ben"] and does not wait`: func(_ rows, n names) {
			n["pay"] = []string{"user:ben"}
		},
	} {
		rep, err := engine.New(misled{r.mem, lie}, r.clock, engine.Config{}).Verify(t.Context(), nil)
		var got []string
		for _, p := range rep.Problems {
			got = append(got, p.What)
		}
		if strings.Join(got, "; ") != says || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, says)
		}
	}
	late := func(rows rows, _ names) { (*rows)[0].Since++ }
	rep, err := engine.New(misled{r.mem, late}, r.clock, engine.Config{}).Verify(t.Context(), nil)
	if err != nil || len(rep.Problems) != 1 {
		t.Errorf("got %+v, %v", rep, err)
	}
}

func TestAnOlderExecutionGetsTheRowsOfItsWaitsWithItsNextCommit(t *testing.T) {
	r := newRig(t)
	r.graph("ask", `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"both","type":"Fork"},
		{"nodeId":"ask","type":"Wait"},{"nodeId":"sign","type":"Wait"},{"nodeId":"all","type":"Join"},
		{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"both"},{"from":"both","to":"ask"},
		{"from":"both","to":"sign"},{"from":"ask","to":"all"},{"from":"sign","to":"all"},{"from":"all","to":"done"}]}`)
	id := r.started("ask")
	rows, total, err := r.mem.Waits(t.Context(), engine.WaitQuery{Tenant: tenant, Limit: 10})
	if err != nil || total != 2 {
		t.Fatalf("got %v, %v", rows, err)
	}
	head, _, err := r.mem.Head(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	older := head
	older.Waiting = -1
	err = r.mem.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return tx.Write(ctx, &engine.Batch{
			Update: []engine.Update{{Head: older, Was: head.Status, WasWaiting: head.Waiting}},
			Waited: []engine.WaitRef{rows[0].WaitRef, rows[1].WaitRef},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.must(r.to(id, flow.Resume{Node: "ask"}))
	rows, total, err = r.mem.Waits(t.Context(), engine.WaitQuery{Tenant: tenant, Limit: 10})
	if err != nil || total != 1 || rows[0].Node != "sign" {
		t.Errorf("got %v, %v, want sign", rows, err)
	}
	if rep, err := r.Verify(t.Context(), nil); err != nil || len(rep.Problems) > 0 {
		t.Errorf("got %+v, %v", rep, err)
	}
}
