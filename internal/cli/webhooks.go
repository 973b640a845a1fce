package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"renga.dev/renga/client"
)

type webhooksCmd struct {
	Apply   webhooksApplyCmd   `cmd:"" help:"Store webhooks; a new one's secret is shown."`
	List    webhooksListCmd    `cmd:"" help:"List webhooks and how their endpoints do."`
	Show    webhooksShowCmd    `cmd:"" help:"Show a webhook, without its secret."`
	Test    webhooksTestCmd    `cmd:"" help:"Post a message to the endpoint at once."`
	Pause   webhooksPauseCmd   `cmd:"" help:"Let a webhook send nothing until it is resumed."`
	Resume  webhooksResumeCmd  `cmd:"" help:"Let a webhook send that is paused, parked or disabled."`
	Rotate  webhooksRotateCmd  `cmd:"" help:"Give a webhook a new secret."`
	Recover webhooksRecoverCmd `cmd:"" help:"Send what is missing since an instant."`
	Delete  webhooksDeleteCmd  `cmd:"" help:"Delete a webhook; nothing is sent any more."`

	Deliveries webhooksDeliveriesCmd `cmd:"" help:"List the deliveries of a webhook."`
	Delivery   webhooksDeliveryCmd   `cmd:"" help:"Show a delivery with its attempts."`
	Redeliver  webhooksRedeliverCmd  `cmd:"" help:"Send a delivery again."`
	Skip       webhooksSkipCmd       `cmd:"" help:"Give a delivery up; later ones of its key go on."`
}

type webhooksApplyCmd struct {
	Files []string `name:"file" short:"f" required:"" placeholder:"FILE"`
	ID    string   `placeholder:"NAME" help:"Id of the webhook; ${file_id}"`
}

func (webhooksApplyCmd) Help() string {
	return `A webhook posts events to an endpoint, signed by Standard Webhooks.

  {"url": "https://example.com/renga", "events": ["OwnerChanged", "StageChanged"],
   "filter": "event.payload.objectName == \"Opportunity\"", "delivery": "ordered",
   "headers": {"Authorization": "Bearer 4711"}, "description": "The CRM of the north"}

url and events are required; events ["*"] are all. filter is a condition on the event. With the delivery ordered, which
is the default, events of a record come one after the other; parallel ones do not wait for each other. Values of headers
are not shown again; without the member they stay as they are. The secret of a new webhook is shown once: note it down.

Examples:
  renga webhooks apply -f crm.json
  renga webhooks apply --id crm -f - < webhook.json`
}

func (c *webhooksApplyCmd) Run(ctx context.Context, r *remote) error {
	t := columns("WEBHOOK, CHANGE, URL, EVENTS, STATE, SECRET", func(d *appliedFile[client.StoredWebhook]) []any {
		return []any{
			d.Stored.ID, d.Change, d.Stored.URL, strings.Join(d.Stored.Events, ","), status(d.Stored.State),
			d.Stored.Secret,
		}
	})
	return applyFiles(ctx, r, "webhook", c.Files, c.ID, r.Webhooks, t, func(s *client.StoredWebhook) time.Time {
		return s.UpdatedAt
	})
}

type webhooksListCmd struct{ paging }

func (webhooksListCmd) Help() string {
	return `Examples:
  renga webhooks list
  renga webhooks list -o json | jq -r '.items[] | select(.state != "ACTIVE") | .id'`
}

func (c *webhooksListCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns("WEBHOOK, URL, EVENTS, DELIVERY, STATE, SINCE, OPEN, LAST SUCCESS",
		func(w *client.StoredWebhook) []any {
			return []any{
				w.ID, w.URL, strings.Join(w.Events, ","), w.Delivery, status(w.State), w.Since, w.Open, w.SucceededAt,
			}
		}))(r.Webhooks.List(ctx, c.at()))
}

type webhookID struct {
	ID string `arg:"" help:"Id of the webhook."`
}

type webhooksShowCmd struct{ webhookID }

func (webhooksShowCmd) Help() string {
	return `Examples:
  renga webhooks show crm
  renga webhooks show crm -o json`
}

func (c *webhooksShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printWebhook)(r.Webhooks.Get(ctx, c.ID))
}

func printWebhook(p *printer, w *client.StoredWebhook) {
	recovery := ""
	if rec := w.Recovery; rec != nil {
		recovery = fmt.Sprintf("since %s: %d were missing", instant(rec.Since), rec.Planned)
		if rec.EndedAt.IsZero() {
			recovery += " so far"
		}
	}
	p.pairs(
		"webhook", w.ID, "description", w.Description, "url", w.URL, "events", strings.Join(w.Events, ", "),
		"filter", w.Filter, "delivery", w.Delivery, "headers", strings.Join(w.HeaderNames, ", "),
		"state", status(w.State), "since", w.Since, "reason", w.Reason, "next request", w.RetryAt,
		"disabled at", w.DisablesAt, "last success", w.SucceededAt, "open", w.Open, "missed since", w.MissedSince,
		"recovery", recovery, "public keys", strings.Join(w.PublicKeys, ", "),
		"previous secret until", w.PreviousSecretUntil, "secret", w.Secret, "created", w.CreatedAt,
		"changed", w.UpdatedAt,
	)
}

type webhooksTestCmd struct {
	webhookID
	sending
}

func (webhooksTestCmd) Help() string {
	return `Posts a message of the type webhook.test, signed like others, whatever the state of the webhook.

Examples:
  renga webhooks test crm`
}

func (c *webhooksTestCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, t *client.WebhookTest) {
		p.pairs("delivered", t.Delivered, "status", statusOf(t.Status), "error", t.Error, "answer", t.Answer)
	})(r.Webhooks.Test(c.context(ctx), c.IdempotencyKey, c.ID))
}

// statusOf is the status of an answer; "" when there was none.
func statusOf(code int) string {
	if code == 0 {
		return ""
	}
	return strconv.Itoa(code)
}

type webhooksPauseCmd struct {
	webhookID
	Reason string `placeholder:"TEXT" help:"Why; the webhook and the audit log show it."`
	sending
}

func (webhooksPauseCmd) Help() string {
	return `What is planned meanwhile waits, and is sent when the webhook is resumed.

Examples:
  renga webhooks pause crm --reason "the shop moves"`
}

func (c *webhooksPauseCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printWebhook)(r.Webhooks.Pause(c.context(ctx), c.IdempotencyKey, c.ID, c.Reason))
}

type webhooksResumeCmd struct {
	webhookID
	sending
}

func (webhooksResumeCmd) Help() string {
	return `What was not planned while it was disabled is sent by renga webhooks recover.

Examples:
  renga webhooks resume crm`
}

func (c *webhooksResumeCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printWebhook)(r.Webhooks.Resume(c.context(ctx), c.IdempotencyKey, c.ID))
}

type webhooksRotateCmd struct {
	webhookID
	Overlap time.Duration `default:"24h" placeholder:"DURATION" help:"How long the old secret signs too (${default})."`
	sending
}

func (webhooksRotateCmd) Help() string {
	return `The new secret is shown once: note it down. Messages are signed with both secrets for a while, so that
receivers can change theirs without losing any.

Examples:
  renga webhooks rotate crm
  renga webhooks rotate crm --overlap 0s`
}

func (c *webhooksRotateCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printWebhook)(r.Webhooks.Rotate(c.context(ctx), c.IdempotencyKey, c.ID, c.Overlap))
}

type webhooksRecoverCmd struct {
	webhookID
	Since string `required:"" placeholder:"TIME" help:"Events that happened at or after: ${time}."`
	sending
}

func (webhooksRecoverCmd) Help() string {
	return `Sends every event since then that the webhook asks for and that its endpoint did not take: what it never
had, what has failed, what was skipped. What was delivered is not sent again.

Examples:
  renga webhooks recover crm --since 24h
  renga webhooks recover crm --since 2026-01-05T09:00:00Z`
}

func (c *webhooksRecoverCmd) Run(ctx context.Context, r *remote) error {
	since, err := r.time("--since", c.Since)
	if err != nil {
		return err
	}
	return show(r, printWebhook)(r.Webhooks.Recover(c.context(ctx), c.IdempotencyKey, c.ID, since))
}

type webhooksDeleteCmd struct{ webhookID }

func (webhooksDeleteCmd) Help() string {
	return `Examples:
  renga webhooks delete crm`
}

func (c *webhooksDeleteCmd) Run(ctx context.Context, r *remote) error {
	if err := r.Webhooks.Delete(ctx, c.ID); err != nil {
		return err
	}
	return r.did(map[string]any{"id": c.ID, "deleted": true}, "Deleted webhook %s.", c.ID)
}
