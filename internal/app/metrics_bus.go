package app

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"renga.dev/renga/internal/platform/bus"
)

// busLevels are the backlogs of consumers and of the outbox.
type busLevels struct {
	consumers []bus.Level
	outbox    bus.OutboxState
}

// observeBus shows the backlogs of consumers and of the outbox, as the database said a moment ago.
// Every process shows the same.
func observeBus(meter metric.Meter, a *App) error {
	levels, err := newSample[busLevels](meter, "bus")
	if err != nil {
		return err
	}
	a.door.Run = append(a.door.Run, func(ctx context.Context) {
		levels.run(ctx, func(ctx context.Context) (l busLevels, err error) {
			if l.consumers, err = a.Bus.Levels(ctx); err == nil {
				l.outbox, err = a.Bus.Outbox(ctx)
			}
			return l, err
		})
	})
	m := &instruments[busLevels]{meter: meter}
	for _, g := range []struct {
		name, about string
		read        func(l *bus.Level) int64
	}{
		{
			"bus.consumer.pending", "Events of the stream that a consumer has not taken.",
			func(l *bus.Level) int64 { return l.Pending },
		},
		{"bus.consumer.retrying", "Keys that wait for another try.", func(l *bus.Level) int64 { return l.Retrying }},
		{
			"bus.consumer.blocked", "Keys that wait for a decision about a dead letter.",
			func(l *bus.Level) int64 { return l.Blocked },
		},
		{"bus.consumer.dead", "Dead letters that are open.", func(l *bus.Level) int64 { return l.Dead }},
		{"bus.consumer.applied", "Events that took effect.", func(l *bus.Level) int64 { return l.Applied }},
		{"bus.consumer.duplicate", "Events that were taken before.", func(l *bus.Level) int64 { return l.Duplicate }},
		{
			"bus.consumer.stale", "Events that were older than what was taken before.",
			func(l *bus.Level) int64 { return l.Stale },
		},
		{"bus.consumer.failed", "Tries that failed.", func(l *bus.Level) int64 { return l.Failed }},
	} {
		m.gauge(g.name, g.about, func(now busLevels, show observed) {
			for i := range now.consumers {
				show(g.read(&now.consumers[i]), attribute.String("consumer", now.consumers[i].Consumer))
			}
		})
	}
	m.gauge("bus.outbox.unpublished", "Events that are not in the stream yet.",
		func(now busLevels, show observed) { show(int64(now.outbox.Unpublished)) })
	return m.register(levels.last)
}
