package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// expect compares a list with what a plain filter over all executions gives.
func (s *suite) expect(all []engine.Head, q engine.ListQuery) {
	s.Helper()
	var want []engine.Head
	for _, h := range all {
		waits := q.NodeID == "" || s.waits[engine.WaitRef{Tenant: h.Tenant, Execution: h.Num, Node: q.NodeID}]
		if waits && q.Selects(&h) {
			want = append(want, h)
		}
	}
	slices.SortFunc(want, func(a, b engine.Head) int { return engine.ByCreation(b, a) })
	page := want[min(q.Offset, len(want)):min(q.Offset+q.Limit, len(want))]
	got, total, err := s.store.List(s.Context(), q)
	s.must(err)
	equal(s, fmt.Sprintf("page of %+v", q), append([]engine.Head{}, got...), append([]engine.Head{}, page...))
	equal(s, fmt.Sprintf("total of %+v", q), total, len(want))
	s.turns(want, q)
	slices.Reverse(want)
	s.walks(want, q)
}

// turns reads page after page, each from the place where the last one ended.
func (s *suite) turns(want []engine.Head, q engine.ListQuery) {
	s.Helper()
	got := []engine.Head{}
	for q.Offset, q.Limit = 0, 3; ; q.Before = got[len(got)-1] {
		page, total, err := s.store.List(s.Context(), q)
		s.must(err)
		equal(s, fmt.Sprintf("total of %+v", q), total, len(want))
		if got = append(got, page...); len(page) == 0 {
			break
		}
	}
	equal(s, fmt.Sprintf("pages of %+v", q), got, append([]engine.Head{}, want...))
}

// walks walks through what a query selects, in parts.
func (s *suite) walks(want []engine.Head, q engine.ListQuery) {
	s.Helper()
	q.Limit = 3
	got := []engine.Head{}
	for place := (engine.Head{}); ; place = got[len(got)-1] {
		part, err := s.store.Walk(s.Context(), q, place)
		s.must(err)
		if len(part) > q.Limit {
			s.Fatalf("a walk of %+v gave %d at once", q, len(part))
		}
		if got = append(got, part...); len(part) == 0 {
			break
		}
	}
	equal(s, fmt.Sprintf("walk of %+v", q), got, append([]engine.Head{}, want...))
}

// statuses are lists of them as a caller may ask, some twice.
var statuses = [][]flow.Status{
	nil,
	{flow.Active},
	{flow.Completed},
	{flow.Failed, flow.Canceled},
	{flow.Canceled, flow.Failed, flow.Canceled},
	{flow.Active, flow.Completed, flow.Failed, flow.Canceled},
}

func lists(t *testing.T, s *suite) {
	var all []engine.Head
	for i := range 40 {
		num := s.number()
		all = append(all, s.create(engine.Head{
			Num: num, Tenant: []string{tenantA, tenantA, tenantB}[i%3], GraphID: []string{"g", "h"}[i/2%2],
			Status: flow.Status(i % 4), CreatedAt: flow.Time(1000 + i/3), EndedAt: flow.Time(i),
			ArchivedAt: flow.Time(i / 2),
		}))
	}
	for _, status := range statuses {
		for _, graph := range []string{"", "g", "h", "none"} {
			for _, created := range [][2]flow.Time{{0, 0}, {1005, 0}, {0, 1005}, {1003, 1008}, {1008, 1003}} {
				for _, page := range [][2]int{{0, 100}, {0, 3}, {3, 3}, {100, 3}} {
					s.expect(all, engine.ListQuery{
						Tenant: tenantA, Status: status, GraphID: graph, CreatedFrom: created[0], CreatedTo: created[1],
						Offset: page[0], Limit: page[1],
					})
				}
			}
		}
	}
	s.expect(all, engine.ListQuery{Tenant: tenantB, Limit: 100})
	s.expect(all, engine.ListQuery{Tenant: "nobody", Limit: 100})
}

// listFilters asks for executions by everything that they are found by, alone and together.
func listFilters(t *testing.T, s *suite) {
	var all []engine.Head
	for i := range 60 {
		labels := []string{"", `{"a":"1"}`, `{"a":"1","b":"x=y"}`, `{"a":"2"}`}[i%4]
		all = append(all, s.create(engine.Head{
			Tenant: []string{tenantA, tenantA, tenantA, tenantB}[i/4%4], GraphID: []string{"g", "h"}[i%2],
			CorrelationID: []string{"", "c-1", "c-2"}[i%3], BusinessKey: []string{"", "", "k"}[i%3],
			Outcome: []string{"", "paid", "declined"}[i/5%3], ErrorCode: []string{"", "E-1"}[i/7%2],
			Status: flow.Failed, CreatedAt: flow.Time(1000 + i/3), EndedAt: flow.Time(2000 + i*7%20), Labels: labels,
			ArchivedAt: flow.Time(i / 2 % 2 * 3000),
		}))
	}
	all = append(all, s.create(engine.Head{BusinessKey: "k", CorrelationID: "c-1", Labels: `{"a":"1"}`}))
	a1, b := flow.Label{Name: "a", Value: "1"}, flow.Label{Name: "b", Value: "x=y"}
	none := flow.Label{Name: "a", Value: "x"}
	sum := 0
	for _, labels := range [][]flow.Label{nil, {a1}, {b}, {none}, {a1, b}, {b, none}} {
		for _, q := range []engine.ListQuery{
			{},
			{GraphID: "g"},
			{Status: []flow.Status{flow.Active}},
			{Status: []flow.Status{flow.Failed, flow.Active}},
			{CorrelationID: "c-1"},
			{CorrelationID: "c-2", BusinessKey: "k"},
			{CorrelationID: "nobody's"},
			{BusinessKey: "k", GraphID: "h", CreatedFrom: 1003},
			{EndedFrom: 2003},
			{EndedTo: 2003},
			{EndedFrom: 2003, EndedTo: 2009, GraphID: "g"},
			{EndedFrom: 2009, EndedTo: 2003},
			{Outcome: "paid"},
			{ErrorCode: "E-1", Outcome: "declined"},
			{ErrorCode: "E-1", GraphID: "h"},
			{EndedFrom: 1, CorrelationID: "c-1", CreatedTo: 1010},
			{Archived: true},
			{Archived: true, GraphID: "g", Status: []flow.Status{flow.Failed, flow.Canceled}},
			{Archived: true, Outcome: "paid", EndedFrom: 2003},
			{Unarchived: true, Status: []flow.Status{flow.Failed}},
			{Unarchived: true, GraphID: "h"},
			{Unarchived: true},
			{Unarchived: true, Outcome: "paid"},
			{Unarchived: true, EndedFrom: 2003},
			{Unarchived: true, GraphID: "g", Status: []flow.Status{flow.Failed}},
		} {
			q.Tenant, q.Labels = tenantA, labels
			for _, page := range [][2]int{{0, 100}, {3, 3}, {100, 3}} {
				q.Offset, q.Limit = page[0], page[1]
				s.expect(all, q)
			}
			_, n, err := s.store.List(t.Context(), q)
			s.must(err)
			sum += n
		}
	}
	equal(t, "sum of the totals", sum, 828)
}

// listWaiting asks for executions by what waits in them, before and after some of it has gone on.
func listWaiting(t *testing.T, s *suite) {
	var all []engine.Head
	var updates []engine.Update
	var gone []engine.WaitRef
	for i := range 24 {
		h, b := s.newHead(engine.Head{
			GraphID: []string{"g", "h"}[i%2], CreatedAt: flow.Time(1000 + i/3),
			Labels: []string{"", `{"a":"1"}`}[i%3%2], Waiting: min(i%4%3, 1),
		})
		for _, node := range []string{"ask", "sign"}[:i%4%3] {
			b.Waits = append(b.Waits, engine.WaitRow{
				WaitRef: engine.WaitRef{Tenant: h.Tenant, Execution: h.Num, Node: node}, GraphID: h.GraphID,
				CreatedAt: h.CreatedAt,
			})
		}
		b.Create[0] = h
		if on := h; i%5 == 0 && len(b.Waits) > 0 {
			on.Waiting = len(b.Waits) - 1
			updates = append(updates, engine.Update{Head: on, WasWaiting: 1})
			gone = append(gone, b.Waits[len(b.Waits)-1].WaitRef)
		}
		s.write(b)
		all = append(all, h)
	}
	check := func() (sum int) {
		t.Helper()
		for _, q := range []engine.ListQuery{
			{Waiting: true},
			{NodeID: "ask"},
			{NodeID: "sign", Waiting: true},
			{NodeID: "nobody"},
			{Waiting: true, Status: []flow.Status{flow.Active}},
			{Waiting: true, Status: []flow.Status{flow.Failed}},
			{Waiting: true, GraphID: "g", CreatedTo: 1005},
			{NodeID: "ask", GraphID: "g"},
			{NodeID: "ask", Labels: []flow.Label{{Name: "a", Value: "1"}}},
			{Waiting: true, Labels: []flow.Label{{Name: "a", Value: "1"}}},
		} {
			q.Tenant, q.Limit = tenantA, 100
			s.expect(all, q)
			_, n, err := s.store.List(t.Context(), q)
			s.must(err)
			sum += n
		}
		return sum
	}
	equal(t, "sum of the totals", check(), 60)
	s.write(engine.Batch{Update: updates, Waited: gone})
	for i := range updates {
		all[slices.IndexFunc(all, func(h engine.Head) bool { return h.Num == updates[i].Num })] = updates[i].Head
	}
	equal(t, "sum of the totals later", check(), 56)
}

func listChanges(t *testing.T, s *suite) {
	var all []engine.Head
	for range 6 {
		all = append(all, s.create(engine.Head{}))
	}
	check := func() {
		t.Helper()
		for _, status := range statuses {
			s.expect(all, engine.ListQuery{Tenant: tenantA, Status: status, GraphID: "g", Limit: 100})
			s.expect(all, engine.ListQuery{Tenant: tenantA, Status: status, CreatedFrom: 1, Limit: 100})
			s.expect(all, engine.ListQuery{Tenant: tenantA, Status: status, Outcome: "paid", Limit: 100})
			s.expect(all, engine.ListQuery{Tenant: tenantA, Status: status, ErrorCode: "E-1", Limit: 100})
		}
	}
	check()
	var updates []engine.Update
	for i, status := range []flow.Status{flow.Completed, flow.Failed, flow.Canceled, flow.Active} {
		all[i].Status, all[i].EndedAt, all[i].DueAt = status, 5, flow.Time(i)
		all[i].Outcome, all[i].ErrorCode = []string{"paid", "", "", ""}[i], []string{"", "E-1", "", ""}[i]
		updates = append(updates, engine.Update{Head: all[i], Was: flow.Active})
	}
	s.write(engine.Batch{Update: updates})
	check()
	all[0].ArchivedAt = 7
	s.write(engine.Batch{Update: []engine.Update{{Head: all[0], Was: flow.Completed}}})
	check()
	s.kind(s.store.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return tx.Write(ctx, &engine.Batch{Update: []engine.Update{{Head: all[0], Was: flow.Active}}})
	}), fault.Conflict)
	check()
}

func listOrder(t *testing.T, s *suite) {
	var all []engine.Head
	for _, at := range []flow.Time{50, 50, 40, 60, 50} { // a clock that went back
		all = append(all, s.create(engine.Head{CreatedAt: at}))
	}
	for offset := range all {
		s.expect(all, engine.ListQuery{Tenant: tenantA, Offset: offset, Limit: 2})
	}
}

func scan(t *testing.T, s *suite) {
	var all []engine.Head
	for i := range 5 {
		all = append(all, s.create(engine.Head{Tenant: []string{tenantA, tenantB}[i%2]}))
	}
	var got []engine.Head
	for after := int64(0); ; after = got[len(got)-1].Num {
		page, err := s.store.Scan(t.Context(), after, 2)
		s.must(err)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
	}
	equal(t, "executions", got, all)
}

func graph(tenant, id, digest string) engine.GraphRow {
	return engine.GraphRow{
		Tenant: tenant, ID: id, Digest: digest, Body: []byte(`{"d":"` + digest + `"}`),
		CreatedAt: flow.Time(len(digest)),
	}
}

func (s *suite) put(g engine.GraphRow, version int, created bool) engine.GraphRow {
	s.Helper()
	got, isNew, err := s.store.PutGraph(s.Context(), g)
	s.must(err)
	equal(s, "created", isNew, created)
	equal(s, "version", got.Version, version)
	return got
}

func graphs(t *testing.T, s *suite) {
	one := s.put(graph(tenantA, "g", "x"), 1, true)
	s.put(graph(tenantA, "g", "x"), 1, false)
	two := s.put(graph(tenantA, "g", "yy"), 2, true)
	three := s.put(graph(tenantA, "g", "x"), 3, true) // back to the first is new again
	s.put(graph(tenantB, "g", "zzz"), 1, true)
	for version, want := range map[int]engine.GraphRow{0: three, 1: one, 2: two, 3: three} {
		got, err := s.store.Graph(t.Context(), tenantA, "g", version)
		s.must(err)
		equal(t, "graph", got, want)
	}
	for offset, want := range []engine.GraphRow{three, two, one} {
		want.Body = nil
		got, total, err := s.store.Versions(t.Context(), tenantA, "g", offset, 1)
		s.must(err)
		equal(t, "versions", got, []engine.GraphRow{want})
		equal(t, "total", total, 3)
	}
	none, total, err := s.store.Versions(t.Context(), tenantB, "nowhere", 0, 1)
	s.must(err)
	equal(t, "versions of none", len(none)+total, 0)
	again, _, err := s.store.PutGraph(t.Context(), engine.GraphRow{
		Tenant: tenantA, ID: "g", Digest: "x",
		Body: []byte("{}"), CreatedAt: 99,
	})
	s.must(err)
	equal(t, "what is stored already", again, three)
	_, err = s.store.Graph(t.Context(), tenantA, "g", 4)
	s.kind(err, fault.NotFound)
}

func graphPages(t *testing.T, s *suite) {
	var newest []engine.GraphRow
	for i := range 5 {
		id := fmt.Sprintf("graph-%d", 4-i)
		g := s.put(graph(tenantA, id, "x"), 1, true)
		for v := range i % 3 {
			g = s.put(graph(tenantA, id, "x"+fmt.Sprint(v)), v+2, true)
		}
		g.Body = nil // pages are without
		newest = append([]engine.GraphRow{g}, newest...)
	}
	s.put(graph(tenantB, "graph-9", "x"), 1, true)
	s.put(graph(tenantA, "template:graph-1", "x"), 1, true) // no user named it so
	for offset := range 6 {
		got, total, err := s.store.Graphs(t.Context(), tenantA, offset, 2)
		s.must(err)
		equal(t, "page", append([]engine.GraphRow{}, got...), append([]engine.GraphRow{},
			newest[offset:][:min(2, 5-offset)]...))
		equal(t, "total", total, 5)
	}
}

func tenants(t *testing.T, s *suite) {
	ctx := t.Context()
	h := s.create(engine.Head{Tenant: tenantA})
	s.put(graph(tenantA, "g", "x"), 1, true)
	_, err := s.store.History(ctx, tenantB, h.ID, 0)
	s.kind(err, fault.NotFound)
	_, _, err = s.store.Head(ctx, tenantB, h.ID)
	s.kind(err, fault.NotFound)
	_, err = s.store.Graph(ctx, tenantB, "g", 0)
	s.kind(err, fault.NotFound)
	_, err = s.store.Graph(ctx, tenantB, "g", 1)
	s.kind(err, fault.NotFound)
	_, total, err := s.store.Graphs(ctx, tenantB, 0, 10)
	s.must(err)
	equal(t, "graphs", total, 0)
	stolen := h
	stolen.Tenant, stolen.Status = tenantB, flow.Failed
	err = s.store.Commit(ctx, func(ctx context.Context, tx engine.Tx) error {
		return tx.Write(ctx, &engine.Batch{Update: []engine.Update{{Head: stolen}}})
	})
	s.kind(err, fault.Conflict)
	s.expect([]engine.Head{h}, engine.ListQuery{Tenant: tenantA, Limit: 10})
	s.expect([]engine.Head{h}, engine.ListQuery{Tenant: tenantB, Limit: 10})
}
