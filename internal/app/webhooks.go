package app

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/webhooks"
)

// newWebhooks is the part that posts events to endpoints outside.
func newWebhooks(a *App, models *metadata.Models) *Part {
	a.Webhooks = webhooks.New(a.DB, webhooks.Config{
		Allowed: a.cfg.Webhooks, Tails: a.Bus, Hidden: models.Hidden, Name: a.name, Agent: service + "/" + Version,
		KeyRetention: a.cfg.KeyRetention, Now: a.now(), Log: a.log,
	})
	return &Part{
		Name: "webhooks", Tables: tablesOf(webhooks.Migration), Consumers: []bus.Consumer{a.Webhooks.Consumer()},
		Routes: a.Webhooks.Routes, Run: loops(a.Webhooks.Run),
	}
}

// observeWebhooks shows what webhooks have sent, and how their endpoints do, as the database said a moment ago.
func observeWebhooks(meter metric.Meter, a *App) error {
	levels, err := newSample[webhooks.Levels](meter, "webhooks")
	if err != nil {
		return err
	}
	a.door.Run = append(a.door.Run, func(ctx context.Context) { levels.run(ctx, a.Webhooks.Levels) })
	m := &instruments[webhooks.Levels]{meter: meter}
	m.gauge("webhooks.endpoints", "Webhooks, by state.", func(now webhooks.Levels, show observed) {
		for state, n := range now.States {
			show(n, attribute.String("state", state.String()))
		}
	})
	m.gauge("webhooks.open", "Deliveries of webhooks that are not settled.",
		func(now webhooks.Levels, show observed) { show(now.Open) })
	m.gauge("webhooks.missed", "Webhooks with so many open deliveries that events are not planned for them.",
		func(now webhooks.Levels, show observed) { show(now.Missed) })
	if err := m.register(levels.last); err != nil {
		return err
	}
	sent := &instruments[*webhooks.Webhooks]{meter: meter}
	sent.counter("webhooks.requests", "Requests to endpoints of webhooks, by what came of them.",
		func(w *webhooks.Webhooks, show observed) {
			delivered, refused, away := w.Sent()
			show(delivered, attribute.String("outcome", "delivered"))
			show(refused, attribute.String("outcome", "refused"))
			show(away, attribute.String("outcome", "no_answer"))
		})
	return sent.register(func() (*webhooks.Webhooks, bool) { return a.Webhooks, true })
}
