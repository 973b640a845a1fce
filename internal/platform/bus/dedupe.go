package bus

import (
	"context"
	"encoding/json"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

const dayLength = 24 * 60 * 60 * 1000 // milliseconds

const onceOnly = "ON CONFLICT (day, consumer, tenant_id, event_id) DO NOTHING"

var insertMarks = sqldb.NewInsert("processed_events (day, consumer, tenant_id, event_id)", onceOnly,
	"bigint", "text", "text", "text")

// dedupe marks events as processed, in the transaction of their effects, so that a redelivery has none.
type dedupe struct{ partition }

// markAll marks the events of a batch as processed. A duplicate that the version guard did not see is rare: then it
// returns errOneByOne.
func (dd *dedupe) markAll(ctx context.Context, tx *sqldb.Tx, todo []*item) error {
	stmts, err := dd.inserts(tx.Dialect(), todo)
	if err != nil {
		return err
	}
	changed := make([]int64, len(stmts))
	for i := range stmts {
		stmts[i].Changed = &changed[i]
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	noted := 0
	for _, n := range changed {
		noted += int(n)
	}
	if noted != len(todo) {
		return errOneByOne
	}
	return nil
}

// inserts are the statements that mark events as processed. On SQLite, which has one writer and so needs no order, the
// ids of a tenant and a day are one argument.
func (dd *dedupe) inserts(d sqldb.Dialect, todo []*item) (stmts []sqldb.Stmt, err error) {
	if d == sqldb.Postgres {
		values := make([]any, 0, 4*len(todo))
		for _, it := range todo {
			values = append(values, int64(it.event.OccurredAt)/dayLength, dd.consumer.Name, it.event.Tenant, it.event.ID)
		}
		return insertMarks.Stmts(d, values), nil
	}
	type group struct {
		day    int64
		tenant string
	}
	groups := map[group][]string{}
	for _, it := range todo {
		g := group{int64(it.event.OccurredAt) / dayLength, it.event.Tenant}
		groups[g] = append(groups[g], it.event.ID)
	}
	for g, ids := range groups {
		list, err := json.Marshal(ids)
		if err != nil {
			return nil, err
		}
		stmts = append(stmts, sqldb.Stmt{
			Query: `INSERT INTO processed_events (day, consumer, tenant_id, event_id)
				SELECT $1, $2, $3, value FROM json_each($4) WHERE true ` + onceOnly,
			Args: []any{g.day, dd.consumer.Name, g.tenant, string(list)},
		})
	}
	return stmts, nil
}

// mark marks events as processed and drops the duplicates.
func (dd *dedupe) mark(ctx context.Context, tx *sqldb.Tx, t *changes, todo []*item) ([]*item, error) {
	stmts, changed := make([]sqldb.Stmt, len(todo)), make([]int64, len(todo))
	for i, it := range todo {
		stmts[i] = dd.insert(&it.event)
		stmts[i].Changed = &changed[i]
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return nil, err
	}
	kept := todo[:0]
	for i, it := range todo {
		if changed[i] == 0 {
			t.counts.duplicate++
			continue
		}
		kept = append(kept, it)
	}
	return kept, nil
}

// insert is the statement that marks an event as processed. For a duplicate it changes no row.
func (dd *dedupe) insert(e *wire.Event) sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO processed_events (day, consumer, tenant_id, event_id) VALUES ($1, $2, $3, $4) ` + onceOnly,
		Args:  []any{int64(e.OccurredAt) / dayLength, dd.consumer.Name, e.Tenant, e.ID},
	}
}
