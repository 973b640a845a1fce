package cli

import (
	"context"
	"fmt"

	"renga.dev/renga/client"
)

type dlqBulkCmd struct {
	List  dlqBulkListCmd  `cmd:"" help:"List bulks of dead letters, newest first."`
	Show  dlqBulkShowCmd  `cmd:"" help:"Show a bulk and its progress."`
	Items dlqBulkItemsCmd `cmd:"" help:"List the dead letters of a bulk, with a result for each."`
	Start dlqBulkStartCmd `cmd:"" help:"Start a bulk, or continue one that was stopped."`
	Stop  dlqBulkStopCmd  `cmd:"" help:"Stop a bulk; the rest stays as it is until you start it again."`
}

// deadLetterBulks are the bulks that redrive or skip dead letters.
func deadLetterBulks(r *remote) *bulks[client.DeadLetterBulk, client.DeadLetterBulkItem] {
	return &bulks[client.DeadLetterBulk, client.DeadLetterBulkItem]{
		remote: r, api: r.DeadLetterBulks, group: "dlq bulk", many: "dead letters", refusals: true,
		shown: func(b *client.DeadLetterBulk) bulk {
			return bulk{
				b.BulkID, b.Command, inLine(b.Filter), b.Reason, b.Status, b.Total, b.Counts,
				b.CreatedBy, b.CreatedAt, b.StartedAt, b.EndedAt,
			}
		},
		items: columns(
			"DEAD LETTER, RESULT, WHAT", func(i *client.DeadLetterBulkItem) []any {
				what := inLine(i.Result)
				if i.Foreseen != nil {
					what = inLine(i.Foreseen)
				}
				return []any{i.DeadLetterID, status(i.Status), what}
			},
		),
	}
}

// decideMany shows the set of a bulk, asks, lets it work and shows the results.
func (r *remote) decideMany(ctx context.Context, id, question string, d *deciding) error {
	many := deadLetterBulks(r)
	b, err := many.follow(ctx, id, "freezing", client.BulkFreezing)
	switch {
	case err != nil:
		return err
	case b.status == client.BulkTooLarge:
		return usage("this selects more dead letters than one bulk may have; choose fewer")
	case d.Yes:
		return many.start(ctx, id, "", d.NoWait, false)
	case r.Output == "json":
		return r.answer(nil)
	case b.total == 0:
		return r.print(nil, func(p *printer) { many.printOne(p, b) })
	}
	if err := many.preview(ctx, b, client.MaxPageSize, " --page 2"); err != nil {
		return err
	}
	if r.asks && r.ask(fmt.Sprintf(question, count(b.total, "dead letter", "dead letters"))) {
		return many.start(ctx, id, "", d.NoWait, false)
	}
	r.say("nothing was decided; to do it: renga dlq bulk start %s", id)
	return nil
}

type dlqBulkListCmd struct{ paging }

func (dlqBulkListCmd) Help() string {
	return `Examples:
  renga dlq bulk list`
}

func (c *dlqBulkListCmd) Run(ctx context.Context, r *remote) error {
	return deadLetterBulks(r).list(ctx, &c.paging)
}

type dlqBulkShowCmd struct{ bulkID }

func (dlqBulkShowCmd) Help() string {
	return `Examples:
  renga dlq bulk show 0199c1a3-b01c-7000-8000-000000000001`
}

func (c *dlqBulkShowCmd) Run(ctx context.Context, r *remote) error {
	return deadLetterBulks(r).show(ctx, c.ID)
}

type dlqBulkItemsCmd struct{ bulkItems }

func (dlqBulkItemsCmd) Help() string {
	return `Examples:
  renga dlq bulk items 0199c1a3-b01c-7000-8000-000000000001
  renga dlq bulk items 0199c1a3-b01c-7000-8000-000000000001 --status FAILED`
}

func (c *dlqBulkItemsCmd) Run(ctx context.Context, r *remote) error {
	return deadLetterBulks(r).listItems(ctx, &c.bulkItems)
}

type dlqBulkStartCmd struct{ bulkStart }

func (dlqBulkStartCmd) Help() string {
	return `Examples:
  renga dlq bulk start 0199c1a3-b01c-7000-8000-000000000001
  renga dlq bulk start 0199c1a3-b01c-7000-8000-000000000001 --no-wait`
}

func (c *dlqBulkStartCmd) Run(ctx context.Context, r *remote) error {
	return deadLetterBulks(r.patient()).start(c.context(ctx), c.ID, c.IdempotencyKey, c.NoWait, false)
}

type dlqBulkStopCmd struct{ bulkStop }

func (dlqBulkStopCmd) Help() string {
	return `Examples:
  renga dlq bulk stop 0199c1a3-b01c-7000-8000-000000000001`
}

func (c *dlqBulkStopCmd) Run(ctx context.Context, r *remote) error {
	return deadLetterBulks(r).stop(ctx, &c.bulkStop)
}
