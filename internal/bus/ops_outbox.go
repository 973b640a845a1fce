package bus

import (
	"context"
	"slices"
	"strconv"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// OutboxState is how far the relay of the outbox is, for all tenants.
type OutboxState struct {
	Unpublished int
	OldestAt    wire.Stamp // of what is unpublished
	Parts       []RelayState
}

// RelayState is how far the relay of one partition is.
type RelayState struct {
	Part        int
	Holder      string // the process that publishes; "": none does
	LeaseUntil  wire.Stamp
	Unpublished int
	OldestAt    wire.Stamp
	// Of a stream that lost something, and is filled again from the outbox:
	Replaying             bool
	ReplayPos, ReplayUpto int64      // ids of the outbox
	ReplaySince           wire.Stamp // what was published from then on is published again
}

// Outbox tells how far the relay is.
func (b *Bus) Outbox(ctx context.Context) (out OutboxState, err error) {
	err = b.read(ctx, "bus.outbox", func(ctx context.Context, tx *sqldb.Tx) error {
		out = OutboxState{Parts: make([]RelayState, wire.Partitions)}
		for i := range out.Parts {
			out.Parts[i].Part = i
		}
		now, err := b.now(ctx, tx)
		if err != nil {
			return err
		}
		return tx.Batch(ctx, out.questions(now, b.cfg.Exclusive)...)
	})
	for i := range out.Parts {
		p := &out.Parts[i]
		out.Unpublished += p.Unpublished
		if p.OldestAt > 0 && (out.OldestAt == 0 || p.OldestAt < out.OldestAt) {
			out.OldestAt = p.OldestAt
		}
	}
	return out, err
}

func (s *OutboxState) questions(now wire.Stamp, forever bool) []sqldb.Stmt {
	part := func(n int) *RelayState {
		if n < 0 || n >= len(s.Parts) {
			return &RelayState{}
		}
		return &s.Parts[n]
	}
	stmts := []sqldb.Stmt{
		{
			Query: "SELECT part, holder, until FROM bus_lease WHERE name = $1", Args: []any{relayOutbox},
			Row: func(row *sqldb.Row) error {
				var r RelayState
				err := row.Scan(&r.Part, &r.Holder, &r.LeaseUntil)
				p := part(r.Part)
				p.Holder, p.LeaseUntil = held(r.Holder, r.LeaseUntil, now, forever)
				return err
			},
		},
		{
			Query: "SELECT part, replay_pos, replay_to, replay_since FROM bus_relay WHERE source = $1 AND replay_pos < replay_to", Args: []any{relayOutbox},
			Row: func(row *sqldb.Row) error {
				var r RelayState
				err := row.Scan(&r.Part, &r.ReplayPos, &r.ReplayUpto, &r.ReplaySince)
				p := part(r.Part)
				p.Replaying, p.ReplayPos, p.ReplayUpto, p.ReplaySince = true, r.ReplayPos, r.ReplayUpto, r.ReplaySince
				return err
			},
		},
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		stmts = append(stmts, sqldb.Stmt{
			Query: "SELECT count(*) FROM outbox_events WHERE part = $1 AND published_at IS NULL", Args: []any{i},
			Row: func(row *sqldb.Row) error { return row.Scan(&p.Unpublished) },
		}, sqldb.Stmt{
			Query: "SELECT created_at FROM outbox_events WHERE part = $1 AND published_at IS NULL ORDER BY id LIMIT 1", Args: []any{i},
			Row: func(row *sqldb.Row) error { return row.Scan(&p.OldestAt) },
		})
	}
	return stmts
}

// EventFilter selects events of a tenant in the outbox.
type EventFilter struct {
	Tenant    string
	EventType string // "": all
	Key       string // "": all
}

// OutboxRow is an event in the outbox, without its payload.
type OutboxRow struct {
	ID          int64 // its place
	EventID     string
	EventType   string
	Key         string
	Part        int
	OccurredAt  wire.Stamp
	CreatedAt   wire.Stamp
	PublishedAt wire.Stamp // 0: not yet
}

// MaxLookBack is how many events of all tenants a list of the outbox looks at.
const MaxLookBack = 100_000

// lookBack is how many of them are looked at in one statement.
const lookBack = 10_000

// Recent gives the newest events that a filter selects, oldest first, of the newest
// MaxLookBack events of the outbox. With a place it gives the first ones behind that.
func (b *Bus) Recent(ctx context.Context, f EventFilter, after int64, limit int) (rows []OutboxRow, err error) {
	err = b.read(ctx, "bus.recent", func(ctx context.Context, tx *sqldb.Tx) error {
		rows = nil
		var first, last int64
		err := tx.Row(ctx, "SELECT COALESCE(min(id), 1), COALESCE(max(id), 0) FROM outbox_events").Scan(&first, &last)
		if err != nil {
			return err
		}
		if after > 0 {
			first = max(first, after+1)
		} else {
			first = max(first, last-MaxLookBack+1)
		}
		for len(rows) < limit && first <= last {
			low, high, order := max(first, last-lookBack+1), last, "DESC"
			if after > 0 {
				low, high, order = first, min(last, first+lookBack-1), "ASC"
			}
			if rows, err = f.between(ctx, tx, rows, [2]int64{low, high}, order, limit); err != nil {
				return err
			}
			if after > 0 {
				first = high + 1
			} else {
				last = low - 1
			}
		}
		if after == 0 {
			slices.Reverse(rows)
		}
		return nil
	})
	return rows, err
}

// between adds rows of a range of ids, up to a limit.
func (f *EventFilter) between(
	ctx context.Context, tx *sqldb.Tx, rows []OutboxRow, ids [2]int64, order string, limit int,
) ([]OutboxRow, error) {
	query := "SELECT id, event_id, event_type, partition_key, part, occurred_at, created_at, published_at FROM outbox_events WHERE id BETWEEN $1 AND $2 AND tenant_id = $3"
	args := []any{ids[0], ids[1], f.Tenant}
	for _, word := range []struct{ column, value string }{{"event_type", f.EventType}, {"partition_key", f.Key}} {
		if word.value != "" {
			args = append(args, word.value)
			query += " AND " + word.column + " = $" + strconv.Itoa(len(args))
		}
	}
	args = append(args, limit-len(rows))
	for row, err := range tx.Query(ctx, query+" ORDER BY id "+order+" LIMIT $"+strconv.Itoa(len(args)), args...) {
		if err != nil {
			return nil, err
		}
		var r OutboxRow
		if err := row.Scan(&r.ID, &r.EventID, &r.EventType, &r.Key, &r.Part, &r.OccurredAt, &r.CreatedAt, &r.PublishedAt); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// skew is how much later than its place tells an event of the outbox can have been
// written: numbers are taken while a transaction runs.
const skew wire.Stamp = 60_000

// placeAt is a place in the outbox before which nothing is as young as an instant.
func placeAt(ctx context.Context, tx *sqldb.Tx, at wire.Stamp) (int64, error) {
	var low, high int64 // nothing up to low is as young; what is behind high may be
	err := tx.Row(ctx, "SELECT COALESCE(min(id), 1) - 1, COALESCE(max(id), 0) FROM outbox_events").Scan(&low, &high)
	for err == nil && low < high {
		mid := low + (high-low)/2 + 1
		var id int64
		var created wire.Stamp
		err = tx.Row(ctx, "SELECT id, created_at FROM outbox_events WHERE id <= $1 ORDER BY id DESC LIMIT 1", mid).Scan(&id, &created)
		if created < at-skew {
			low = mid
		} else {
			high = min(mid, id) - 1
		}
	}
	return low, err
}
