package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"renga.dev/renga/client"
)

// searchCmd is `renga search`.
type searchCmd struct {
	Find     searchFindCmd     `cmd:"" default:"withargs" help:"Find records by their texts."`
	Rebuild  searchRebuildCmd  `cmd:"" help:"Rebuild the index."`
	Rebuilds searchRebuildsCmd `cmd:"" help:"List the rebuilds of the index and their progress."`
}

// searchFindCmd is `renga search find`.
type searchFindCmd struct {
	Text     []string  `arg:"" help:"What to look for: words, or texts in double quotes."`
	Object   []string  `placeholder:"NAME" help:"Only records of this object. May be given several times."`
	Field    string    `placeholder:"NAME" help:"Only in this field."`
	Campaign string    `placeholder:"ID" help:"Only leads and contacts in this campaign."`
	Since    time.Time `placeholder:"TIME" help:"Only what was changed since, such as 2026-01-05T09:00:00Z."`
	Limit    int       `default:"20" help:"How many hits to show (${default})."`
	Cursor   string    `placeholder:"TEXT" help:"Go on where the page before ended."`
}

// Help shows examples.
func (searchFindCmd) Help() string {
	return `All words must be found; the most relevant records come first, and among those the ones that were changed last. A word is found by its start, too.
What you may not see is not found.

Examples:
  renga search acme
  renga search 東京 --object Account --object Contact
  renga search find '"spring webinar" tanaka' --field Description
  renga search acme --since 2026-01-05T00:00:00Z -o json`
}

// Run prints the hits.
func (c *searchFindCmd) Run(ctx context.Context, a *App, r *remote) error {
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
	if err != nil {
		return err
	}
	return r.answer(func() error {
		var rows [][]string
		for i := range page.Items {
			h := &page.Items[i]
			rows = append(rows, []string{
				h.Object, h.ID, clean(h.Name), instant(h.UpdatedAt),
				found(a.screen, h.Highlights),
			})
		}
		err := a.grid([]string{"OBJECT", "ID", "NAME", "UPDATED", "FOUND"}, rows)
		if page.Next != "" {
			a.say("there may be more; the next page: --cursor %s", page.Next)
		}
		return err
	})
}

// found is where something was found, on one line.
func found(s screen, all []client.Highlight) string {
	var lines []string
	for _, h := range all {
		var b strings.Builder
		b.WriteString(clean(h.Field) + ": ")
		for _, part := range h.Parts {
			if part.Match {
				b.WriteString(s.paint(bold, clean(part.Text)))
			} else {
				b.WriteString(clean(part.Text))
			}
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "; ")
}

// searchRebuildCmd is `renga search rebuild`.
type searchRebuildCmd struct {
	Object string `arg:"" optional:"" help:"Name of the object; without it all."`
}

// Help shows examples.
func (searchRebuildCmd) Help() string {
	return `It is done in the background; records are found meanwhile. Changes of fields start one by themselves.

Examples:
  renga search rebuild
  renga search rebuild Account`
}

// Run starts the rebuild.
func (c *searchRebuildCmd) Run(ctx context.Context, a *App, r *remote) error {
	id, err := r.Search.Rebuild(ctx, c.Object, "")
	if err != nil {
		return err
	}
	return r.answer(func() error {
		return a.line("Rebuild %s is under way; renga search rebuilds says how far it is.", clean(id))
	})
}

// searchRebuildsCmd is `renga search rebuilds`.
type searchRebuildsCmd struct{ paging }

// Help shows examples.
func (searchRebuildsCmd) Help() string {
	return `Examples:
  renga search rebuilds
  renga search rebuilds -o json`
}

// Run prints a page.
func (c *searchRebuildsCmd) Run(ctx context.Context, r *remote) error {
	head := []string{"ID", "OBJECT", "CAUSE", "STATUS", "RECORDS", "EXECUTION"}
	return tabulate(r, &c.paging, head, func(b *client.SearchRebuild) []string {
		object := b.Object
		if object == "" {
			object = "all"
		}
		return []string{
			b.RebuildID, object, b.Cause, b.Status,
			strconv.Itoa(b.RecordsProcessed) + " of " + strconv.Itoa(b.RecordsTotal), b.ExecutionID,
		}
	})(r.Search.ListRebuilds(ctx, c.at()))
}
