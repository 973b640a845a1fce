package app

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// How often metrics that are in the database are read.
const (
	sampleEvery  = 10 * time.Second // when nobody looks
	sampleFresh  = time.Second      // who looks has one read that is older than that, for the next time
	sampleWithin = 5 * time.Second
)

// sample is what a query for metrics gave last. /metrics shows it and its age, and never waits
// for the database, which may hang.
type sample[T any] struct {
	wake chan struct{} // holds a token when somebody looked

	mu    sync.Mutex
	value T
	at    time.Time // zero: it was never read
}

// newSample is a sample without a value. Its age is shown under the name of its source.
func newSample[T any](meter metric.Meter, source string) (*sample[T], error) {
	s, began := &sample[T]{wake: make(chan struct{}, 1)}, time.Now()
	_, err := meter.Float64ObservableGauge("metrics.age", metric.WithUnit("s"),
		metric.WithDescription("Time since metrics that are in the database were read."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			at := s.at
			if at.IsZero() {
				at = began
			}
			o.Observe(time.Since(at).Seconds(), metric.WithAttributes(attribute.String("source", source)))
			return nil
		}))
	return s, err
}

// last is the value that was read last, if any.
func (s *sample[T]) last() (value T, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) > sampleFresh {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return s.value, !s.at.IsZero()
}

// run reads values until ctx ends. While that fails, the one before stays, and its age tells.
func (s *sample[T]) run(ctx context.Context, read func(context.Context) (T, error)) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		within, cancel := context.WithTimeout(ctx, sampleWithin)
		value, err := read(within)
		cancel()
		if err == nil {
			s.mu.Lock()
			s.value, s.at = value, began
			s.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-s.wake:
		case <-ctx.Done():
		}
	}
}
