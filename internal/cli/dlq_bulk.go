package cli

import (
	"context"
	"fmt"
	"time"

	"renga.dev/renga/client"
)

// dlqBulkCmd is `renga dlq bulk`.
type dlqBulkCmd struct {
	List  dlqBulkListCmd  `cmd:"" help:"List bulks of dead letters, newest first."`
	Show  dlqBulkShowCmd  `cmd:"" help:"Show a bulk and its progress."`
	Items dlqBulkItemsCmd `cmd:"" help:"List the dead letters of a bulk, with a result for each."`
	Start dlqBulkStartCmd `cmd:"" help:"Start a bulk, or continue one that was stopped."`
	Stop  dlqBulkStopCmd  `cmd:"" help:"Stop a bulk; the rest stays as it is until you start it again."`
}

// decideMany shows the set of a bulk, asks, lets it work and shows the results.
func (r *remote) decideMany(ctx context.Context, id, question string, d *deciding) error {
	a := r.app
	b, err := r.followDead(ctx, id, "freezing", client.BulkFreezing)
	if err != nil {
		return err
	}
	raw := r.heard.last()
	if b.Status == client.BulkTooLarge {
		return usage("this selects more dead letters than one bulk may have; choose fewer")
	}
	start := d.Yes
	if !start && a.Output != "json" {
		if err := r.showDeadPreview(ctx, b); err != nil {
			return err
		}
		start = b.Total > 0 && a.asks && a.ask(fmt.Sprintf(question, count(b.Total, "dead letter", "dead letters")))
	}
	switch {
	case start:
		return r.startDead(ctx, id, "", d.NoWait)
	case a.Output == "json":
		return writeJSON(a.Out, raw)
	case b.Total > 0:
		a.say("nothing was decided; to do it: renga dlq bulk start %s", id)
	}
	return nil
}

// showDeadPreview shows a bulk and the first of its dead letters.
func (r *remote) showDeadPreview(ctx context.Context, b *client.DeadLetterBulk) error {
	a := r.app
	if err := a.showDeadBulk(b); err != nil || b.Total == 0 {
		return err
	}
	page, err := r.DeadLetterBulks.ListItems(ctx, b.BulkID, "", client.Paging{Size: client.MaxPageSize})
	if err != nil {
		return err
	}
	if err := a.line(""); err != nil {
		return err
	}
	if err := a.showDeadItems(page.Items); err != nil {
		return err
	}
	if more := b.Total - len(page.Items); more > 0 {
		a.say("and %d more: renga dlq bulk items %s --page 2", more, b.BulkID)
	}
	return nil
}

// followDead looks at a bulk, and shows how far it is, while it has a status.
func (r *remote) followDead(ctx context.Context, id, what string, while client.BulkStatus) (
	*client.DeadLetterBulk, error,
) {
	var bar *Bar
	defer func() {
		if bar != nil {
			bar.End()
		}
	}()
	for {
		b, err := r.DeadLetterBulks.Get(ctx, id)
		if err != nil || b.Status != while {
			return b, err
		}
		if bar == nil {
			bar = r.app.Bar(what, b.Total)
		}
		bar.Set(b.Counts.Settled())
		select {
		case <-time.After(bulkPoll):
		case <-ctx.Done():
			return b, ctx.Err()
		}
	}
}

// startDead starts a bulk, waits until it is done and shows the results.
func (r *remote) startDead(ctx context.Context, id, key string, noWait bool) error {
	a := r.app
	if _, err := r.DeadLetterBulks.Start(ctx, client.BulkOrder{Key: key, BulkID: id}); err != nil {
		return err
	}
	if noWait {
		return r.answer(func() error {
			return a.line("Started bulk %s. See how far it is: renga dlq bulk show %s", id,
				id)
		})
	}
	b, err := r.followDead(ctx, id, "dead letters", client.BulkRunning)
	if ctx.Err() != nil {
		a.say("the server goes on; look with: renga dlq bulk show %s; stop with: renga dlq bulk stop %s", id, id)
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if err := r.showDeadResults(ctx, b); err != nil {
		return err
	}
	switch {
	case b.Counts.Failed > 0:
		return ended(exitFailure)
	case b.Counts.Refused > 0:
		return ended(exitRefused)
	}
	return nil
}

// showDeadResults shows how a bulk ended and its items: all when they are few, else
// those that were not simply done.
func (r *remote) showDeadResults(ctx context.Context, b *client.DeadLetterBulk) error {
	a := r.app
	if a.Output == "json" {
		return writeJSON(a.Out, r.heard.last())
	}
	if err := a.showDeadBulk(b); err != nil || b.Total == 0 {
		return err
	}
	wanted := []client.BulkItemStatus{""}
	if b.Total > client.MaxPageSize {
		wanted = []client.BulkItemStatus{client.ItemFailed, client.ItemRefused}
	}
	var items []client.DeadLetterBulkItem
	for _, status := range wanted {
		page, err := r.DeadLetterBulks.ListItems(ctx, b.BulkID, status, client.Paging{Size: client.MaxPageSize})
		if err != nil {
			return err
		}
		items = append(items, page.Items...)
	}
	if len(items) > 0 {
		if err := a.line(""); err != nil {
			return err
		}
		if err := a.showDeadItems(items); err != nil {
			return err
		}
	}
	if len(items) < b.Total {
		a.say("all results: renga dlq bulk items %s", b.BulkID)
	}
	return nil
}

func (a *App) showDeadBulk(b *client.DeadLetterBulk) error {
	c := &b.Counts
	return a.pairs(
		[2]string{"bulk", b.BulkID},
		[2]string{"command", b.Command},
		[2]string{"filter", inLine(b.Filter)},
		[2]string{"reason", clean(b.Reason)},
		[2]string{"status", a.screen.status(string(b.Status))},
		[2]string{"created", instant(b.CreatedAt) + " by " + actor(b.CreatedBy)},
		[2]string{"started", instant(b.StartedAt)},
		[2]string{"ended", instant(b.EndedAt)},
		[2]string{"dead letters", fmt.Sprintf("%d: %d pending, %d applied, %d already, %d refused, %d failed",
			b.Total, c.Pending, c.Applied, c.Already, c.Refused, c.Failed)},
	)
}

func (a *App) showDeadItems(items []client.DeadLetterBulkItem) error {
	var rows [][]string
	for i := range items {
		what := inLine(items[i].Result)
		if items[i].Foreseen != nil {
			what = inLine(items[i].Foreseen)
		}
		rows = append(rows, []string{items[i].DeadLetterID, a.screen.status(string(items[i].Status)), what})
	}
	return a.grid([]string{"DEAD LETTER", "RESULT", "WHAT"}, rows)
}

// dlqBulkListCmd is `renga dlq bulk list`.
type dlqBulkListCmd struct{ paging }

// Help shows an example.
func (dlqBulkListCmd) Help() string {
	return `Examples:
  renga dlq bulk list`
}

// Run prints a page.
func (c *dlqBulkListCmd) Run(ctx context.Context, a *App, r *remote) error {
	head := []string{"BULK", "COMMAND", "STATUS", "SETTLED", "REFUSED", "FAILED", "CREATED", "FILTER"}
	return tabulate(r, &c.paging, head, func(b *client.DeadLetterBulk) []string {
		return []string{
			b.BulkID, b.Command, a.screen.status(string(b.Status)), fmt.Sprintf("%d of %d", b.Counts.Settled(),
				b.Total),
			fmt.Sprint(b.Counts.Refused), fmt.Sprint(b.Counts.Failed), instant(b.CreatedAt), inLine(b.Filter),
		}
	})(r.DeadLetterBulks.List(ctx, c.at()))
}

// dlqBulkShowCmd is `renga dlq bulk show`.
type dlqBulkShowCmd struct {
	ID string `arg:"" help:"Id of the bulk."`
}

// Help shows an example.
func (dlqBulkShowCmd) Help() string {
	return `Examples:
  renga dlq bulk show 0199c1a3-b01c-7000-8000-000000000001`
}

// Run shows the bulk.
func (c *dlqBulkShowCmd) Run(ctx context.Context, a *App, r *remote) error {
	return show(r, a.showDeadBulk)(r.DeadLetterBulks.Get(ctx, c.ID))
}

// dlqBulkItemsCmd is `renga dlq bulk items`.
type dlqBulkItemsCmd struct {
	ID     string  `arg:"" help:"Id of the bulk."`
	Status *string `placeholder:"STATUS" enum:"PENDING,APPLIED,ALREADY,REFUSED,FAILED" help:"Only these: PENDING, APPLIED, ALREADY, REFUSED or FAILED."`
	paging
}

// Help shows an example.
func (dlqBulkItemsCmd) Help() string {
	return `Examples:
  renga dlq bulk items 0199c1a3-b01c-7000-8000-000000000001
  renga dlq bulk items 0199c1a3-b01c-7000-8000-000000000001 --status FAILED`
}

// Run prints a page of items.
func (c *dlqBulkItemsCmd) Run(ctx context.Context, a *App, r *remote) error {
	var only client.BulkItemStatus
	if c.Status != nil {
		only = client.BulkItemStatus(*c.Status)
	}
	page, err := r.DeadLetterBulks.ListItems(ctx, c.ID, only, c.at())
	if err != nil {
		return err
	}
	return r.answer(func() error {
		err := a.showDeadItems(page.Items)
		a.more(&c.paging, len(page.Items), page.Total)
		return err
	})
}

// dlqBulkStartCmd is `renga dlq bulk start`.
type dlqBulkStartCmd struct {
	ID     string `arg:"" help:"Id of the bulk."`
	NoWait bool   `help:"Do not wait until it is done."`
	sending
}

// Help shows an example.
func (dlqBulkStartCmd) Help() string {
	return `Examples:
  renga dlq bulk start 0199c1a3-b01c-7000-8000-000000000001
  renga dlq bulk start 0199c1a3-b01c-7000-8000-000000000001 --no-wait`
}

// Run starts the bulk.
func (c *dlqBulkStartCmd) Run(ctx context.Context, a *App) error {
	r, err := a.connect(watchPatience)
	if err != nil {
		return err
	}
	return r.startDead(c.context(ctx), c.ID, c.IdempotencyKey, c.NoWait)
}

// dlqBulkStopCmd is `renga dlq bulk stop`.
type dlqBulkStopCmd struct {
	ID string `arg:"" help:"Id of the bulk."`
	sending
}

// Help shows an example.
func (dlqBulkStopCmd) Help() string {
	return `Examples:
  renga dlq bulk stop 0199c1a3-b01c-7000-8000-000000000001`
}

// Run stops the bulk.
func (c *dlqBulkStopCmd) Run(ctx context.Context, a *App, r *remote) error {
	if _, err := r.DeadLetterBulks.Stop(c.context(ctx), client.BulkOrder{
		Key:    c.IdempotencyKey,
		BulkID: c.ID,
	}); err != nil {
		return err
	}
	return show(r, a.showDeadBulk)(r.DeadLetterBulks.Get(ctx, c.ID))
}
