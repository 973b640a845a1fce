package cli

import (
	"context"
	"fmt"

	"renga.dev/renga/client"
)

// bulkListCmd is `renga bulk list`.
type bulkListCmd struct{ paging }

// Help shows an example.
func (bulkListCmd) Help() string {
	return `Examples:
  renga bulk list
  renga bulk list -o json | jq -r '.items[] | select(.status == "RUNNING") | .bulkId'`
}

// Run prints a page.
func (c *bulkListCmd) Run(ctx context.Context, a *App, r *remote) error {
	head := []string{"BULK", "COMMAND", "STATUS", "SETTLED", "REFUSED", "FAILED", "CREATED", "FILTER"}
	return tabulate(r, &c.paging, head, func(b *client.Bulk) []string {
		return []string{
			b.BulkID, b.Command, a.screen.status(string(b.Status)), fmt.Sprintf("%d of %d", b.Counts.Settled(),
				b.Total),
			fmt.Sprint(b.Counts.Refused), fmt.Sprint(b.Counts.Failed), instant(b.CreatedAt), inLine(b.Filter),
		}
	})(r.Bulks.List(ctx, c.at()))
}

// bulkShowCmd is `renga bulk show`.
type bulkShowCmd struct {
	ID string `arg:"" help:"Id of the bulk."`
}

// Help shows an example.
func (bulkShowCmd) Help() string {
	return `Examples:
  renga bulk show 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04`
}

// Run shows the bulk.
func (c *bulkShowCmd) Run(ctx context.Context, a *App, r *remote) error {
	return show(r, a.showBulk)(r.Bulks.Get(ctx, c.ID))
}

// bulkItemsCmd is `renga bulk items`.
type bulkItemsCmd struct {
	ID     string  `arg:"" help:"Id of the bulk."`
	Status *string `placeholder:"STATUS" enum:"PENDING,APPLIED,ALREADY,REFUSED,FAILED" help:"Only these: PENDING, APPLIED, ALREADY, REFUSED or FAILED."`
	paging
}

// Help shows examples.
func (bulkItemsCmd) Help() string {
	return `Examples:
  renga bulk items 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04
  renga bulk items 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04 --status FAILED -o json`
}

// Run prints a page of items.
func (c *bulkItemsCmd) Run(ctx context.Context, a *App, r *remote) error {
	var only client.BulkItemStatus
	if c.Status != nil {
		only = client.BulkItemStatus(*c.Status)
	}
	page, err := r.Bulks.ListItems(ctx, c.ID, only, c.at())
	if err != nil {
		return err
	}
	return r.answer(func() error {
		err := a.showItems(page.Items)
		a.more(&c.paging, len(page.Items), page.Total)
		return err
	})
}

// bulkStartCmd is `renga bulk start`.
type bulkStartCmd struct {
	ID     string `arg:"" help:"Id of the bulk."`
	NoWait bool   `help:"Do not wait until it is done."`
	sending
}

// Help shows examples.
func (bulkStartCmd) Help() string {
	return `Examples:
  renga bulk start 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04
  renga bulk start 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04 --no-wait`
}

// Run starts the bulk.
func (c *bulkStartCmd) Run(ctx context.Context, a *App) error {
	r, err := a.connect(watchPatience)
	if err != nil {
		return err
	}
	return r.startBulk(c.context(ctx), c.ID, c.IdempotencyKey, c.NoWait, false)
}

// bulkStopCmd is `renga bulk stop`.
type bulkStopCmd struct {
	ID string `arg:"" help:"Id of the bulk."`
	sending
}

// Help shows an example.
func (bulkStopCmd) Help() string {
	return `Executions that are being cancelled at this moment are finished and counted; the others stay pending.

Examples:
  renga bulk stop 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04`
}

// Run stops the bulk.
func (c *bulkStopCmd) Run(ctx context.Context, a *App, r *remote) error {
	if _, err := r.Bulks.Stop(c.context(ctx), client.BulkOrder{Key: c.IdempotencyKey, BulkID: c.ID}); err != nil {
		return err
	}
	return show(r, a.showBulk)(r.Bulks.Get(ctx, c.ID))
}
