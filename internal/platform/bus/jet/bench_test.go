package jet

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
)

// cpu is what this process has used, the server inside with it.
func cpu(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// numbered is a message of about the size of an event.
func numbered(i, part int) bus.Message {
	id := fmt.Sprintf("018f3f9e-0000-7000-8000-%012x", i)
	const tenant = "7b0f4a10-1111-4222-8333-444455556666"
	return bus.Message{
		Stream: events.Events, ID: id, Tenant: tenant, Part: part, Type: "RecordUpdated",
		Key:        events.RecordKey("Opportunity", tenant, id),
		OccurredAt: 1767225600000, Service: "records", Relay: bus.Relay{Epoch: 1, At: 1767225600000, Source: int64(i)},
		Body: []byte(`{"eventId":"` + id + `","payload":{"x":"` + strings.Repeat("y", 600) + `"}}`),
	}
}

// BenchmarkPublish is messages published in waves, as a relay does, with the server inside.
func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{16, 128, 512} {
		b.Run(fmt.Sprint("waves of ", size), func(b *testing.B) {
			s, err := Open(b.Context(), Config{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			c, n := s.Carrier(), 0
			if _, err := c.Ensure(b.Context(), events.Events); err != nil {
				b.Fatal(err)
			}
			wave := make([]bus.Message, size)
			used, began := cpu(b), time.Now()
			b.ReportAllocs()
			for b.Loop() {
				for i := range wave {
					wave[i] = numbered(n, n%events.Partitions)
					n++
				}
				for _, ack := range c.Publish(b.Context(), wave) {
					if ack.Err != nil {
						b.Fatal(ack.Err)
					}
				}
			}
			b.ReportMetric(float64(n)/time.Since(began).Seconds(), "msg/s")
			b.ReportMetric(float64((cpu(b)-used).Microseconds())/float64(n), "µs-cpu/msg")
		})
	}
}

// BenchmarkFeed is messages read while they are there, by one feed, with the server inside.
func BenchmarkFeed(b *testing.B) {
	const all = 50_000
	s, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c := s.Carrier()
	if _, err := c.Ensure(b.Context(), events.Events); err != nil {
		b.Fatal(err)
	}
	for n := 0; n < all; n += 500 {
		wave := make([]bus.Message, 500)
		for i := range wave {
			wave[i] = numbered(n+i, (n+i)%events.Partitions)
		}
		for _, ack := range c.Publish(b.Context(), wave) {
			if ack.Err != nil {
				b.Fatal(ack.Err)
			}
		}
	}
	used, began, n := cpu(b), time.Now(), 0
	b.ReportAllocs()
	for b.Loop() {
		f, err := c.Read(b.Context(), bus.From{Stream: events.Events, Part: 1})
		if err != nil {
			b.Fatal(err)
		}
		for got := 0; got < all/events.Partitions; {
			msgs, err := f.Next(b.Context(), 256)
			if err != nil || len(msgs) == 0 {
				b.Fatalf("got %d messages, then %v", got, err)
			}
			got += len(msgs)
			n += len(msgs)
		}
		f.Close()
	}
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "msg/s")
	b.ReportMetric(float64((cpu(b)-used).Microseconds())/float64(n), "µs-cpu/msg")
}

// BenchmarkLatency is the time from Publish to Next at light load.
func BenchmarkLatency(b *testing.B) {
	s, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c, n := s.Carrier(), 0
	if _, err := c.Ensure(b.Context(), events.Events); err != nil {
		b.Fatal(err)
	}
	f, err := c.Read(b.Context(), bus.From{Stream: events.Events})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		n++
		go c.Publish(b.Context(), []bus.Message{numbered(n, 0)})
		msgs, err := f.Next(b.Context(), 256)
		if err != nil || len(msgs) != 1 || msgs[0].Relay.Source != int64(n) {
			b.Fatalf("got %v, %v", msgs, err)
		}
	}
}
