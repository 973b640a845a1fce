package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
)

// bulks are the bulks of one kind: of executions, or of dead letters.
type bulks[B, I any] struct {
	*remote
	api      bulkAPI[B, I]
	group    string // of their commands
	many     string // what their items are
	shown    func(*B) bulk
	items    table[I]
	refusals bool // the exit code reflects refused items, too
}

type bulkAPI[B, I any] interface {
	Start(context.Context, client.BulkOrder) (client.BulkAnswer, error)
	Stop(context.Context, client.BulkOrder) (client.BulkAnswer, error)
	Get(ctx context.Context, id string) (*B, error)
	List(context.Context, client.Paging) (*client.Page[B], error)
	ListItems(ctx context.Context, id string, only client.BulkItemStatus, at client.Paging) (*client.Page[I], error)
}

// bulk is a bulk of either kind as people see it.
type bulk struct {
	id, command, filter, reason string

	status                  client.BulkStatus
	total                   int
	counts                  client.BulkCounts
	by                      client.Actor
	created, started, ended time.Time
}

// follow looks at a bulk, and shows how far it is, while it has a status.
func (k *bulks[B, I]) follow(ctx context.Context, id, what string, while client.BulkStatus) (bulk, error) {
	return poll(ctx, k.App, polling[bulk]{
		what: what, most: pollEvery,
		read: func() (bulk, error) {
			b, err := k.api.Get(ctx, id)
			if err != nil {
				return bulk{}, err
			}
			return k.shown(b), nil
		},
		far: func(b bulk) (done, total int, ended bool) { return b.counts.Settled(), b.total, b.status != while },
	})
}

// preview shows a bulk and the first of its items. onward are the flags that show the others.
func (k *bulks[B, I]) preview(ctx context.Context, b bulk, size int, onward string) error {
	page, err := k.api.ListItems(ctx, b.id, "", client.Paging{Size: size})
	if err != nil {
		return err
	}
	err = k.print(nil, func(p *printer) {
		k.printOne(p, b)
		p.section(k.items.head, k.items.rows(page.Items))
	})
	if more := b.total - len(page.Items); more > 0 {
		k.say("and %d more: renga %s items %s%s", more, k.group, b.id, onward)
	}
	return err
}

// start also waits until a bulk is done and shows the results.
func (k *bulks[B, I]) start(ctx context.Context, id, key string, noWait, quiet bool) error {
	if _, err := k.api.Start(ctx, client.BulkOrder{Key: key, BulkID: id}); err != nil {
		return err
	}
	if noWait {
		return k.answer(func(p *printer) {
			p.line("Started bulk %s. See how far it is: renga %s show %s", id, k.group, id)
		})
	}
	b, err := k.follow(ctx, id, k.many, client.BulkRunning)
	if ctx.Err() != nil {
		k.say("the server goes on; look with: renga %s show %s; stop with: renga %s stop %s", k.group, id, k.group, id)
		return ctx.Err()
	}
	switch {
	case err != nil:
	case k.Output == "json":
		err = k.answer(nil)
	case quiet:
		err = k.print(nil, func(p *printer) { p.line("%s", id) })
	default:
		err = k.results(ctx, b)
	}
	switch {
	case err != nil:
		return err
	case b.counts.Failed > 0:
		return ended(exitFailure)
	case b.counts.Refused > 0 && k.refusals:
		return ended(exitRefused)
	}
	return nil
}

// results shows how a bulk ended and its items: all when they are few, else those that were not simply done.
func (k *bulks[B, I]) results(ctx context.Context, b bulk) error {
	var wanted []client.BulkItemStatus
	switch {
	case b.total > client.MaxPageSize:
		wanted = []client.BulkItemStatus{client.ItemFailed, client.ItemRefused}
	case b.total > 0:
		wanted = []client.BulkItemStatus{""}
	}
	var items []I
	for _, status := range wanted {
		page, err := k.api.ListItems(ctx, b.id, status, client.Paging{Size: client.MaxPageSize})
		if err != nil {
			return err
		}
		items = append(items, page.Items...)
	}
	err := k.print(nil, func(p *printer) {
		k.printOne(p, b)
		p.section(k.items.head, k.items.rows(items))
	})
	if len(items) < b.total {
		k.say("all results: renga %s items %s", k.group, b.id)
	}
	return err
}

func (k *bulks[B, I]) list(ctx context.Context, at *paging) error {
	const head = "BULK, COMMAND, STATUS, SETTLED, REFUSED, FAILED, CREATED, FILTER"
	return tabulate(k.remote, at, columns(head, func(one *B) []any {
		b := k.shown(one)
		return []any{
			b.id, b.command, status(b.status), fmt.Sprintf("%d of %d", b.counts.Settled(), b.total),
			b.counts.Refused, b.counts.Failed, b.created, b.filter,
		}
	}))(k.api.List(ctx, at.at()))
}

func (k *bulks[B, I]) listItems(ctx context.Context, c *bulkItems) error {
	var only client.BulkItemStatus
	if c.Status != nil {
		only = *c.Status
	}
	return tabulate(k.remote, &c.paging, k.items)(k.api.ListItems(ctx, c.ID, only, c.at()))
}

func (k *bulks[B, I]) stop(ctx context.Context, c *bulkStop) error {
	order := client.BulkOrder{Key: c.IdempotencyKey, BulkID: c.ID}
	if _, err := k.api.Stop(c.context(ctx), order); err != nil {
		return err
	}
	return k.show(ctx, c.ID)
}

func (k *bulks[B, I]) show(ctx context.Context, id string) error {
	return show(k.remote, func(p *printer, b *B) { k.printOne(p, k.shown(b)) })(k.api.Get(ctx, id))
}

func (k *bulks[B, I]) printOne(p *printer, b bulk) {
	c := &b.counts
	p.pairs(
		"bulk", b.id, "command", b.command, "filter", b.filter, "reason", b.reason, "status", status(b.status),
		"created", instant(b.created)+" by "+actor(b.by), "started", b.started, "ended", b.ended,
		k.many, fmt.Sprintf("%d: %d pending, %d applied, %d already, %d refused, %d failed",
			b.total, c.Pending, c.Applied, c.Already, c.Refused, c.Failed),
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
