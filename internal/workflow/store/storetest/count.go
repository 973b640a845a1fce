package storetest

import (
	"fmt"
	"testing"
	"time"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func counts(t *testing.T, s *suite) {
	for i := range 6 {
		s.create(engine.Head{Tenant: tenantA, GraphID: fmt.Sprint("g", i%2), CreatedAt: flow.Time(1000 + i*1000)})
	}
	ended := s.create(engine.Head{Tenant: tenantA, GraphID: "g0", Status: flow.Failed, CreatedAt: 2500, EndedAt: 2600})
	s.create(engine.Head{Tenant: tenantB, GraphID: "g0", CreatedAt: 1000})
	groups, total, err := s.store.Counts(t.Context(), engine.CountQuery{
		Tenant: tenantA, ByStatus: true, ByGraph: true, Limit: 2,
	})
	s.must(err)
	equal(t, "total", total, 7)
	equal(t, "groups", groups, []engine.Group{
		{Status: flow.Active, GraphID: "g0", N: 3},
		{Status: flow.Active, GraphID: "g1", N: 3},
	})
	groups, total, err = s.store.Counts(t.Context(), engine.CountQuery{
		Tenant: tenantA, GraphID: ended.GraphID, ByStatus: true, Limit: 10,
	})
	s.must(err)
	equal(t, "total of a graph", total, 4)
	equal(t, "groups of a graph", groups, []engine.Group{
		{Status: flow.Active, GraphID: "", N: 3},
		{Status: flow.Failed, GraphID: "", N: 1},
	})

	bars, err := s.store.Histogram(t.Context(), engine.HistogramQuery{
		Tenant: tenantA, From: 1000, To: 6000, Bucket: 2 * time.Second, Limit: 4,
	})
	s.must(err)
	equal(t, "bars", bars, []engine.Bar{ // the oldest of five that are ACTIVE is not counted
		{Bucket: 0, Status: flow.Active, N: 1, Oldest: 2000},
		{Bucket: 0, Status: flow.Failed, N: 1, Oldest: 2500},
		{Bucket: 1, Status: flow.Active, N: 2, Oldest: 3000},
		{Bucket: 2, Status: flow.Active, N: 1, Oldest: 5000},
	})
	bars, err = s.store.Histogram(t.Context(), engine.HistogramQuery{
		Tenant: tenantA, GraphID: "g1", From: 0, To: 4000, Bucket: 10 * time.Second, Limit: 10,
	})
	s.must(err)
	equal(t, "bars of a graph", bars, []engine.Bar{
		{Bucket: 0, Status: flow.Active, N: 1, Oldest: 2000},
	})
}

func queues(t *testing.T, s *suite) {
	var rows []engine.ReadyRow
	for i := range 5 {
		rows = append(rows, engine.ReadyRow{
			Tenant: tenantA, Queue: fmt.Sprint("q", i%3), At: flow.Time(10 + i), Execution: 1, Node: fmt.Sprint("n", i),
		})
	}
	rows = append(rows, engine.ReadyRow{Tenant: tenantB, Queue: "q9", At: 1, Execution: 2, Node: "n"})
	s.write(engine.Batch{Ready: rows})
	q := engine.QueueQuery{
		Tenant: tenantA, Without: func(queue string) bool { return queue == "q1" }, Limit: 10,
	}
	got, total, err := s.store.Queues(t.Context(), q)
	s.must(err)
	equal(t, "queues", got, []engine.QueueRow{
		{Queue: "q0", Ready: 2, Since: 10}, {Queue: "q2", Ready: 1, Since: 12},
	})
	equal(t, "total", total, 2)
	q.Offset = 1
	got, _, err = s.store.Queues(t.Context(), q)
	s.must(err)
	equal(t, "second page", got, []engine.QueueRow{{Queue: "q2", Ready: 1, Since: 12}})
}
