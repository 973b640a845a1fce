package bus_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// inside is a carrier over a JetStream server in this process.
func inside(t testing.TB) *jet.Carrier {
	t.Helper()
	s, err := jet.Open(t.Context(), jet.Config{Dir: filepath.Join(t.TempDir(), "nats")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s.Carrier()
}

// benchOnEvery runs a benchmark on every database.
func benchOnEvery(b *testing.B, bench func(b *testing.B, r *rig)) {
	b.Run("sqlite", func(b *testing.B) {
		bench(b, newRig(b, sqldb.Config{Path: filepath.Join(b.TempDir(), "bench.db")}))
	})
	b.Run("postgres", func(b *testing.B) { bench(b, newRig(b, sqldb.Config{URL: pgtest.New(b)})) })
}

// cpu is the time that this process has computed: what a benchmark costs whoever else
// uses the machine.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRelay publishes events of 1,000 keys that wait in the outbox over JetStream
// inside the process, with nobody who reads them.
func BenchmarkRelay(b *testing.B) {
	benchOnEvery(b, func(b *testing.B, r *rig) {
		carrier, idle := inside(b), r.asleep()
		_, err := carrier.Ensure(b.Context(), events.Events)
		r.must(err)
		var all []events.Event
		for i := range b.N {
			all = append(all, r.event(fmt.Sprint("key", i%1000)))
		}
		for chunk := range slices.Chunk(all, 500) {
			r.publishAll(idle, chunk...)
		}
		b.ResetTimer()
		before := cpu(b)
		r.launch(carrier, bus.Config{})
		for r.count(`SELECT count(*) FROM (SELECT id FROM outbox_events
			WHERE published_at IS NULL LIMIT 1) AS one`) > 0 {
			time.Sleep(5 * time.Millisecond)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		b.StopTimer()
	})
}

// BenchmarkRelayDelay is from the return of the transaction that publishes one event to
// the arrival of the event at who reads the stream, at 100 events a second.
func BenchmarkRelayDelay(b *testing.B) {
	benchOnEvery(b, func(b *testing.B, r *rig) {
		carrier := inside(b)
		running, _ := r.launch(carrier, bus.Config{})
		_, err := carrier.Ensure(b.Context(), events.Events)
		r.must(err)
		e := r.event("x")
		feed, err := carrier.Read(b.Context(), bus.From{Part: events.Partition(e.Key)})
		r.must(err)
		defer feed.Close()
		var delays []time.Duration
		for b.Loop() {
			time.Sleep(10 * time.Millisecond)
			e := r.event("x")
			r.must(r.db.Write(context.Background(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				return running.Publish(ctx, tx, e)
			}))
			committed := time.Now()
			for {
				msgs, err := feed.Next(b.Context(), 1)
				r.must(err)
				if len(msgs) > 0 {
					break
				}
			}
			delays = append(delays, time.Since(committed))
		}
		slices.Sort(delays)
		b.ReportMetric(float64(delays[len(delays)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds()), "p99-µs")
	})
}
