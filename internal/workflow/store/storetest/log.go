package storetest

import (
	"context"
	"errors"
	"math"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
)

func failedCommit(t *testing.T, s *suite) {
	old := s.create(engine.Head{})
	num := s.number()
	own := errors.New("my own")
	key := engine.KeyRow{
		KeyRef: engine.KeyRef{Tenant: tenantA, Endpoint: "POST /x", Key: "k"}, At: 1,
		Body: []byte("b"),
	}
	ready := engine.ReadyRow{Tenant: tenantA, Queue: "q", At: 1, Execution: old.Num, Node: "n"}
	err := s.store.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		ended := old
		ended.Status = 1
		if err := tx.Write(ctx, &engine.Batch{
			Create: []engine.Head{filled(engine.Head{Num: num})}, Update: []engine.Update{{Head: ended}},
			Log:  []engine.LogRow{row(num, 1, 1, 1), row(old.Num, 2, 2, 2)},
			Keys: []engine.KeyRow{key}, Ready: []engine.ReadyRow{ready},
		}); err != nil {
			return err
		}
		return own
	})
	if !errors.Is(err, own) {
		t.Errorf("got %v, want the error of the commit", err)
	}
	if h := s.fetch(engine.Want{Tenant: tenantA, ID: idOf(num)}); h.Found {
		t.Error("the execution was created")
	}
	equal(t, "the other execution", s.fetch(engine.Want{Tenant: tenantA, ID: old.ID}),
		engine.History{Found: true, Head: old, Rows: []engine.LogRow{row(old.Num, 1, 1, 1)}})
	s.commit(func(ctx context.Context, tx engine.Tx) error {
		keys, err := tx.Keys(ctx, []engine.KeyRef{key.KeyRef})
		s.must(err)
		if keys[0] != nil {
			t.Error("the key was stored")
		}
		tasks, err := tx.Ready(ctx, tenantA, "q", engine.ReadyRow{}, 10)
		s.must(err)
		if len(tasks) > 0 {
			t.Error("the task was stored")
		}
		return nil
	})
	_, total, err := s.store.List(t.Context(), engine.ListQuery{Tenant: tenantA, Limit: 10})
	s.must(err)
	equal(t, "executions", total, 1)
}

func commitConflict(t *testing.T, s *suite) {
	h := s.create(engine.Head{})
	err := s.store.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return tx.Write(ctx, &engine.Batch{Log: []engine.LogRow{row(h.Num, 2, 2, 2), row(h.Num, 1, 2, 2)}})
	})
	s.kind(err, fault.Conflict)
	equal(t, "history", s.fetch(engine.Want{Tenant: tenantA, ID: h.ID}),
		engine.History{Found: true, Head: h, Rows: []engine.LogRow{row(h.Num, 1, 1, 1)}})
	s.write(engine.Batch{Log: []engine.LogRow{row(h.Num, 2, 2, 2)}})
}

func fetchFound(t *testing.T, s *suite) {
	h := s.create(engine.Head{DueAt: 77})
	want := engine.History{Found: true, Head: h, Rows: []engine.LogRow{row(h.Num, 1, 1, 1)}}
	equal(t, "by id", s.fetch(engine.Want{Tenant: tenantA, ID: h.ID}), want)
	equal(t, "by number", s.fetch(engine.Want{Tenant: tenantA, ID: h.ID, Num: h.Num}), want)
	for what, w := range map[string]engine.Want{
		"of another tenant":            {Tenant: tenantB, ID: h.ID},
		"of another tenant, by number": {Tenant: tenantB, ID: h.ID, Num: h.Num},
		"of nobody":                    {Tenant: tenantA, ID: idOf(12345)},
	} {
		equal(t, what, s.fetch(w), engine.History{})
	}
	other := s.create(engine.Head{})
	s.commit(func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Fetch(ctx, []engine.Want{
			{Tenant: tenantA, ID: other.ID},
			{Tenant: tenantA, ID: idOf(9)},
			{Tenant: tenantA, ID: h.ID},
		})
		s.must(err)
		equal(t, "order", []int64{got[0].Head.Num, got[1].Head.Num, got[2].Head.Num}, []int64{other.Num, 0, h.Num})
		return nil
	})
}

func fetchKnown(t *testing.T, s *suite) {
	h := s.create(engine.Head{})
	s.write(engine.Batch{Log: []engine.LogRow{row(h.Num, 2, 2, 2)}})
	got := s.fetch(engine.Want{Tenant: tenantA, ID: h.ID, Num: h.Num, Known: 2})
	if !got.Found || !got.Fresh || len(got.Rows) > 0 {
		t.Errorf("got %+v, want it fresh and without rows", got)
	}
}

func ownRows(t *testing.T, s *suite) {
	num := s.number()
	s.commit(func(ctx context.Context, tx engine.Tx) error {
		h := filled(engine.Head{Num: num})
		s.must(tx.Write(ctx, &engine.Batch{Create: []engine.Head{h}, Log: []engine.LogRow{row(num, 1, 1, 3)}}))
		got, err := tx.Fetch(ctx, []engine.Want{{Tenant: tenantA, ID: h.ID}})
		s.must(err)
		equal(t, "history", got[0], engine.History{Found: true, Head: h, Rows: []engine.LogRow{row(num, 1, 1, 3)}})
		one, err := tx.Row(ctx, num, 1)
		s.must(err)
		equal(t, "row", one, row(num, 1, 1, 3))
		rows, err := tx.Rows(ctx, num, 2, 1)
		s.must(err)
		equal(t, "rows", rows, []engine.LogRow{row(num, 1, 1, 3)})
		return nil
	})
}

func numbers(t *testing.T, s *suite) {
	seen := map[int64]bool{}
	take := func(n int, fail error) {
		err := s.store.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			first, err := tx.Number(ctx, n)
			s.must(err)
			if first < 1 {
				t.Errorf("number %d", first)
			}
			for num := first; num < first+int64(n); num++ {
				if seen[num] {
					t.Errorf("number %d was given before", num)
				}
				seen[num] = fail == nil // one that was undone may come again
				s.must(tx.Write(ctx, &engine.Batch{Create: []engine.Head{filled(engine.Head{Num: num})}}))
			}
			return fail
		})
		if !errors.Is(err, fail) {
			t.Fatal(err)
		}
	}
	take(3, errors.New("undone"))
	take(2, nil)
	take(1, errors.New("undone"))
	take(4, nil)
	equal(t, "numbers", len(seen) >= 6, true)
}

// writeLog stores an execution with these rows.
func (s *suite) writeLog(rows ...engine.LogRow) engine.Head {
	s.Helper()
	h := filled(engine.Head{Num: s.number()})
	for i := range rows {
		rows[i].Execution = h.Num
	}
	s.write(engine.Batch{Create: []engine.Head{h}, Log: rows[:1]})
	for i := range rows[1:] {
		s.write(engine.Batch{Log: rows[i+1 : i+2]})
	}
	return h
}

func (s *suite) history(h engine.Head, upTo uint64, want ...engine.LogRow) {
	s.Helper()
	got, err := s.store.History(s.Context(), h.Tenant, h.ID, upTo)
	s.must(err)
	equal(s, "history", got, engine.History{Found: true, Head: h, Rows: want})
	if upTo == 0 {
		equal(s, "fetched", s.fetch(engine.Want{Tenant: h.Tenant, ID: h.ID}), got)
	}
}

func snapshots(t *testing.T, s *suite) {
	rows := []engine.LogRow{
		row(0, 1, 1, 4),
		withSnapshot(row(0, 2, 5, 5), engine.ReducerVersion),
		row(0, 3, 6, 5),
		withSnapshot(row(0, 4, 6, 9), engine.ReducerVersion),
		row(0, 5, 10, 9), // only a refusal
		row(0, 6, 10, 12),
	}
	h := s.writeLog(rows...)
	s.history(h, 0, rows[3:]...)
	s.history(h, 4, rows[0])
	s.history(h, 5, rows[1])
	s.history(h, 6, rows[1], rows[2], without(rows[3])) // the second snapshot is of event 9
	s.history(h, 9, rows[3])
	s.history(h, 10, rows[3:]...)

	onRefusal := []engine.LogRow{row(0, 1, 1, 2), withSnapshot(row(0, 2, 3, 2), engine.ReducerVersion), row(0, 3, 3, 3)}
	h = s.writeLog(onRefusal...)
	s.history(h, 2, onRefusal[1])
	s.history(h, 0, onRefusal[1:]...)
}

func otherReducer(t *testing.T, s *suite) {
	rows := []engine.LogRow{
		row(0, 1, 1, 1),
		withSnapshot(row(0, 2, 2, 2), engine.ReducerVersion),
		withSnapshot(row(0, 3, 3, 3), engine.ReducerVersion+1),
		row(0, 4, 4, 4),
	}
	h := s.writeLog(rows...)
	s.history(h, 0, rows[1], without(rows[2]), rows[3])
}

func historyUpTo(t *testing.T, s *suite) {
	rows := []engine.LogRow{row(0, 1, 1, 3), row(0, 2, 4, 3), row(0, 3, 4, 8), row(0, 4, 9, 9)}
	h := s.writeLog(rows...)
	s.history(h, 1, rows[0])
	s.history(h, 3, rows[0])
	s.history(h, 5, rows[:3]...)
	s.history(h, 9, rows...)
	s.history(h, 10, rows...)
	s.history(h, 0, rows...)
}

func rowsFrom(t *testing.T, s *suite) {
	rows := []engine.LogRow{
		row(0, 1, 1, 3), row(0, 2, 4, 3), withSnapshot(row(0, 3, 4, 8), engine.ReducerVersion), row(0, 4, 9, 9),
		row(0, 5, 10, 9), row(0, 6, 10, 20),
	}
	h := s.writeLog(rows...)
	for from, first := range map[uint64]int{0: 0, 1: 0, 3: 0, 4: 2, 8: 2, 9: 3, 10: 5, 20: 5, 21: 6} {
		got, err := s.store.Rows(t.Context(), h.Num, from, math.MaxInt32)
		s.must(err)
		equal(t, "rows", got, rows[first:])
	}
	for i := range rows {
		got, err := s.store.Row(t.Context(), h.Num, int64(i+1))
		s.must(err)
		equal(t, "row", got, without(rows[i]))
		after, err := s.store.RowsAfter(t.Context(), h.Num, int64(i), 2)
		s.must(err)
		equal(t, "rows after a commit", after, []engine.LogRow{
			without(rows[i]), without(rows[min(i+1, len(rows)-1)]),
		}[:min(2, len(rows)-i)])
	}
	head, newest, err := s.store.Head(t.Context(), tenantA, h.ID)
	s.must(err)
	equal(t, "head", head, h)
	want := rows[5]
	want.Body = nil
	equal(t, "newest row", newest, want)
}

func rowsLimit(t *testing.T, s *suite) {
	var rows []engine.LogRow
	for i := range 300 {
		rows = append(rows, row(0, int64(i+1), uint64(3*i+1), uint64(3*i+3)))
	}
	h := filled(engine.Head{Num: s.number()})
	for i := range rows {
		rows[i].Execution = h.Num
	}
	s.write(engine.Batch{Create: []engine.Head{h}, Log: rows})
	for _, tt := range []struct {
		from        uint64
		limit       int
		first, rows int
	}{
		{1, 1, 0, 1},
		{1, 3, 0, 1},
		{1, 4, 0, 2},
		{3, 1, 0, 1},
		{3, 2, 0, 2},
		{4, 30, 1, 10},
		{899, 2, 299, 1},
		{898, 100, 299, 1},
		{500, 1, 166, 1},
	} {
		got, err := s.store.Rows(t.Context(), h.Num, tt.from, tt.limit)
		s.must(err)
		equal(t, "rows", got, rows[tt.first:tt.first+tt.rows])
	}
}
