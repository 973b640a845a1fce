package store_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

func idOf(num int64) (id flow.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(num)<<16|7<<12)
	binary.BigEndian.PutUint64(id[8:], uint64(num)*0x9e3779b97f4a7c15|1<<63)
	return id
}

// each runs a benchmark on both databases.
func each(b *testing.B, bench func(b *testing.B, s *store.Store, db *sqldb.DB)) {
	for name, where := range map[string]func() string{
		"sqlite":   func() string { return filepath.Join(b.TempDir(), "test.db") },
		"postgres": func() string { return pgtest.New(b) },
	} {
		b.Run(name, func(b *testing.B) {
			s, db, _ := serve(b, where())
			bench(b, s, db)
		})
	}
}

// BenchmarkList is a page of executions out of a million, by filter.
func BenchmarkList(b *testing.B) { each(b, benchmarkList) }

func benchmarkList(b *testing.B, s *store.Store, _ *sqldb.DB) {
	const executions = 1_000_000
	fill(b, s, executions)
	if _, err := s.CompactCounts(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, bm := range []struct {
		name string
		q    engine.ListQuery
	}{
		{"all", engine.ListQuery{}},
		{"failed", engine.ListQuery{Status: []flow.Status{flow.Failed}}},
		{"ended", engine.ListQuery{Status: []flow.Status{flow.Completed, flow.Failed, flow.Canceled}}},
		{"graph", engine.ListQuery{GraphID: "graph-7"}},
		{"graph failed", engine.ListQuery{GraphID: "graph-7", Status: []flow.Status{flow.Failed}}},
		{"an hour", engine.ListQuery{CreatedFrom: base + 500_000_000, CreatedTo: base + 503_600_000}},
		{"half the range", engine.ListQuery{CreatedFrom: base + 500_000_000}},
		{"graph, half the range", engine.ListQuery{GraphID: "graph-7", CreatedFrom: base + 500_000_000}},
		{"the middle page", engine.ListQuery{Offset: 500_000}},
		{"the last page", engine.ListQuery{Offset: 999_950}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			bm.q.Tenant, bm.q.Limit = "t", 50
			total := 0
			for b.Loop() {
				_, n, err := s.List(b.Context(), bm.q)
				if err != nil {
					b.Fatal(err)
				}
				total = n
			}
			b.ReportMetric(float64(total), "total")
		})
	}
}

// base is when the first execution of fill was created; one follows each second.
const base = flow.Time(1_700_000_000_000)

// fill creates n executions of twenty graphs, of which most completed.
func fill(b *testing.B, s *store.Store, n int64) {
	b.Helper()
	const chunk = 1000
	began := time.Now()
	for first := int64(1); first <= n; first += chunk {
		var batch engine.Batch
		for num := first; num < first+chunk; num++ {
			status := flow.Completed
			switch {
			case num%100 == 0:
				status = flow.Failed
			case num%1000 == 1:
				status = flow.Canceled
			case num > n-1000:
				status = flow.Active
			}
			batch.Create = append(batch.Create, engine.Head{
				Num: num, ID: idOf(num), Tenant: "t", GraphID: fmt.Sprintf("graph-%d", num%20), GraphVersion: 1,
				Status: status, CreatedAt: base + flow.Time(num*1000),
			})
		}
		err := s.Commit(context.Background(), func(ctx context.Context, tx engine.Tx) error {
			return tx.Write(ctx, &batch)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d executions in %v", n, time.Since(began).Round(time.Second))
}

// BenchmarkCommit is what the engine does for a commit of 200 node commands on 200
// executions that it knows, one op a command.
func BenchmarkCommit(b *testing.B) {
	each(b, func(b *testing.B, s *store.Store, db *sqldb.DB) {
		fill(b, s, 10_000)
		commits(b, s, db, 1, 200)
	})
}

// BenchmarkCommits is the same by several engines at once, as on PostgreSQL.
func BenchmarkCommits(b *testing.B) {
	for _, writers := range []int{1, 2, 4, 8} {
		for _, perCommit := range []int{1, 20, 200} {
			b.Run(fmt.Sprintf("%dx%d", writers, perCommit), func(b *testing.B) {
				s, db, _ := serve(b, pgtest.New(b))
				fill(b, s, 10_000)
				commits(b, s, db, writers, perCommit)
			})
		}
	}
}

// commits appends to executions, each writer to its own.
func commits(b *testing.B, s *store.Store, db *sqldb.DB, writers, perCommit int) {
	const executions = 10_000
	before := db.Stats()
	b.ResetTimer()
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	for w := range writers {
		all.Go(func() {
			no := map[int64]int64{}
			for at := 0; left.Add(-int64(perCommit)) > -int64(perCommit); {
				var batch engine.Batch
				var wants []engine.Want
				for range perCommit {
					num := int64(at%(executions/writers)*writers + w + 1)
					at++
					wants = append(wants, engine.Want{Tenant: "t", ID: idOf(num), Num: num, Known: no[num]})
					no[num]++
					batch.Log = append(batch.Log, engine.LogRow{
						Execution: num, CommitNo: no[num], FirstSeq: uint64(no[num]*3 - 2),
						LastSeq: uint64(no[num] * 3), Body: make([]byte, 400),
					})
				}
				err := s.Commit(context.Background(), func(ctx context.Context, tx engine.Tx) error {
					if _, err := tx.Fetch(ctx, wants); err != nil {
						return err
					}
					if _, err := tx.Now(ctx, 1); err != nil {
						return err
					}
					return tx.Write(ctx, &batch)
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	after := db.Stats()
	n := float64(after.Commits - before.Commits)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
	b.ReportMetric(n/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(float64(after.Trips-before.Trips)/n, "trips/commit")
	b.ReportMetric(float64((after.SyncTime-before.SyncTime).Microseconds())/n, "µs/sync")
}

// BenchmarkCreate is creations with their keys, 50 a commit, one op a creation.
func BenchmarkCreate(b *testing.B) { each(b, benchmarkCreate) }

func benchmarkCreate(b *testing.B, s *store.Store, _ *sqldb.DB) {
	const perCommit = 50
	body := make([]byte, 1500)
	num := int64(0)
	b.ResetTimer()
	for n := 0; n < b.N; n += perCommit {
		var batch engine.Batch
		for range perCommit {
			num++
			batch.Create = append(batch.Create, engine.Head{
				Num: num, ID: idOf(num),
				Tenant: "00000000-0000-0000-0000-000000000000", GraphID: "orders", GraphVersion: 1, CreatedAt: base +
					flow.Time(num),
			})
			batch.Log = append(batch.Log, engine.LogRow{
				Execution: num, CommitNo: 1, FirstSeq: 1, LastSeq: 9,
				Body: body,
			})
			batch.Keys = append(batch.Keys, engine.KeyRow{
				KeyRef: engine.KeyRef{
					Tenant: "00000000-0000-0000-0000-000000000000", Endpoint: "POST /executions",
					Key: fmt.Sprintf("order-%d", num),
				},
				At: base + flow.Time(num), Body: body[:250],
			})
		}
		err := s.Commit(context.Background(), func(ctx context.Context, tx engine.Tx) error {
			return tx.Write(ctx, &batch)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creations/s")
}
