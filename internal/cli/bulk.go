package cli

import (
	"context"

	"renga.dev/renga/client"
)

type bulkCmd struct {
	Cancel bulkCancelCmd `cmd:"" help:"Cancel all executions that match a filter, after a preview."`
	List   bulkListCmd   `cmd:"" help:"List bulks, newest first."`
	Show   bulkShowCmd   `cmd:"" help:"Show a bulk and its progress."`
	Items  bulkItemsCmd  `cmd:"" help:"List the executions of a bulk, with a result for each."`
	Start  bulkStartCmd  `cmd:"" help:"Start a bulk, or continue one that was stopped."`
	Stop   bulkStopCmd   `cmd:"" help:"Stop a bulk; the rest stays as it is until you start it again."`
}

// executionBulks are the bulks that cancel executions.
func executionBulks(r *remote) *bulks[client.Bulk, client.BulkItem] {
	return &bulks[client.Bulk, client.BulkItem]{
		remote: r, api: r.Bulks, group: "bulk", many: "executions",
		shown: func(b *client.Bulk) bulk {
			return bulk{
				b.BulkID, b.Command, inLine(b.Filter), b.Reason, b.Status, b.Total, b.Counts,
				b.CreatedBy, b.CreatedAt, b.StartedAt, b.EndedAt,
			}
		},
		items: columns("EXECUTION, RESULT, WHAT", func(i *client.BulkItem) []any {
			return []any{i.ExecutionID, status(i.Status), inLine(i.Result)}
		}),
	}
}

type bulkCancelCmd struct {
	filter
	OfCorrelationID string `placeholder:"ID" help:"Only executions that were created with this correlation id."`

	Reason string `placeholder:"TEXT" help:"Why; it stands in the log of each of them."`
	All    bool   `help:"Cancel every execution of the tenant: --yes needs it where nothing else chooses."`
	Yes    bool   `short:"y" help:"Do not ask, start at once."`
	NoWait bool   `help:"Do not wait until it is done."`
	Quiet  bool   `short:"q" help:"Print the id of the bulk alone, and do not ask."`
	sending
}

func (bulkCancelCmd) Help() string {
	return `Freezes the set of executions that match and have not ended, shows it, asks, cancels each of them and
prints a result for each. What is created afterwards is never in the set. The server does the work: it goes on when
this program is interrupted and after a restart. Without --yes and without a terminal to ask on, it stops after the
preview. The exit code is 1 when an item failed.

  APPLIED  this bulk cancelled it          REFUSED  it ended otherwise before its turn came
  ALREADY  it was cancelled before         FAILED   it could not be decided

Examples:
  renga bulk cancel --graph order --created-from 24h --reason "the shop is closed"
  renga bulk cancel --graph order --created-to 2026-01-05 --yes
  renga bulk cancel --label campaign=spring --waiting --node approve --reason "the campaign is over"
  renga bulk items 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04 --status REFUSED`
}

// previewed is how many executions are shown before anything happens.
const previewed = 10

func (c *bulkCancelCmd) Run(ctx context.Context, r *remote) error {
	selected, err := c.selection(r.App)
	if err != nil {
		return err
	}
	selected.CorrelationID = c.OfCorrelationID
	chooses := c.chooses() || c.OfCorrelationID != ""
	switch {
	case c.Yes && !c.All && !chooses:
		return usage("this cancels every execution of the tenant that has not ended: choose with --graph, " +
			"--label or another filter, or say --all")
	case c.All && chooses:
		return usage("--all does not go with a filter, such as --graph")
	}
	ctx, many := c.context(ctx), executionBulks(r.patient())
	made, err := many.Bulks.Create(ctx, client.CancelBulk{Key: c.IdempotencyKey, Filter: selected, Reason: c.Reason})
	if err != nil {
		return err
	}
	b, err := many.follow(ctx, made.BulkID, "freezing", client.BulkFreezing)
	switch {
	case err != nil:
		return err
	case b.status == client.BulkTooLarge:
		return usage("the filter selects more executions than one bulk may have; make it narrower")
	case b.total == 0 || c.Yes: // one without items is over at once
		return many.start(ctx, b.id, "", c.NoWait, c.Quiet)
	case r.Output == "json":
		return many.answer(nil)
	case c.Quiet:
		return r.print(nil, func(p *printer) { p.line("%s", b.id) })
	}
	if err := many.preview(ctx, b, previewed, ""); err != nil {
		return err
	}
	if r.asks && r.ask("Cancel "+count(b.total, "execution", "executions")+"?") {
		return many.start(ctx, b.id, "", c.NoWait, false)
	}
	r.say("nothing was cancelled; to cancel them: renga bulk start %s", b.id)
	return nil
}

type bulkListCmd struct{ paging }

func (bulkListCmd) Help() string {
	return `Examples:
  renga bulk list
  renga bulk list -o json | jq -r '.items[] | select(.status == "RUNNING") | .bulkId'`
}

func (c *bulkListCmd) Run(ctx context.Context, r *remote) error {
	return executionBulks(r).list(ctx, &c.paging)
}

type bulkID struct {
	ID string `arg:"" help:"Id of the bulk."`
}

type bulkShowCmd struct{ bulkID }

func (bulkShowCmd) Help() string {
	return `Examples:
  renga bulk show 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04`
}

func (c *bulkShowCmd) Run(ctx context.Context, r *remote) error {
	return executionBulks(r).show(ctx, c.ID)
}

type bulkItems struct {
	bulkID
	Status *client.BulkItemStatus `placeholder:"STATUS" enum:"${item_statuses}"`
	paging
}

type bulkItemsCmd struct{ bulkItems }

func (bulkItemsCmd) Help() string {
	return `Examples:
  renga bulk items 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04
  renga bulk items 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04 --status FAILED -o json`
}

func (c *bulkItemsCmd) Run(ctx context.Context, r *remote) error {
	return executionBulks(r).listItems(ctx, &c.bulkItems)
}

type bulkStart struct {
	bulkID
	NoWait bool `help:"Do not wait until it is done."`
	sending
}

type bulkStartCmd struct{ bulkStart }

func (bulkStartCmd) Help() string {
	return `Examples:
  renga bulk start 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04
  renga bulk start 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04 --no-wait`
}

func (c *bulkStartCmd) Run(ctx context.Context, r *remote) error {
	return executionBulks(r.patient()).start(c.context(ctx), c.ID, c.IdempotencyKey, c.NoWait, false)
}

type bulkStop struct {
	bulkID
	sending
}

type bulkStopCmd struct{ bulkStop }

func (bulkStopCmd) Help() string {
	return `Executions that are being cancelled at this moment are finished and counted; the others stay pending.

Examples:
  renga bulk stop 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04`
}

func (c *bulkStopCmd) Run(ctx context.Context, r *remote) error {
	return executionBulks(r).stop(ctx, &c.bulkStop)
}
