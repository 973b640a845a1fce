package messages

import (
	"context"
	"errors"
	"slices"

	"renga.dev/renga/internal/platform/sqldb"
)

const selectOne = "SELECT " + columns + ", payload FROM messages_message WHERE tenant_id = $1 AND id = $2"

// Get is a message with its payload.
func (m *Messages) Get(ctx context.Context, tenant, id string) (found Message, err error) {
	err = m.read(ctx, "get", func(ctx context.Context, tx *sqldb.Tx) error {
		found, err = scanWhole(tx.Row(ctx, selectOne, tenant, id))
		if errors.Is(err, sqldb.ErrNoRow) {
			err = unknown(id)
		}
		return err
	})
	return found, err
}

// Query is which messages are wanted; what is zero is any.
type Query struct {
	Name, Key     string
	State         State
	Offset, Limit int
}

// List is a page of a tenant's messages without their payloads, the newest first, and how many there are.
func (m *Messages) List(ctx context.Context, tenant string, q Query) (page []Message, total int, err error) {
	binds := sqldb.Bind(tenant)
	where := " FROM messages_message WHERE tenant_id = $1"
	if q.Name != "" {
		where += " AND name = " + binds.Add(q.Name)
	}
	if q.Key != "" {
		where += " AND key = " + binds.Add(q.Key)
	}
	if q.State != 0 {
		where += " AND state = " + binds.Add(q.State)
	}
	counted := slices.Clip(binds.Args())
	rows := "SELECT " + columns + where + " ORDER BY received_at DESC, id DESC LIMIT " + binds.Add(q.Limit) +
		" OFFSET " + binds.Add(q.Offset)
	err = m.read(ctx, "list", func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Row(ctx, "SELECT count(*)"+where, counted...).Scan(&total); err != nil {
			return err
		}
		page, err = sqldb.Collect(ctx, tx, scan, rows, binds.Args()...)
		return err
	})
	return page, total, err
}
