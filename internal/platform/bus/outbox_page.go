package bus

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// outboxColumns are the columns of a message.
const outboxColumns = "id, event_id, tenant_id, event_type, partition_key, occurred_at, service, body"

// unpublished reads rows of the outbox that are not published, page after page.
type unpublished struct {
	part  int
	after int64 // the id that the next page begins after
	more  bool  // the last page was full
}

// read gives the rows of the next page to each.
func (p *unpublished) read(ctx context.Context, tx *sqldb.Tx, each func(id int64, m Message)) error {
	q := queriesIn(tx)
	n, size := 0, 0
	for row, err := range tx.Query(ctx, q.unpublished, q.page(p.part, p.after, relayRows)...) {
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

// markUpto is the statement that marks all unpublished rows of a partition, up to an id, as published. It is for
// SQLite, where rows are committed in the order of their ids: one that was not there when they were read has a higher
// id.
func markUpto(part int, id int64, at wire.Stamp) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "UPDATE outbox_events SET published_at = $3 WHERE part = $1 AND id <= $2 AND published_at IS NULL",
		Args:  []any{part, id, at},
	}
}
