package bus

import (
	"context"
	"math"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

type backfillRange struct {
	after  int64              // id
	tenant string             // "": all
	made   [2]canonical.Stamp // created: inclusive, exclusive
	sent   [2]canonical.Stamp // published: inclusive, exclusive
}

var always = [2]canonical.Stamp{0, math.MaxInt64}

type backfillPage struct {
	items []item
	upto  int64 // id up to which it was read
	more  bool  // maybe
}

func (c *Consumer) wants(typ string) bool { return len(c.Types) == 0 || slices.Contains(c.Types, typ) }

// outboxPage reads published events in order.
func (rp *replayer) outboxPage(ctx context.Context, of backfillRange) (found backfillPage, err error) {
	err = rp.bus.read(ctx, "bus.refill", func(ctx context.Context, tx *sqldb.Tx) error {
		found = backfillPage{upto: of.after + replaySpan}
		full, err := rp.readRows(ctx, tx, of, &found)
		if found.more = full; full || err != nil {
			return err
		}
		var next int64
		var made canonical.Stamp
		err = tx.Row(ctx, "SELECT id, created_at FROM outbox_events WHERE id > $1 ORDER BY id LIMIT 1",
			found.upto).Scan(&next, &made)
		if found.more = err == nil && made-skew < of.made[1]; found.more {
			found.upto = next - 1
		}
		return ignoreNoRow(err)
	})
	return found, err
}

// readRows reads a page; full: it reached its limit of rows or bytes.
func (rp *replayer) readRows(
	ctx context.Context, tx *sqldb.Tx, of backfillRange, found *backfillPage,
) (full bool, err error) {
	q := queriesOf(tx)
	args := q.page(of.after, found.upto, rp.lease.part, of.sent[0], of.sent[1], of.made[0], of.made[1], of.tenant,
		batchMost)
	var at canonical.Stamp
	rows := outboxRows{query: q.backfill, args: args, part: rp.lease.part, limit: batchMost, more: []any{&at}}
	last, full, err := rows.read(ctx, tx, func(id int64, m Message) {
		if rp.consumer.wants(m.Type) {
			m.Relay = Relay{Epoch: math.MaxInt64, At: at, Source: id}
			found.items = append(found.items, examine(m))
		}
	})
	if full {
		found.upto = last
	}
	return full, err
}

// catchUp consumes from the source what the stream dropped before this reader saw it, and moves the position to the
// stream's oldest message.
func (rp *replayer) catchUp(ctx context.Context, first uint64) error {
	rp.bus.log.Warn("a reader was away for longer than its stream keeps messages; it reads the source",
		"consumer", rp.consumer.Name, "partition", rp.lease.part)
	page := rp.outboxPage
	of := backfillRange{made: always, sent: [2]canonical.Stamp{rp.progress.pos.relayed, math.MaxInt64}}
	if rp.consumer.Stream == events.Executions {
		page, of.after = rp.logPage, rp.progress.pos.source
	}
	for more := true; more; {
		found, err := page(ctx, of)
		if err != nil {
			return err
		}
		if len(found.items) > 0 {
			err := rp.applier.consume(ctx, found.items, func([]item) position { return rp.progress.pos })
			if err != nil {
				return err
			}
		}
		of.after, more = found.upto, found.more
	}
	rp.progress.pos.seq = first - 1 // committed with the next events
	return nil
}

// logPage is outboxPage for the engine's log.
func (rp *replayer) logPage(ctx context.Context, of backfillRange) (found backfillPage, err error) {
	if rp.bus.cfg.Log == nil {
		return found, nil
	}
	msgs, upto, err := rp.bus.cfg.Log.After(ctx, of.after, batchMost)
	if err != nil {
		return found, err
	}
	for _, m := range msgs {
		if m.Part == rp.lease.part && rp.consumer.wants(m.Type) {
			m.Relay.Epoch = math.MaxInt64
			found.items = append(found.items, examine(m))
		}
	}
	found.upto, found.more = upto, upto != of.after
	return found, nil
}
