package app

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"renga.dev/renga/internal/platform/bus"
)

// busLevels is how consumers and the outbox stand.
type busLevels struct {
	consumers []bus.Level
	outbox    bus.OutboxState
}

func readLevels(ctx context.Context, b *bus.Bus) (l busLevels, err error) {
	if l.consumers, err = b.Levels(ctx); err == nil {
		l.outbox, err = b.Outbox(ctx)
	}
	return l, err
}

// observeBus shows how consumers and the outbox stand, as the database said a moment ago.
// Every process shows the same.
func observeBus(meter metric.Meter, a *App) error {
	perConsumer := []struct {
		name, about string
		read        func(l *bus.Level) int64
	}{
		{"bus.consumer.pending", "Events of the stream that a consumer has not taken.", func(l *bus.Level) int64 {
			return l.Pending
		}},
		{"bus.consumer.retrying", "Keys that wait for another try.", func(l *bus.Level) int64 { return l.Retrying }},
		{"bus.consumer.blocked", "Keys that wait for a decision about a dead letter.", func(l *bus.Level) int64 {
			return l.Blocked
		}},
		{"bus.consumer.dead", "Dead letters that are open.", func(l *bus.Level) int64 { return l.Dead }},
		{"bus.consumer.applied", "Events that took effect.", func(l *bus.Level) int64 { return l.Applied }},
		{"bus.consumer.duplicate", "Events that were taken before.", func(l *bus.Level) int64 { return l.Duplicate }},
		{"bus.consumer.stale", "Events that were older than what was taken before.", func(l *bus.Level) int64 {
			return l.Stale
		}},
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
	unpublished, err := meter.Int64ObservableGauge("bus.outbox.unpublished",
		metric.WithDescription("Events that are not in the stream yet."))
	if err != nil {
		return err
	}
	levels, err := newSample[busLevels](meter, "bus")
	if err != nil {
		return err
	}
	a.door.Run = append(a.door.Run, func(ctx context.Context) {
		levels.run(ctx, func(ctx context.Context) (busLevels, error) { return readLevels(ctx, a.Bus) })
	})
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		l, known := levels.last()
		if !known {
			return nil
		}
		for i := range l.consumers {
			who := metric.WithAttributes(attribute.String("consumer", l.consumers[i].Consumer))
			for k, m := range perConsumer {
				o.ObserveInt64(gauges[k], m.read(&l.consumers[i]), who)
			}
		}
		o.ObserveInt64(unpublished, int64(l.outbox.Unpublished))
		return nil
	}, append(all, unpublished)...)
	return err
}
