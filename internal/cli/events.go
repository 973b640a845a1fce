package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/client"
)

// eventsCmd is `renga events`.
type eventsCmd struct {
	Tail       eventsTailCmd       `cmd:"" help:"Follow the tenant's events as they are published."`
	Outbox     eventsOutboxCmd     `cmd:"" help:"Show the unpublished events of the outbox, and the newest events."`
	Consumers  eventsConsumersCmd  `cmd:"" help:"Show the position of every consumer."`
	Schemas    eventsSchemasCmd    `cmd:"" help:"List the event types, or print the JSON Schema of one."`
	Replay     eventsReplayCmd     `cmd:"" help:"Replay the events of a time range to one consumer."`
	Replays    eventsReplaysCmd    `cmd:"" help:"List replays, newest first."`
	StopReplay eventsStopReplayCmd `cmd:"" name:"stop-replay" help:"Stop a replay."`
	Settings   eventsSettingsCmd   `cmd:"" help:"Show or set the publish policy of the tenant's executions."`
}

// eventFilter are the flags that choose events.
type eventFilter struct {
	Type string `placeholder:"TYPE" help:"Only events of this type."`
	Key  string `placeholder:"KEY" help:"Only events of this partition key, such as Account:TENANT:RECORD."`
}

// eventsTailCmd is `renga events tail`.
type eventsTailCmd struct {
	eventFilter
	Since string `placeholder:"TIME" help:"Begin with events announced at or after: an RFC 3339 time, a date, or how long ago (24h); without it, with what comes."`
	Count int    `short:"n" placeholder:"N" help:"Stop after so many events."`
}

// Help shows examples.
func (eventsTailCmd) Help() string {
	return `Prints every event on a line as it is committed, whether it was published yet or not; with -o json the event as it is. A connection
that breaks is opened again where it was. It goes on until it is interrupted, or has printed --count events.

Examples:
  renga events tail
  renga events tail --type RecordUpdated --since 1h
  renga events tail --since 2026-01-05T09:00:00Z -n 100 -o json | jq .payload`
}

// Run follows.
func (c *eventsTailCmd) Run(ctx context.Context, a *App) error {
	from, err := a.time("--since", c.Since)
	if err != nil {
		return err
	}
	r, err := a.connect(watchPatience)
	if err != nil {
		return err
	}
	n := 0
	for e, err := range r.Events.Follow(ctx, client.FollowQuery{EventType: c.Type, Key: c.Key, From: from}) {
		if err != nil {
			return err
		}
		if err := a.printBusinessEvent(&e); err != nil {
			return err
		}
		if n++; n == c.Count {
			return nil
		}
	}
	return nil
}

// printBusinessEvent prints an event as it comes: columns of a fixed width, or one line of JSON.
func (a *App) printBusinessEvent(e *client.BusinessEvent) error {
	if a.Output == "json" {
		return writeLine(a.Out, e)
	}
	row := []string{
		fmt.Sprint(e.Position), instant(e.OccurredAt), clean(e.EventType), clean(e.Sequence.PartitionKey),
		members(jsontext.Value(e.Payload), "recordVersion"),
	}
	for i, width := range []int{16, 24, 26, 82, 0} {
		row[i] = pad(row[i], width)
	}
	return a.line("%s", strings.TrimRight(strings.Join(row, "  "), " "))
}

// eventsOutboxCmd is `renga events outbox`.
type eventsOutboxCmd struct {
	eventFilter
	After int64 `placeholder:"N" help:"Only what follows this position."`
	Limit int   `default:"20" placeholder:"N" help:"Events to show, 10 to 100 (${default})."`
}

// Validate refuses what is no page.
func (c *eventsOutboxCmd) Validate() error {
	if c.Limit < client.MinPageSize || c.Limit > client.MaxPageSize {
		return fmt.Errorf("--limit must be %d to %d", client.MinPageSize, client.MaxPageSize)
	}
	return nil
}

// Help shows examples.
func (eventsOutboxCmd) Help() string {
	return `The first table is of the system, for all tenants: per partition how many events wait to be published and since when, which process
publishes them, and how far a stream that lost something is filled again. The second are the tenant's own events, oldest first.

Examples:
  renga events outbox
  renga events outbox --type OwnerChanged --limit 100
  renga events outbox -o json | jq .unpublished`
}

// Run shows the outbox.
func (c *eventsOutboxCmd) Run(ctx context.Context, a *App, r *remote) error {
	return show(r, a.showOutbox)(r.Events.Outbox(ctx, client.OutboxQuery{
		EventType: c.Type, Key: c.Key, After: c.After, Size: c.Limit,
	}))
}

func (a *App) showOutbox(out *client.Outbox) error {
	var rows [][]string
	for i := range out.Partitions {
		p := &out.Partitions[i]
		refill := ""
		if p.Refill != nil {
			refill = fmt.Sprintf("%d of %d, published since %s", p.Refill.Position, p.Refill.Upto,
				instant(p.Refill.Since))
		}
		rows = append(rows, []string{
			fmt.Sprint(p.Partition), fmt.Sprint(p.Unpublished), instant(p.OldestUnpublishedAt), clean(p.Holder),
			instant(p.LeaseUntil), refill,
		})
	}
	if err := a.grid([]string{"PARTITION", "UNPUBLISHED", "OLDEST", "HOLDER", "LEASE UNTIL", "REFILL"},
		rows); err != nil || len(out.Items) == 0 {
		return err
	}
	if err := a.line(""); err != nil {
		return err
	}
	rows = nil
	for i := range out.Items {
		e := &out.Items[i]
		published := instant(e.PublishedAt)
		if published == "" {
			published = "waits"
		}
		rows = append(rows, []string{
			fmt.Sprint(e.Position), clean(e.EventType), clean(e.PartitionKey),
			instant(e.CreatedAt), published, e.EventID,
		})
	}
	return a.grid([]string{"POSITION", "TYPE", "KEY", "ANNOUNCED", "PUBLISHED", "EVENT"}, rows)
}

// eventsConsumersCmd is `renga events consumers`.
type eventsConsumersCmd struct{}

// Help shows examples.
func (eventsConsumersCmd) Help() string {
	return `Per consumer and partition: the process that reads, about how many events it has before it, when the last one that it took was
published, what became of events so far, and, of the tenant, the keys that wait (for another try, or for a decision) and the dead letters.

Examples:
  renga events consumers
  renga events consumers -o json | jq '.items[] | {consumer, pending: [.partitions[].pending] | add}'`
}

// Run shows the consumers.
func (c *eventsConsumersCmd) Run(ctx context.Context, a *App, r *remote) error {
	all, err := r.Events.Consumers(ctx)
	if err != nil {
		return err
	}
	return r.answer(func() error {
		var rows [][]string
		for _, c := range all {
			for i := range c.Partitions {
				p := &c.Partitions[i]
				n := &p.Counts
				rows = append(rows, []string{
					clean(c.Consumer), fmt.Sprint(p.Partition), clean(p.Holder), fmt.Sprint(p.Pending),
					instant(p.PublishedAt),
					fmt.Sprint(n.Applied), fmt.Sprint(n.Duplicate), fmt.Sprint(n.Stale), fmt.Sprint(n.Failed),
					fmt.Sprint(p.WaitingKeys.Retrying), fmt.Sprint(p.WaitingKeys.Blocked), instant(p.WaitingSince),
					fmt.Sprint(p.DeadLetters),
				})
			}
		}
		return a.grid([]string{
			"CONSUMER", "PARTITION", "HOLDER", "PENDING", "LAST", "APPLIED", "DUPLICATE", "STALE", "FAILED", "RETRYING",
			"BLOCKED", "WAITING SINCE", "DEAD",
		}, rows)
	})
}

// eventsSchemasCmd is `renga events schemas`.
type eventsSchemasCmd struct {
	Type string `arg:"" optional:"" help:"Event type whose schema is printed."`
}

// Help shows examples.
func (eventsSchemasCmd) Help() string {
	return `Examples:
  renga events schemas
  renga events schemas RecordUpdated > RecordUpdated.schema.json`
}

// Run lists the types, or prints a schema as the server has it.
func (c *eventsSchemasCmd) Run(ctx context.Context, a *App, r *remote) error {
	if c.Type != "" {
		text, err := r.Events.Schema(ctx, c.Type)
		if err != nil {
			return err
		}
		return writeJSON(a.Out, jsontext.Value(text))
	}
	all, err := r.Events.Schemas(ctx)
	if err != nil {
		return err
	}
	return r.answer(func() error {
		var rows [][]string
		for _, s := range all {
			rows = append(rows, []string{s.EventType, fmt.Sprint(s.SchemaVersion), s.Href})
		}
		return a.grid([]string{"TYPE", "VERSION", "SCHEMA"}, rows)
	})
}
