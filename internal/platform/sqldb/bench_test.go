package sqldb

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkInsert is rows of 400 bytes through Write, 200 a job, as an engine
// batch writes them. One op is one row.
func BenchmarkInsert(b *testing.B) {
	for _, writers := range []struct {
		name string
		n    int
	}{{"alone", 1}, {"shared", 8}} {
		b.Run(writers.name, func(b *testing.B) { benchInsert(b, writers.n) })
	}
}

func benchInsert(b *testing.B, writers int) {
	const perJob = 200
	var worst time.Duration
	db := start(b, Config{Watch: func(c Commit) { worst = max(worst, c.Took) }})
	body := make([]byte, 400)
	for i := range body {
		body[i] = byte(i * 7)
	}
	var row atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	done := make(chan error, writers)
	for range writers {
		go func() {
			var err error
			for first := row.Add(perJob) - perJob; first < int64(b.N) && err == nil; first = row.Add(perJob) - perJob {
				err = db.Write(context.Background(), Engine, func(ctx context.Context, tx *Tx) error {
					for i := first; i < min(first+perJob, int64(b.N)); i++ {
						if _, err := tx.Exec(ctx, insertRow, i/4, i%4, body); err != nil {
							return err
						}
					}
					return nil
				})
			}
			done <- err
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	_ = db.Write(context.Background(), Engine, func(context.Context, *Tx) error {
		b.ReportMetric(float64(worst.Milliseconds()), "ms-worst")
		return nil
	})
	s := db.Stats()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(s.SyncTime.Microseconds())/float64(s.Commits), "µs/sync")
	b.ReportMetric(float64(s.Pages)/float64(s.Commits), "pages/commit")
	b.ReportMetric(float64(s.WAL>>20), "MiB-wal")
}
