package bus

import (
	"context"
	"strconv"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// The columns of a message. PostgreSQL gives all rows of a result at once, so it is
// told how much of them is wanted; SQLite gives one after the other.
const (
	outboxColumns = "id, event_id, tenant_id, event_type, partition_key, occurred_at, service, body"

	selectUnpublished = "SELECT " + outboxColumns + ` FROM outbox_events
		WHERE part = $1 AND published_at IS NULL AND id > $2 ORDER BY id LIMIT $3`
	selectUnpublishedPG = "SELECT " + outboxColumns + " FROM (SELECT " + outboxColumns + `, sum(octet_length(body)) OVER (ORDER BY id) AS total
		FROM outbox_events WHERE part = $1 AND published_at IS NULL AND id > $2 ORDER BY id LIMIT $3) AS page WHERE total <= $4`

	selectPublished = "SELECT " + outboxColumns + ` FROM outbox_events
		WHERE id > $1 AND id <= $2 AND part = $3 AND published_at >= $4 ORDER BY id LIMIT $5`
	selectPublishedPG = "SELECT " + outboxColumns + " FROM (SELECT " + outboxColumns + `, sum(octet_length(body)) OVER (ORDER BY id) AS total
		FROM outbox_events WHERE id > $1 AND id <= $2 AND part = $3 AND published_at >= $4 ORDER BY id LIMIT $5) AS page WHERE total <= $6`
)

// unpublished reads rows of the outbox that are not published, page after page.
type unpublished struct {
	part  int
	after int64 // the id that the next page begins behind
	more  bool  // the last page was full
}

// read gives the rows of the next page to each.
func (p *unpublished) read(ctx context.Context, tx *sqldb.Tx, each func(id int64, m Message)) error {
	query, args := selectUnpublished, []any{p.part, p.after, relayRows}
	if tx.Dialect() == sqldb.Postgres {
		query, args = selectUnpublishedPG, append(args, relayBytes)
	}
	n, size := 0, 0
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return err
		}
		id, m, err := scanOutbox(row, p.part)
		if err != nil {
			return err
		}
		each(id, m)
		p.after = id
		n++
		if size += len(m.Body); size > relayBytes-wire.MaxEvent {
			break
		}
	}
	p.more = n == relayRows || size > relayBytes-wire.MaxEvent
	return nil
}

// scanOutbox makes a message of a row.
func scanOutbox(row *sqldb.Row, part int) (id int64, m Message, err error) {
	m = Message{Stream: wire.Events, Part: part}
	err = row.Scan(&id, &m.ID, &m.Tenant, &m.Type, &m.Key, &m.OccurredAt, &m.Service, &m.Body)
	return id, m, err
}

// markOutbox is the statement that notes when rows were published.
func markOutbox(tx *sqldb.Tx, ids []int64, at wire.Stamp) sqldb.Stmt {
	if tx.Dialect() == sqldb.Postgres {
		return sqldb.Stmt{
			Query: "UPDATE outbox_events SET published_at = $2 WHERE id = ANY($1) AND published_at IS NULL",
			Args:  []any{ids, at},
		}
	}
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, id, 10)
	}
	return sqldb.Stmt{
		Query: "UPDATE outbox_events SET published_at = $2 WHERE id IN (SELECT value FROM json_each($1)) AND published_at IS NULL",
		Args:  []any{string(append(list, ']')), at},
	}
}

// markUpto is the statement that notes when all unpublished rows of a partition up to one
// of them were published. It is for SQLite, where rows are committed in the order of
// their ids: what was not there when they were read is behind them.
func markUpto(part int, id int64, at wire.Stamp) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "UPDATE outbox_events SET published_at = $3 WHERE part = $1 AND id <= $2 AND published_at IS NULL",
		Args:  []any{part, id, at},
	}
}
