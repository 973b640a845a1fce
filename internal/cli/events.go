package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/client"
)

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

type eventFilter struct {
	Type string `placeholder:"TYPE" help:"Only events of this type."`
	Key  string `placeholder:"KEY"`
}

type eventsTailCmd struct {
	eventFilter
	Since string `placeholder:"TIME"`
	Count int    `short:"n" placeholder:"N" help:"Stop after so many events."`
}

func (eventsTailCmd) Help() string {
	return `Prints every event on a line as it is committed, whether it was published yet or not; with -o json the
event as it is. A connection that breaks is opened again where it was. It goes on until it is interrupted, or has
printed --count events.

Examples:
  renga events tail
  renga events tail --type RecordUpdated --since 1h
  renga events tail --since 2026-01-05T09:00:00Z -n 100 -o json | jq .payload`
}

func (c *eventsTailCmd) Run(ctx context.Context, r *remote) error {
	from, err := r.time("--since", c.Since)
	if err != nil {
		return err
	}
	n := 0
	for e, err := range r.patient().Events.Follow(ctx, client.FollowQuery{EventType: c.Type, Key: c.Key, From: from}) {
		if err != nil {
			return err
		}
		err := r.printEach(e, []int{16, 24, 26, 82, 0}, []any{
			e.Position, e.OccurredAt, e.EventType, e.Sequence.PartitionKey,
			members(e.Payload, "recordVersion"),
		})
		if n++; err != nil || n == c.Count {
			return err
		}
	}
	return nil
}

type eventsOutboxCmd struct {
	eventFilter
	After int64 `placeholder:"N" help:"Only what follows this position."`
	Limit int   `default:"20" placeholder:"N" help:"Events to show, 10 to 100 (${default})."`
}

func (c *eventsOutboxCmd) Validate() error {
	if c.Limit < client.MinPageSize || c.Limit > client.MaxPageSize {
		return fmt.Errorf("--limit must be %d to %d", client.MinPageSize, client.MaxPageSize)
	}
	return nil
}

func (eventsOutboxCmd) Help() string {
	return `The first table is of the system, for all tenants: per partition how many events wait to be published and
since when, which process publishes them, and how far a stream that lost something is filled again. The second are the
tenant's own events, oldest first.

Examples:
  renga events outbox
  renga events outbox --type OwnerChanged --limit 100
  renga events outbox -o json | jq .unpublished`
}

func (c *eventsOutboxCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printOutbox)(r.Events.Outbox(ctx, client.OutboxQuery{
		EventType: c.Type, Key: c.Key, After: c.After, Size: c.Limit,
	}))
}

func printOutbox(p *printer, out *client.Outbox) {
	columns("PARTITION, UNPUBLISHED, OLDEST, HOLDER, LEASE UNTIL, REFILL", func(one *client.OutboxPartition) []any {
		refill := ""
		if f := one.Refill; f != nil {
			refill = fmt.Sprintf("%d of %d, published since %s", f.Position, f.Upto, instant(f.Since))
		}
		return []any{one.Partition, one.Unpublished, one.OldestUnpublishedAt, one.Holder, one.LeaseUntil, refill}
	}).print(p, out.Partitions)
	columns("POSITION, TYPE, KEY, ANNOUNCED, PUBLISHED, EVENT", func(e *client.OutboxItem) []any {
		published := cmp.Or(instant(e.PublishedAt), "waits")
		return []any{e.Position, e.EventType, e.PartitionKey, e.CreatedAt, published, e.EventID}
	}).section(p, out.Items)
}

type eventsConsumersCmd struct{}

func (eventsConsumersCmd) Help() string {
	return `Per consumer and partition: the process that reads, about how many events it has before it, when the last
one that it took was published, what became of events so far, and, of the tenant, the keys that wait (for another try,
or for a decision) and the dead letters.

Examples:
  renga events consumers
  renga events consumers -o json | jq '.items[] | {consumer, pending: [.partitions[].pending] | add}'`
}

func (c *eventsConsumersCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printConsumers)(r.Events.Consumers(ctx))
}

func printConsumers(p *printer, all []client.Consumer) {
	var rows [][]any
	for _, c := range all {
		for i := range c.Partitions {
			at := &c.Partitions[i]
			n := &at.Counts
			rows = append(rows, []any{
				c.Consumer, at.Partition, at.Holder, at.Pending, at.PublishedAt, n.Applied, n.Duplicate, n.Stale,
				n.Failed, at.WaitingKeys.Retrying, at.WaitingKeys.Blocked, at.WaitingSince, at.DeadLetters,
			})
		}
	}
	p.grid("CONSUMER, PARTITION, HOLDER, PENDING, LAST, APPLIED, DUPLICATE, STALE, FAILED, RETRYING, BLOCKED, "+
		"WAITING SINCE, DEAD", rows)
}

type eventsSchemasCmd struct {
	Type string `arg:"" optional:"" help:"Event type whose schema is printed."`
}

func (eventsSchemasCmd) Help() string {
	return `Examples:
  renga events schemas
  renga events schemas RecordUpdated > RecordUpdated.schema.json`
}

// Run lists the types, or prints a schema as the server has it.
func (c *eventsSchemasCmd) Run(ctx context.Context, r *remote) error {
	if c.Type != "" {
		text, err := r.Events.Schema(ctx, c.Type)
		if err != nil {
			return err
		}
		return writeJSON(r.Out, jsontext.Value(text))
	}
	return showAll(r, columns("TYPE, VERSION, SCHEMA", func(s *client.EventSchema) []any {
		return []any{s.EventType, s.SchemaVersion, s.Href}
	}))(r.Events.Schemas(ctx))
}
