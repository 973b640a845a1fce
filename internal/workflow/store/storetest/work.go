package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func keyRow(tenant, endpoint, key string, at flow.Time) engine.KeyRow {
	return engine.KeyRow{
		KeyRef: engine.KeyRef{Tenant: tenant, Endpoint: endpoint, Key: key},
		Hash:   canonical.Hash{1, 2, byte(at)}, At: at, Body: []byte(endpoint + key),
	}
}

func (s *suite) keys(refs ...engine.KeyRef) (rows []*engine.KeyRow) {
	s.Helper()
	s.commit(func(ctx context.Context, tx engine.Tx) (err error) {
		rows, err = tx.Keys(ctx, refs)
		return err
	})
	return rows
}

func keys(t *testing.T, s *suite) {
	// Refs that read alike when their parts are just put together.
	rows := []engine.KeyRow{
		keyRow(tenantA, "POST /a", "b", 1), keyRow(tenantA, "POST /", "ab", 2),
		keyRow(tenantA, "POST /ab", "", 3), keyRow(tenantB, "POST /a", "b", 4), keyRow(tenantA, "POST /c", "b", 5),
	}
	s.write(engine.Batch{Keys: rows})
	unknown := engine.KeyRef{Tenant: tenantA, Endpoint: "POST /b", Key: "b"}
	got := s.keys(rows[2].KeyRef, unknown, rows[0].KeyRef, rows[3].KeyRef, rows[1].KeyRef, rows[4].KeyRef)
	equal(t, "keys", got, []*engine.KeyRow{&rows[2], nil, &rows[0], &rows[3], &rows[1], &rows[4]})
}

func expiredKeys(t *testing.T, s *suite) {
	old := keyRow(tenantA, "POST /a", "k", 50)
	s.write(engine.Batch{Keys: []engine.KeyRow{old}})
	early := keyRow(tenantA, "POST /a", "k", old.At+Retention-1)
	err := s.store.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return tx.Write(ctx, &engine.Batch{Keys: []engine.KeyRow{early}})
	})
	s.kind(err, fault.Conflict)
	equal(t, "the key that stands", s.keys(old.KeyRef), []*engine.KeyRow{&old})
	late := keyRow(tenantA, "POST /a", "k", old.At+Retention)
	s.write(engine.Batch{Keys: []engine.KeyRow{late}})
	equal(t, "the key used anew", s.keys(old.KeyRef), []*engine.KeyRow{&late})
}

func (s *suite) ready(tenant, queue string, after engine.ReadyRow, limit int) (rows []engine.ReadyRow) {
	s.Helper()
	s.commit(func(ctx context.Context, tx engine.Tx) (err error) {
		rows, err = tx.Ready(ctx, tenant, queue, after, limit)
		return err
	})
	return rows
}

func readyOrder(t *testing.T, s *suite) {
	one, two, three := s.create(engine.Head{}).Num, s.create(engine.Head{}).Num, s.create(engine.Head{}).Num
	task := func(at flow.Time, execution int64, node string) engine.ReadyRow {
		return engine.ReadyRow{Tenant: tenantA, Queue: "q", At: at, Execution: execution, Node: node}
	}
	ordered := []engine.ReadyRow{
		task(1, three, "z"), task(2, one, "B"), task(2, one, "a"), task(2, two, "a"), task(10, one, "a"),
		task(100, one, "a"),
	}
	other := engine.ReadyRow{Tenant: tenantA, Queue: "q2", At: 1, Execution: one, Node: "a"}
	foreign := engine.ReadyRow{
		Tenant: tenantB, Queue: "q", At: 1,
		Execution: s.create(engine.Head{Tenant: tenantB}).Num, Node: "a",
	}
	s.write(engine.Batch{Ready: []engine.ReadyRow{ordered[3], ordered[0], other, ordered[5]}})
	s.write(engine.Batch{Ready: []engine.ReadyRow{ordered[4], foreign, ordered[1], ordered[2]}})
	equal(t, "all", s.ready(tenantA, "q", engine.ReadyRow{}, 10), ordered)
	equal(t, "the first two", s.ready(tenantA, "q", engine.ReadyRow{}, 2), ordered[:2])
	for i := range ordered {
		equal(t, "after one", s.ready(tenantA, "q", ordered[i], 2), append([]engine.ReadyRow(nil),
			ordered[i+1:min(i+3, len(ordered))]...))
	}
	equal(t, "another queue", s.ready(tenantA, "q2", engine.ReadyRow{}, 10), []engine.ReadyRow{other})
	equal(t, "another tenant", s.ready(tenantB, "q", engine.ReadyRow{}, 10), []engine.ReadyRow{foreign})
}

func readyTaken(t *testing.T, s *suite) {
	num := s.create(engine.Head{}).Num
	a := engine.ReadyRow{Tenant: tenantA, Queue: "q", At: 1, Execution: num, Node: "a"}
	b := engine.ReadyRow{Tenant: tenantA, Queue: "q", At: 1, Execution: num, Node: "b"}
	s.write(engine.Batch{Ready: []engine.ReadyRow{a, b}})
	s.write(engine.Batch{Taken: []engine.ReadyRow{a, {Tenant: tenantB, Queue: "q", At: 1, Execution: num, Node: "b"}}})
	equal(t, "left", s.ready(tenantA, "q", engine.ReadyRow{}, 10), []engine.ReadyRow{b})
	s.write(engine.Batch{Ready: []engine.ReadyRow{a}})
	equal(t, "ready again", s.ready(tenantA, "q", engine.ReadyRow{}, 10), []engine.ReadyRow{a, b})
	s.write(engine.Batch{Taken: []engine.ReadyRow{a}, Ready: []engine.ReadyRow{a}})
	equal(t, "taken and ready at one instant", s.ready(tenantA, "q", engine.ReadyRow{}, 10), []engine.ReadyRow{a, b})
}

// readyTogether has many tasks of an execution become ready at once, in two queues, under names
// that must be quoted.
func readyTogether(t *testing.T, s *suite) {
	num := s.create(engine.Head{}).Num
	var all []engine.ReadyRow
	for i := range 300 {
		all = append(all, engine.ReadyRow{
			Tenant: tenantA, Queue: fmt.Sprint("q", i%2), At: 1, Execution: num,
			Node: fmt.Sprintf(`%03d "支払い\'か\u3099`, i),
		})
	}
	s.write(engine.Batch{Ready: slices.Clone(all)})
	of := func(queue string, rows []engine.ReadyRow) (some []engine.ReadyRow) {
		for _, r := range rows {
			if r.Queue == queue {
				some = append(some, r)
			}
		}
		return some
	}
	for _, queue := range []string{"q0", "q1"} {
		equal(t, queue, s.ready(tenantA, queue, engine.ReadyRow{}, 300), of(queue, all))
	}
	s.write(engine.Batch{Taken: slices.Clone(all[:200])})
	for _, queue := range []string{"q0", "q1"} {
		equal(t, queue+", what is left", s.ready(tenantA, queue, engine.ReadyRow{}, 300), of(queue, all[200:]))
	}
}

func due(t *testing.T, s *suite) {
	const here flow.Time = 1_800_000_000_000
	_, _, now, err := s.store.Due(t.Context(), here, engine.Shard{}, engine.Head{}, 10)
	s.must(err)
	never := s.create(engine.Head{})
	last := byte(0x37)
	at := func(when flow.Time, tenant string) engine.Head {
		last += 0x6d // the ends of the ids differ in both digits
		return s.create(engine.Head{ID: flow.ID{15: last}, DueAt: when, Tenant: tenant})
	}
	far := at(now.Add(time.Hour), tenantA)
	check := func(limit int, next flow.Time, want ...engine.Head) {
		t.Helper()
		got, then, _, err := s.store.Due(t.Context(), here, engine.Shard{}, engine.Head{}, limit)
		s.must(err)
		equal(t, "due", got, append([]engine.Head{}, want...))
		equal(t, "next", then, next)
	}
	check(10, far.DueAt)
	late, early, middle := at(now, tenantA), at(now-200, tenantB), at(now-100, tenantA)
	check(10, far.DueAt, early, middle, late)
	check(1, middle.DueAt, early)
	for i, after := range []engine.Head{early, middle, late} {
		got, _, _, err := s.store.Due(t.Context(), here, engine.Shard{}, after, 10)
		s.must(err)
		equal(t, "due after one", append([]engine.Head{}, got...), append([]engine.Head{},
			[]engine.Head{middle, late}[min(i, 2):]...))
	}
	for n := byte(1); n <= 16; n++ {
		for i := range n {
			of := engine.Shard{I: i, N: n}
			var want []engine.Head
			for _, h := range []engine.Head{early, middle, late} {
				if of.Has(h.ID) {
					want = append(want, h)
				}
			}
			got, _, _, err := s.store.Due(t.Context(), here, of, engine.Head{}, 10)
			s.must(err)
			equal(t, fmt.Sprintf("due in %+v", of), append([]engine.Head{}, got...), append([]engine.Head{}, want...))
		}
	}
	early.DueAt, late.DueAt, never.DueAt, far.DueAt = 0, now-150, now.Add(time.Minute), 0
	s.write(engine.Batch{Update: []engine.Update{{Head: early}, {Head: late}, {Head: never}, {Head: far}}})
	check(10, never.DueAt, late, middle)
	s.commit(func(ctx context.Context, tx engine.Tx) error {
		_, err := tx.Fetch(ctx, []engine.Want{{Tenant: never.Tenant, ID: never.ID}})
		s.must(err)
		then, err := tx.Now(ctx, here)
		s.must(err)
		if then < now {
			t.Errorf("the time of a commit is %v, a read before it saw %v", then, now)
		}
		return nil
	})
}

func savepoints(t *testing.T, s *suite) {
	h := s.create(engine.Head{})
	own := errors.New("no")
	s.commit(func(ctx context.Context, tx engine.Tx) error {
		s.must(tx.Write(ctx, &engine.Batch{Log: []engine.LogRow{row(h.Num, 2, 2, 2)}}))
		err := tx.Savepoint(ctx, func(ctx context.Context) error {
			s.must(tx.Write(ctx, &engine.Batch{Log: []engine.LogRow{row(h.Num, 3, 3, 3)}}))
			s.must(tx.Savepoint(ctx, func(ctx context.Context) error {
				return tx.Write(ctx, &engine.Batch{Log: []engine.LogRow{row(h.Num, 4, 4, 4)}})
			}))
			return own
		})
		if !errors.Is(err, own) {
			t.Errorf("got %v, want the part's own error", err)
		}
		_, err = tx.Row(ctx, h.Num, 3)
		s.kind(err, fault.NotFound)
		return tx.Savepoint(ctx, func(ctx context.Context) error {
			return tx.Write(ctx, &engine.Batch{Log: []engine.LogRow{row(h.Num, 3, 3, 5)}})
		})
	})
	s.history(h, 0, row(h.Num, 1, 1, 1), row(h.Num, 2, 2, 2), row(h.Num, 3, 3, 5))
}

func notFound(t *testing.T, s *suite) {
	ctx := t.Context()
	h := s.create(engine.Head{})
	_, err := s.store.History(ctx, tenantA, idOf(99), 0)
	s.kind(err, fault.NotFound)
	_, _, err = s.store.Head(ctx, tenantA, idOf(99))
	s.kind(err, fault.NotFound)
	_, err = s.store.Row(ctx, h.Num, 2)
	s.kind(err, fault.NotFound)
	_, err = s.store.Graph(ctx, tenantA, "g", 0)
	s.kind(err, fault.NotFound)
	rows, err := s.store.Rows(ctx, 99, 1, 10)
	s.must(err)
	equal(t, "rows", rows, nil)
}
