package bus

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

const outboxColumns = "id, event_id, tenant_id, event_type, partition_key, occurred_at, service, body"

// unpublished reads the unpublished rows of a partition page by page.
type unpublished struct {
	part  int
	after int64 // id before the next page
	more  bool  // the last page was full
}

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

func scanOutbox(row *sqldb.Row, part int) (id int64, m Message, err error) {
	m = Message{Stream: wire.Events, Part: part}
	err = row.Scan(&id, &m.ID, &m.Tenant, &m.Type, &m.Key, &m.OccurredAt, &m.Service, &m.Body)
	return id, m, err
}

// markUpto marks all unpublished rows of a partition up to an id, for SQLite, where rows are committed in the order
// of ids: a row that was not read has a higher id.
func markUpto(part int, id int64, at wire.Stamp) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "UPDATE outbox_events SET published_at = $3 WHERE part = $1 AND id <= $2 AND published_at IS NULL",
		Args:  []any{part, id, at},
	}
}
