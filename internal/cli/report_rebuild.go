package cli

import (
	"context"
	"strconv"

	"renga.dev/renga/client"
)

// reportRebuildCmd is `renga report rebuild`.
type reportRebuildCmd struct{}

// Help shows examples.
func (reportRebuildCmd) Help() string {
	return `It is done in the background; reports can be asked for meanwhile, and what changes is counted. It is for counts that are wrong,
which renga check consistency finds.

Examples:
  renga report rebuild
  renga report rebuilds`
}

// Run starts the rebuild.
func (c *reportRebuildCmd) Run(ctx context.Context, a *App, r *remote) error {
	id, err := r.Reports.Rebuild(ctx, "")
	if err != nil {
		return err
	}
	return r.answer(func() error {
		return a.line("Rebuild %s is under way; renga report rebuilds says how far it is.", clean(id))
	})
}

// reportRebuildsCmd is `renga report rebuilds`.
type reportRebuildsCmd struct{ paging }

// Help shows examples.
func (reportRebuildsCmd) Help() string {
	return `Examples:
  renga report rebuilds
  renga report rebuilds -o json`
}

// Run prints a page.
func (c *reportRebuildsCmd) Run(ctx context.Context, r *remote) error {
	head := []string{"ID", "STATUS", "RECORDS", "EXECUTION"}
	return tabulate(r, &c.paging, head, func(b *client.ReportRebuild) []string {
		return []string{
			b.RebuildID, b.Status, strconv.Itoa(b.RecordsProcessed) + " of " + strconv.Itoa(b.RecordsTotal),
			b.ExecutionID,
		}
	})(r.Reports.ListRebuilds(ctx, c.at()))
}
