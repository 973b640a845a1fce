package main

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"renga.dev/renga/internal/bus"
)

// observeBus shows how consumers and the outbox stand, as the database says when
// somebody looks. Every process shows the same.
func observeBus(meter metric.Meter, b *bus.Bus) error {
	perConsumer := []struct {
		name, about string
		read        func(l *bus.Level) int64
	}{
		{"bus.consumer.pending", "Events of the stream that a consumer has not taken.", func(l *bus.Level) int64 { return l.Pending }},
		{"bus.consumer.retrying", "Keys that wait for another try.", func(l *bus.Level) int64 { return l.Retrying }},
		{"bus.consumer.blocked", "Keys that wait for a decision about a dead letter.", func(l *bus.Level) int64 { return l.Blocked }},
		{"bus.consumer.dead", "Dead letters that are open.", func(l *bus.Level) int64 { return l.Dead }},
		{"bus.consumer.applied", "Events that took effect.", func(l *bus.Level) int64 { return l.Applied }},
		{"bus.consumer.duplicate", "Events that were taken before.", func(l *bus.Level) int64 { return l.Duplicate }},
		{"bus.consumer.stale", "Events that were older than what was taken before.", func(l *bus.Level) int64 { return l.Stale }},
		{"bus.consumer.failed", "Tries that failed.", func(l *bus.Level) int64 { return l.Failed }},
	}
	gauges := make([]metric.Int64ObservableGauge, len(perConsumer))
	all := make([]metric.Observable, len(perConsumer))
	for i, m := range perConsumer {
		gauge, err := meter.Int64ObservableGauge(m.name, metric.WithDescription(m.about))
		if err != nil {
			return err
		}
		gauges[i], all[i] = gauge, gauge
	}
	unpublished, err := meter.Int64ObservableGauge("bus.outbox.unpublished", metric.WithDescription("Events that are not in the stream yet."))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		levels, err := b.Levels(ctx)
		if err != nil {
			return err
		}
		for i := range levels {
			who := metric.WithAttributes(attribute.String("consumer", levels[i].Consumer))
			for k, m := range perConsumer {
				o.ObserveInt64(gauges[k], m.read(&levels[i]), who)
			}
		}
		outbox, err := b.Outbox(ctx)
		if err == nil {
			o.ObserveInt64(unpublished, int64(outbox.Unpublished))
		}
		return err
	}, append(all, unpublished)...)
	return err
}
