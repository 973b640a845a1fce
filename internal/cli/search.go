package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"renga.dev/renga/client"
)

type searchCmd struct {
	Find     searchFindCmd     `cmd:"" default:"withargs" help:"Find records by their texts."`
	Rebuild  searchRebuildCmd  `cmd:"" help:"Rebuild the index."`
	Rebuilds searchRebuildsCmd `cmd:"" help:"List the rebuilds of the index and their progress."`
}

type searchFindCmd struct {
	Text     []string  `arg:"" help:"What to look for: words, or texts in double quotes."`
	Object   []string  `placeholder:"NAME" help:"Only records of this object. ${repeat}"`
	Field    string    `placeholder:"NAME" help:"Only in this field."`
	Campaign string    `placeholder:"ID" help:"Only leads and contacts in this campaign."`
	Since    time.Time `placeholder:"TIME" help:"Only what was changed since, such as 2026-01-05T09:00:00Z."`
	Limit    int       `default:"20" help:"How many hits to show (${default})."`
	Cursor   string    `placeholder:"TEXT" help:"Go on where the page before ended."`
}

func (searchFindCmd) Help() string {
	return `All words must be found; the most relevant records come first, and among those the ones that were changed
last. A word is found by its start, too. What you may not see is not found.

Examples:
  renga search acme
  renga search 東京 --object Account --object Contact
  renga search find '"spring webinar" tanaka' --field Description
  renga search acme --since 2026-01-05T00:00:00Z -o json`
}

func (c *searchFindCmd) Run(ctx context.Context, r *remote) error {
	if c.Limit < 1 || c.Limit > 100 {
		return usage("--limit must be 1 to 100, not %d", c.Limit)
	}
	q := client.SearchQuery{
		Text: strings.Join(c.Text, " "), Objects: c.Object, Field: c.Field, Campaign: c.Campaign, Since: c.Since,
		Limit: c.Limit, Cursor: c.Cursor,
	}
	page, err := r.Search.Find(ctx, q)
	for err == nil && len(page.Items) == 0 && page.Next != "" { // the server looked at much that is not to be seen
		q.Cursor = page.Next
		page, err = r.Search.Find(ctx, q)
	}
	return show(r, func(p *printer, page *client.HitPage) {
		columns("OBJECT, ID, NAME, UPDATED, FOUND", func(h *client.Hit) []any {
			return []any{h.Object, h.ID, h.Name, h.UpdatedAt, found(p.screen, h.Highlights)}
		}).print(p, page.Items)
		if page.Next != "" {
			r.say("there may be more; the next page: --cursor %s", page.Next)
		}
	})(page, err)
}

// found is where something was found, on one line.
func found(on screen, all []client.Highlight) painted {
	var lines []string
	for _, h := range all {
		line := clean(h.Field) + ": "
		for _, part := range h.Parts {
			text := clean(part.Text)
			if part.Match {
				text = on.paint(bold, text)
			}
			line += text
		}
		lines = append(lines, line)
	}
	return painted(strings.Join(lines, "; "))
}

type searchRebuildCmd struct {
	Object string `arg:"" optional:"" help:"Name of the object; without it all."`
}

func (searchRebuildCmd) Help() string {
	return `It is done in the background; records are found meanwhile. Changes of fields start one by themselves.

Examples:
  renga search rebuild
  renga search rebuild Account`
}

func (c *searchRebuildCmd) Run(ctx context.Context, r *remote) error {
	return show(r, rebuilding("search"))(r.Search.Rebuild(ctx, c.Object, ""))
}

type searchRebuildsCmd struct{ paging }

func (searchRebuildsCmd) Help() string {
	return `Examples:
  renga search rebuilds
  renga search rebuilds -o json`
}

func (c *searchRebuildsCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns(
		"ID, OBJECT, CAUSE, STATUS, RECORDS, EXECUTION", func(b *client.SearchRebuild) []any {
			return []any{
				b.RebuildID, cmp.Or(b.Object, "all"), b.Cause, b.Status, outOf(b.RecordsProcessed, b.RecordsTotal),
				b.ExecutionID,
			}
		},
	))(r.Search.ListRebuilds(ctx, c.at()))
}
