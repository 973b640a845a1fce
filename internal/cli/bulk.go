package cli

import (
	"context"
	"strings"

	"renga.dev/renga/client"
)

type bulkCmd struct {
	Cancel  bulkCancelCmd  `cmd:"" help:"Cancel all executions that match a filter, after a preview."`
	Archive bulkArchiveCmd `cmd:"" help:"Archive all executions that have ended and match a filter, after a preview."`
	List    bulkListCmd    `cmd:"" help:"List bulks, newest first."`
	Show    bulkShowCmd    `cmd:"" help:"Show a bulk and its progress."`
	Items   bulkItemsCmd   `cmd:"" help:"List the executions of a bulk, with a result for each."`
	Start   bulkStartCmd   `cmd:"" help:"Start a bulk, or continue one that was stopped."`
	Stop    bulkStopCmd    `cmd:"" help:"Stop a bulk; the rest stays as it is until you start it again."`
}

// executionBulks are the bulks about executions.
func executionBulks(r *remote) *bulks[client.Bulk, client.BulkItem] {
	return &bulks[client.Bulk, client.BulkItem]{
		remote: r, api: r.Bulks, group: "bulk", many: "executions",
		shown: func(b *client.Bulk) bulk {
			return bulk{
				b.BulkID, b.Command, selects(b), b.Reason, b.Status, b.Total, b.Counts,
				b.CreatedBy, b.CreatedAt, b.StartedAt, b.EndedAt,
			}
		},
		items: columns("EXECUTION, RESULT, WHAT", func(i *client.BulkItem) []any {
			return []any{i.ExecutionID, status(i.Status), inLine(i.Result)}
		}),
	}
}

// selects says which executions a bulk is about.
func selects(b *client.Bulk) string {
	if b.Named {
		return "by id"
	}
	return inLine(b.Filter)
}

type bulkCancelCmd struct {
	filter
	bulkCreate
}

// bulkCreate is what all commands that make a bulk of executions have.
type bulkCreate struct {
	OfCorrelationID string   `placeholder:"ID" help:"Only executions that were created with this correlation id."`
	IDs             []string `arg:"" optional:"" name:"id" help:"Ids of up to 500 executions, in place of a filter."`

	Reason string `placeholder:"TEXT" help:"Why; it stands in the log of each of them."`
	All    bool   `help:"Every execution of the tenant: --yes needs it where nothing else chooses."`
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
	if err := c.check("cancels", "that has not ended", c.chooses()); err != nil {
		return err
	}
	return c.run(ctx, r, "Cancel", func(ctx context.Context, many client.Bulks) (client.BulkAnswer, error) {
		selected.CorrelationID = c.OfCorrelationID
		return many.Create(ctx, client.CancelBulk{
			Key: c.IdempotencyKey, Filter: selected, IDs: c.IDs, Reason: c.Reason,
		})
	})
}

type bulkArchiveCmd struct {
	filter
	Outcome   string `placeholder:"NAME" help:"Ended at a Success with this outcome."`
	ErrorCode string `placeholder:"CODE" help:"Failed with this code."`
	EndedFrom string `placeholder:"TIME" help:"Ended at or after."`
	EndedTo   string `placeholder:"TIME" help:"Ended before."`
	bulkCreate
}

func (bulkArchiveCmd) Help() string {
	return `Freezes the set of executions that match, have ended and were not archived, shows it, asks, archives each of
them and prints a result for each, as renga bulk cancel does.

Examples:
  renga bulk archive --ended-to 720h --reason "older than a month"
  renga bulk archive --graph order --status COMPLETED --yes
  renga bulk archive 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 01a1e1d8-5dbe-7903-b04c-6ebbf6615a28`
}

func (c *bulkArchiveCmd) Run(ctx context.Context, r *remote) error {
	selected, err := c.selection(r.App)
	if err != nil {
		return err
	}
	if selected.EndedFrom, selected.EndedTo, err = r.times(
		"--ended-from", c.EndedFrom, "--ended-to", c.EndedTo); err != nil {
		return err
	}
	selected.Outcome, selected.ErrorCode = c.Outcome, c.ErrorCode
	chooses := c.chooses() || c.Outcome != "" || c.ErrorCode != "" || c.EndedFrom != "" || c.EndedTo != "" ||
		len(c.Status) > 0
	if err := c.check("archives", "that has ended", chooses); err != nil {
		return err
	}
	return c.run(ctx, r, "Archive", func(ctx context.Context, many client.Bulks) (client.BulkAnswer, error) {
		selected.CorrelationID = c.OfCorrelationID
		return many.CreateArchive(ctx, client.ArchiveBulk{
			Key: c.IdempotencyKey, Filter: selected, IDs: c.IDs, Reason: c.Reason,
		})
	})
}

// check refuses to do something to everything by mistake.
func (c *bulkCreate) check(does, which string, chooses bool) error {
	chooses = chooses || c.OfCorrelationID != ""
	switch {
	case chooses && len(c.IDs) > 0:
		return usage("ids do not go with a filter, such as --graph")
	case c.Yes && !c.All && !chooses && len(c.IDs) == 0:
		return usage("this %s every execution of the tenant %s: choose with --graph, --label or another filter, or "+
			"say --all", does, which)
	case c.All && (chooses || len(c.IDs) > 0):
		return usage("--all does not go with a filter, such as --graph")
	}
	return nil
}

// run freezes a bulk, shows it, asks, and does it.
func (c *bulkCreate) run(
	ctx context.Context, r *remote, verb string, create func(context.Context, client.Bulks) (client.BulkAnswer, error),
) error {
	ctx, many := c.context(ctx), executionBulks(r.patient())
	made, err := create(ctx, many.Bulks)
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
	if r.asks && r.ask(verb+" "+count(b.total, "execution", "executions")+"?") {
		return many.start(ctx, b.id, "", c.NoWait, false)
	}
	r.say("nothing was done; to %s them: renga bulk start %s", strings.ToLower(verb), b.id)
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
	return `Executions whose turn it is at this moment are finished and counted; the others stay pending.

Examples:
  renga bulk stop 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04`
}

func (c *bulkStopCmd) Run(ctx context.Context, r *remote) error {
	return executionBulks(r).stop(ctx, &c.bulkStop)
}
