package bus

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

var queriesPostgres = queries{
	shared: true, limit: true, dayTables: true,
	unpublished: "SELECT " + outboxColumns + " FROM (SELECT " + outboxColumns + `,
		sum(octet_length(body)) OVER (ORDER BY id) AS total
		FROM outbox_events WHERE part = $1 AND published_at IS NULL AND id > $2 ORDER BY id LIMIT $3) AS page
			WHERE total <= $4`,
	published: "SELECT " + outboxColumns + " FROM (SELECT " + outboxColumns + `,
		sum(octet_length(body)) OVER (ORDER BY id) AS total
		FROM outbox_events WHERE id > $1 AND id <= $2 AND part = $3 AND published_at >= $4 ORDER BY id
			LIMIT $5) AS page WHERE total <= $6`,
	backfill: "SELECT " + outboxColumns + ", published_at FROM (SELECT " + outboxColumns + `, published_at,
		sum(octet_length(body)) OVER (ORDER BY id) AS total FROM outbox_events
			WHERE ` + backfillWhere + ") AS page WHERE total <= $10",
	tail: `SELECT id, event_type, body FROM (SELECT *, coalesce(sum(octet_length(body)) OVER (ORDER BY id), 0) AS total
		FROM (` + selectTail + ") AS rows) AS page WHERE total <= $7",
	lastPosition: `SELECT coalesce(pg_sequence_last_value(
		CAST(pg_get_serial_sequence('outbox_events', 'id') AS regclass)), 0)`,
	// Every transaction under a lease renews it (see fence) and locks the row; waiting for that would let the other
	// leases of this process expire.
	renewLease: `UPDATE bus_lease SET until = $4 WHERE (name, part) IN (
		SELECT name, part FROM bus_lease WHERE name = $1 AND part = $2 AND epoch = $3 FOR UPDATE SKIP LOCKED)`,
	holdDead: " FOR UPDATE",
	trimProcessed: `DELETE FROM processed_events_rest WHERE (day, consumer, tenant_id, event_id) IN (
		SELECT day, consumer, tenant_id, event_id FROM processed_events_rest WHERE day < $1
		ORDER BY day, consumer, tenant_id, event_id LIMIT $2)`,

	fence:        fencePostgres,
	insertOutbox: insertOutboxPostgres,
	nextVersion:  nextVersionPostgres,
	markOutbox:   markOutboxPostgres,
	markEvents:   markEventsPostgres,
}

const pgNow = "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)"

// fencePostgres renews the lease, which locks its row.
func fencePostgres(ctx context.Context, tx *sqldb.Tx, cfg *Config, l lease) (now canonical.Stamp, err error) {
	err = tx.Row(ctx, "UPDATE bus_lease SET until = "+pgNow+` + $4
		WHERE name = $1 AND part = $2 AND epoch = $3 RETURNING until - $4`,
		l.name, l.part, l.epoch, cfg.Lease.Milliseconds()).Scan(&now)
	if errors.Is(err, sqldb.ErrNoRow) {
		err = errLeaseLost
	}
	return now, err
}

var insertOutboxPG = sqldb.NewInsertSelect(outboxInto, pgNow+", *", "",
	"bigint", "bigint", "text", "text", "text", "text", "text", "bytea")

func insertOutboxPostgres(ctx context.Context, tx *sqldb.Tx, _ Clock, msgs []Message) ([]int64, error) {
	values := make([]any, 0, 8*len(msgs))
	for i := range msgs {
		m := &msgs[i]
		values = append(values, m.OccurredAt, m.Part, m.ID, m.Tenant, m.Type, m.Key, m.Service, m.Body)
	}
	return nil, tx.Batch(ctx, insertOutboxPG.Stmts(tx, values)...)
}

func nextVersionPostgres(ctx context.Context, tx *sqldb.Tx, _ Clock, key string) (version canonical.Stamp, err error) {
	err = tx.Row(ctx, "INSERT INTO bus_key (partition_key, version) VALUES ($1, "+pgNow+`)
		ON CONFLICT (partition_key) DO UPDATE SET version = greatest(excluded.version, bus_key.version + 1)
		RETURNING version`, key).Scan(&version)
	return version, err
}

func markOutboxPostgres(ids []int64, at canonical.Stamp) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "UPDATE outbox_events SET published_at = $2 WHERE id = ANY($1) AND published_at IS NULL",
		Args:  []any{ids, at},
	}
}

var insertMarks = sqldb.NewInsert("processed_events (day, consumer, tenant_id, event_id)", onceOnly,
	"bigint", "text", "text", "text")

func markEventsPostgres(tx *sqldb.Tx, consumer string, todo []*item) ([]sqldb.Stmt, error) {
	values := make([]any, 0, 4*len(todo))
	for _, it := range todo {
		values = append(values, dayOf(it.event.OccurredAt), consumer, it.event.Tenant, it.event.ID)
	}
	return insertMarks.Stmts(tx, values), nil
}
