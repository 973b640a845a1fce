package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
)

// bulkCmd is `renga bulk`.
type bulkCmd struct {
	Cancel bulkCancelCmd `cmd:"" help:"Cancel all executions that match a filter, after a preview."`
	List   bulkListCmd   `cmd:"" help:"List bulks, newest first."`
	Show   bulkShowCmd   `cmd:"" help:"Show a bulk and its progress."`
	Items  bulkItemsCmd  `cmd:"" help:"List the executions of a bulk, with a result for each."`
	Start  bulkStartCmd  `cmd:"" help:"Start a bulk, or continue one that was stopped."`
	Stop   bulkStopCmd   `cmd:"" help:"Stop a bulk; the rest stays as it is until you start it again."`
}

// bulkCancelCmd is `renga bulk cancel`.
type bulkCancelCmd struct {
	filter
	Reason string `placeholder:"TEXT" help:"Why; it stands in the log of each of them."`
	All    bool   `help:"Cancel every execution of the tenant: --yes needs it where nothing else chooses."`
	Yes    bool   `short:"y" help:"Do not ask, start at once."`
	NoWait bool   `help:"Do not wait until it is done."`
	Quiet  bool   `short:"q" help:"Print the id of the bulk alone, and do not ask."`
	sending
}

// Help says how it goes.
func (bulkCancelCmd) Help() string {
	return `Freezes the set of executions that match and have not ended, shows it, asks, cancels each of them and prints a result for
each. What is created afterwards is never in the set. The server does the work: it goes on when this program is interrupted and after
a restart. Without --yes and without a terminal to ask on, it stops after the preview. The exit code is 1 when an item failed.

  APPLIED  this bulk cancelled it          REFUSED  it ended otherwise before its turn came
  ALREADY  it was cancelled before         FAILED   it could not be decided

Examples:
  renga bulk cancel --graph order --created-from 24h --reason "the shop is closed"
  renga bulk cancel --graph order --created-to 2026-01-05 --yes
  renga bulk items 0199c1a2-e0a0-7d21-9c33-4b5a6c7d8e04 --status REFUSED`
}

// Run freezes, shows, asks, cancels.
func (c *bulkCancelCmd) Run(ctx context.Context, a *App) error {
	selected, err := c.selection(a)
	if err != nil {
		return err
	}
	chooses := c.Graph != "" || c.CreatedFrom != "" || c.CreatedTo != ""
	switch {
	case c.Yes && !c.All && !chooses:
		return usage("this cancels every execution of the tenant that has not ended: choose with --graph, " +
			"--created-from or --created-to, or say --all")
	case c.All && chooses:
		return usage("--all does not go with --graph, --created-from and --created-to")
	}
	r, err := a.connect(watchPatience)
	if err != nil {
		return err
	}
	ctx = c.context(ctx)
	made, err := r.Bulks.Create(ctx, client.CancelBulk{Key: c.IdempotencyKey, Filter: selected, Reason: c.Reason})
	if err != nil {
		return err
	}
	b, err := r.follow(ctx, made.BulkID, "freezing", client.BulkFreezing)
	if err != nil {
		return err
	}
	raw := r.heard.last()
	start, err := c.wanted(ctx, r, b)
	switch {
	case err != nil:
		return err
	case start:
		return r.startBulk(ctx, b.BulkID, "", c.NoWait, c.Quiet)
	case a.Output == "json":
		return writeJSON(a.Out, raw)
	case c.Quiet:
		return a.line("%s", b.BulkID)
	}
	a.say("nothing was cancelled; to cancel them: renga bulk start %s", b.BulkID)
	return nil
}

// bulkPoll is how often a bulk is looked at while it is under way.
const bulkPoll = 200 * time.Millisecond

// follow looks at a bulk, and shows how far it is, while it has a status.
func (r *remote) follow(ctx context.Context, id, what string, while client.BulkStatus) (*client.Bulk, error) {
	var bar *Bar
	defer func() {
		if bar != nil {
			bar.End()
		}
	}()
	for {
		b, err := r.Bulks.Get(ctx, id)
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

// preview is how many executions are shown before anything happens.
const preview = 10

// wanted shows what would be cancelled and asks whether it shall be.
func (c *bulkCancelCmd) wanted(ctx context.Context, r *remote, b *client.Bulk) (bool, error) {
	a := r.app
	if b.Status == client.BulkTooLarge {
		return false, usage("the filter selects more executions than one bulk may have; make it narrower")
	}
	switch {
	case b.Total == 0 || c.Yes: // one without items is over at once
		return true, nil
	case a.Output == "json" || c.Quiet:
		return false, nil
	}
	if err := a.showBulk(b); err != nil {
		return false, err
	}
	page, err := r.Bulks.ListItems(ctx, b.BulkID, "", client.Paging{Size: preview})
	if err != nil {
		return false, err
	}
	if err := a.line(""); err != nil {
		return false, err
	}
	if err := a.showItems(page.Items); err != nil {
		return false, err
	}
	if more := b.Total - len(page.Items); more > 0 {
		a.say("and %d more: renga bulk items %s", more, b.BulkID)
	}
	return a.asks && a.ask(fmt.Sprintf("Cancel %s?", count(b.Total, "execution", "executions"))), nil
}

// ask asks on standard error; only a plain yes counts.
func (a *App) ask(question string) bool {
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// startBulk starts a bulk, waits until it is done and shows the results.
func (r *remote) startBulk(ctx context.Context, id, key string, noWait, quiet bool) error {
	a := r.app
	if _, err := r.Bulks.Start(ctx, client.BulkOrder{Key: key, BulkID: id}); err != nil {
		return err
	}
	if noWait {
		return r.answer(func() error {
			return a.line("Started bulk %s. See how far it is: renga bulk show %s", id,
				id)
		})
	}
	b, err := r.follow(ctx, id, "executions", client.BulkRunning)
	if ctx.Err() != nil {
		a.say("the server goes on; look with: renga bulk show %s; stop with: renga bulk stop %s", id, id)
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	switch {
	case a.Output == "json":
		err = writeJSON(a.Out, r.heard.last())
	case quiet:
		err = a.line("%s", id)
	default:
		err = r.showResults(ctx, b)
	}
	if err != nil {
		return err
	}
	if b.Counts.Failed > 0 {
		return ended(exitFailure)
	}
	return nil
}

// showResults shows how a bulk ended and its items: all when they are few, else
// those that were not simply done.
func (r *remote) showResults(ctx context.Context, b *client.Bulk) error {
	a := r.app
	if err := a.showBulk(b); err != nil || b.Total == 0 {
		return err
	}
	wanted := []client.BulkItemStatus{""}
	if b.Total > client.MaxPageSize {
		wanted = []client.BulkItemStatus{client.ItemFailed, client.ItemRefused}
	}
	var items []client.BulkItem
	for _, status := range wanted {
		page, err := r.Bulks.ListItems(ctx, b.BulkID, status, client.Paging{Size: client.MaxPageSize})
		if err != nil {
			return err
		}
		items = append(items, page.Items...)
	}
	if len(items) > 0 {
		if err := a.line(""); err != nil {
			return err
		}
		if err := a.showItems(items); err != nil {
			return err
		}
	}
	if len(items) < b.Total {
		a.say("all results: renga bulk items %s", b.BulkID)
	}
	return nil
}

func (a *App) showBulk(b *client.Bulk) error {
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
		[2]string{"executions", fmt.Sprintf("%d: %d pending, %d applied, %d already, %d refused, %d failed",
			b.Total, c.Pending, c.Applied, c.Already, c.Refused, c.Failed)},
	)
}

// inLine is a struct of the client on one line.
func inLine(v any) string {
	raw, err := json.Marshal(v, asServer)
	if err != nil || string(raw) == "null" {
		return ""
	}
	return members(raw)
}

func (a *App) showItems(items []client.BulkItem) error {
	var rows [][]string
	for _, item := range items {
		rows = append(rows, []string{item.ExecutionID, a.screen.status(string(item.Status)), inLine(item.Result)})
	}
	return a.grid([]string{"EXECUTION", "RESULT", "WHAT"}, rows)
}
