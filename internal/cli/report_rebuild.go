package cli

import (
	"context"
	"strconv"

	"renga.dev/renga/client"
)

type reportRebuildCmd struct{}

func (reportRebuildCmd) Help() string {
	return `It is done in the background; reports can be asked for meanwhile, and what changes is counted. It is for
counts that are wrong, which renga check consistency finds.

Examples:
  renga report rebuild
  renga report rebuilds`
}

func (c *reportRebuildCmd) Run(ctx context.Context, r *remote) error {
	return show(r, rebuilding("report"))(r.Reports.Rebuild(ctx, ""))
}

// rebuilding says that a rebuild was started, and where to look.
func rebuilding(group string) func(*printer, string) {
	return func(p *printer, id string) {
		p.line("Rebuild %s is under way; renga %s rebuilds says how far it is.", id, group)
	}
}

type reportRebuildsCmd struct{ paging }

func (reportRebuildsCmd) Help() string {
	return `Examples:
  renga report rebuilds
  renga report rebuilds -o json`
}

func (c *reportRebuildsCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns(
		"ID, STATUS, RECORDS, EXECUTION", func(b *client.ReportRebuild) []any {
			return []any{b.RebuildID, b.Status, outOf(b.RecordsProcessed, b.RecordsTotal), b.ExecutionID}
		},
	))(r.Reports.ListRebuilds(ctx, c.at()))
}

// outOf is how many of all.
func outOf(n, all int) string { return strconv.Itoa(n) + " of " + strconv.Itoa(all) }
