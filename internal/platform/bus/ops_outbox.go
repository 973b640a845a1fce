package bus

import (
	"context"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

type EventFilter struct {
	Tenant    string
	EventType string // "": all
	Key       string // "": all
}

type OutboxRow struct {
	ID          int64           `json:"position"`
	EventID     string          `json:"eventId"`
	EventType   string          `json:"eventType"`
	Key         string          `json:"partitionKey"`
	Part        int             `json:"partition"`
	OccurredAt  canonical.Stamp `json:"occurredAt"`
	CreatedAt   canonical.Stamp `json:"createdAt"`
	PublishedAt canonical.Stamp `json:"publishedAt,omitzero"` // 0: not yet
}

// MaxLookBack is how many events of all tenants a list searches.
const MaxLookBack = 100_000

// lookBack is how many one statement searches.
const lookBack = 10_000

// selectEnds are the first and last ids of the outbox, in two subqueries: SQLite looks up each end in the index, but
// scans for both at once.
const selectEnds = `SELECT COALESCE((SELECT min(id) FROM outbox_events), 1),
	COALESCE((SELECT max(id) FROM outbox_events), 0)`

// Recent returns the newest selected events, oldest first, of the last MaxLookBack; after a position, the first ones
// following it.
func (b *Bus) Recent(ctx context.Context, f EventFilter, after int64, limit int) (rows []OutboxRow, err error) {
	err = b.read(ctx, "bus.recent", func(ctx context.Context, tx *sqldb.Tx) error {
		rows = nil
		var first, last int64
		err := tx.Row(ctx, selectEnds).Scan(&first, &last)
		if err != nil {
			return err
		}
		if after > 0 {
			if err := checkPosition(ctx, tx, after); err != nil {
				return err
			}
			first = max(first, after+1)
		} else {
			first = max(first, last-MaxLookBack+1)
		}
		for len(rows) < limit && first <= last {
			low, high, order := max(first, last-lookBack+1), last, "DESC"
			if after > 0 {
				low, high, order = first, min(last, first+lookBack-1), "ASC"
			}
			some, err := f.between(ctx, tx, [2]int64{low, high}, order, limit-len(rows))
			if err != nil {
				return err
			}
			rows = append(rows, some...)
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

// checkPosition refuses a position that the outbox never had. It may be deleted.
func checkPosition(ctx context.Context, tx *sqldb.Tx, place int64) error {
	var last int64
	if err := tx.Row(ctx, queriesOf(tx).lastPosition).Scan(&last); err != nil || place <= last {
		return err
	}
	return fault.New(fault.Invalid, canonical.CodeInvalid,
		"the position to go on from is none of this tenant's events: leave it out, or begin with from")
}

func (f *EventFilter) between(
	ctx context.Context, tx *sqldb.Tx, ids [2]int64, order string, limit int,
) ([]OutboxRow, error) {
	var b sqldb.Binds
	query := `SELECT id, event_id, event_type, partition_key, part, occurred_at, created_at, published_at
		FROM outbox_events WHERE id BETWEEN ` + b.Add(ids[0]) + " AND " + b.Add(ids[1]) +
		" AND tenant_id = " + b.Add(f.Tenant) +
		andEqual(&b, "event_type", f.EventType) + andEqual(&b, "partition_key", f.Key) +
		" ORDER BY id " + order + " LIMIT " + b.Add(limit)
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (r OutboxRow, err error) {
		err = row.Scan(&r.ID, &r.EventID, &r.EventType, &r.Key, &r.Part, &r.OccurredAt, &r.CreatedAt, &r.PublishedAt)
		return r, err
	}, query, b.Args()...)
}

// skew is how much older its id can make a row look: ids are assigned during a transaction.
const skew canonical.Stamp = 60_000

// positionAt is a position before which nothing is as young as an instant.
func positionAt(ctx context.Context, tx *sqldb.Tx, at canonical.Stamp) (int64, error) {
	var low, high int64 // up to low nothing is as young; after high something may be
	err := tx.Row(ctx, selectEnds).Scan(&low, &high)
	low--
	for err == nil && low < high {
		mid := low + (high-low)/2 + 1
		var id int64
		var created canonical.Stamp
		err = tx.Row(ctx, "SELECT id, created_at FROM outbox_events WHERE id <= $1 ORDER BY id DESC LIMIT 1", mid).
			Scan(&id, &created)
		if created < at-skew {
			low = mid
		} else {
			high = min(mid, id) - 1
		}
	}
	return low, err
}
