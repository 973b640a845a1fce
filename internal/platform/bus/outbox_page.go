package bus

import (
	"context"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

const outboxColumns = "id, event_id, tenant_id, event_type, partition_key, occurred_at, service, body"

// outboxRows is a page of the outbox.
type outboxRows struct {
	query string // selects outboxColumns, and then more
	args  []any
	part  int
	limit int
	more  []any
}

// read calls each for the rows, up to the limit of rows or bytes, and returns the last id; full: there may be more.
func (p *outboxRows) read(ctx context.Context, tx *sqldb.Tx, each func(id int64, m Message)) (
	last int64, full bool, err error,
) {
	n, size := 0, 0
	for row, err := range tx.Query(ctx, p.query, p.args...) {
		m := Message{Stream: events.Events, Part: p.part}
		if err == nil {
			err = row.Scan(append([]any{
				&last, &m.ID, &m.Tenant, &m.Type, &m.Key, &m.OccurredAt, &m.Service, &m.Body,
			}, p.more...)...)
		}
		if err != nil {
			return last, false, err
		}
		each(last, m)
		n++
		if size += len(m.Body); n == p.limit || size > relayBytes-events.MaxEvent {
			return last, true, nil
		}
	}
	return last, false, nil
}

// markUpto marks all unpublished rows of a partition up to an id, for SQLite, where rows are committed in the order
// of ids: a row that was not read has a higher id.
func markUpto(part int, id int64, at canonical.Stamp) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "UPDATE outbox_events SET published_at = $3 WHERE part = $1 AND id <= $2 AND published_at IS NULL",
		Args:  []any{part, id, at},
	}
}
