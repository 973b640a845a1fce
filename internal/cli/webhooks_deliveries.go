package cli

import (
	"context"

	"renga.dev/renga/client"
)

type webhooksDeliveriesCmd struct {
	webhookID
	State string `placeholder:"STATE" help:"In this state: WAITING, RETRYING, DELIVERED, FAILED or SKIPPED."`
	Type  string `placeholder:"TYPE" help:"Of events of this type."`
	Key   string `placeholder:"KEY" help:"Of this partition key."`
	From  string `placeholder:"TIME" help:"Planned at or after: ${time}."`
	To    string `placeholder:"TIME" help:"Planned before."`
	paging
}

func (webhooksDeliveriesCmd) Help() string {
	return `A delivery is an event for the webhook; the newest come first. Settled ones are retained for 14 days.

Examples:
  renga webhooks deliveries crm
  renga webhooks deliveries crm --state FAILED --from 24h`
}

func (c *webhooksDeliveriesCmd) Run(ctx context.Context, r *remote) error {
	from, to, err := r.times("--from", c.From, "--to", c.To)
	if err != nil {
		return err
	}
	return tabulate(r, &c.paging, columns(
		"EVENT, TYPE, STATE, ATTEMPTS, ANSWER, PLANNED, LAST TRIED, NEXT", func(d *client.WebhookDelivery) []any {
			return []any{
				d.EventID, d.EventType, status(d.State), d.Attempts, listed(statusOf(d.Status), d.Error), d.PlannedAt,
				d.TriedAt, d.DueAt,
			}
		},
	))(r.Webhooks.Deliveries(ctx, c.ID, client.WebhookDeliveryFilter{
		State: client.WebhookDeliveryState(c.State), EventType: c.Type, PartitionKey: c.Key, From: from, To: to,
	}, c.at()))
}

type webhookDelivery struct {
	webhookID
	Event string `arg:"" help:"Id of the event."`
}

type webhooksDeliveryCmd struct{ webhookDelivery }

func (webhooksDeliveryCmd) Help() string {
	return `Shows the event as it is sent, and every request that did not succeed.

Examples:
  renga webhooks delivery crm 0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01`
}

func (c *webhooksDeliveryCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, d *client.WebhookDeliveryDetails) {
		printDelivery(p, &d.WebhookDelivery)
		p.pairs("event", string(d.Event))
		for i := range d.Failures {
			a := &d.Failures[i]
			p.line("attempt %d, %s, %d ms: %s", a.Number, instant(a.TriedAt), a.Milliseconds,
				listed(statusOf(a.Status), a.Error, a.Answer))
		}
	})(r.Webhooks.Delivery(ctx, c.ID, c.Event))
}

func printDelivery(p *printer, d *client.WebhookDelivery) {
	p.pairs(
		"event", d.EventID, "type", d.EventType, "key", d.PartitionKey, "state", status(d.State),
		"attempts", d.Attempts, "status", statusOf(d.Status), "error", d.Error, "answer", d.Answer,
		"planned", d.PlannedAt, "last tried", d.TriedAt, "next try", d.DueAt,
	)
}

type webhooksRedeliverCmd struct {
	webhookDelivery
	sending
}

func (webhooksRedeliverCmd) Help() string {
	return `Sends it again, whatever became of it, before later ones of its key.

Examples:
  renga webhooks redeliver crm 0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01`
}

func (c *webhooksRedeliverCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printDelivery)(r.Webhooks.Redeliver(c.context(ctx), c.IdempotencyKey, c.ID, c.Event))
}

type webhooksSkipCmd struct {
	webhookDelivery
	sending
}

func (webhooksSkipCmd) Help() string {
	return `Examples:
  renga webhooks skip crm 0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01`
}

func (c *webhooksSkipCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printDelivery)(r.Webhooks.Skip(c.context(ctx), c.IdempotencyKey, c.ID, c.Event))
}
