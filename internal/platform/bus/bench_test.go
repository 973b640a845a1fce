package bus_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// BenchmarkReaders measures what taking events costs that are on the stream already.
func BenchmarkReaders(b *testing.B) {
	r := newRig(b, sqldb.Config{Path: filepath.Join(b.TempDir(), "test.db")})
	var all []events.Event
	for i := range b.N {
		all = append(all, r.event(fmt.Sprint("record ", i%1000)))
	}
	r.send(all...)
	b.ResetTimer()
	done := make(chan struct{})
	n := 0
	handle := func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
		_, err := tx.Exec(ctx, "INSERT INTO test_effect (consumer, key, event_id, version, idx) VALUES ($1, $2, $3, "+
			"$4, $5)",
			"c", e.Key, e.ID, e.Version, e.Index)
		if n++; n == b.N {
			close(done)
		}
		return err
	}
	r.start(bus.Config{Consumers: []bus.Consumer{{Name: "c", Handle: handle}}})
	<-done
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
