package bus

import (
	"context"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// dayOf is the day of an event's mark.
func dayOf(at canonical.Stamp) int64 { return int64(at / day) }

const onceOnly = "ON CONFLICT (day, consumer, tenant_id, event_id) DO NOTHING"

// dedupe marks events as processed, in the transaction of their effects, so that a redelivery has none.
type dedupe struct{ partition }

// markAll marks a batch. For a duplicate that the version guard missed, which is rare, it returns errOneByOne.
func (dd *dedupe) markAll(ctx context.Context, tx *sqldb.Tx, todo []*item) error {
	stmts, err := queriesOf(tx).markEvents(tx, dd.consumer.Name, todo)
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

// mark marks events and drops the duplicates.
func (dd *dedupe) mark(ctx context.Context, t *changes, todo []*item) ([]*item, error) {
	stmts, changed := make([]sqldb.Stmt, len(todo)), make([]int64, len(todo))
	for i, it := range todo {
		stmts[i] = dd.insert(&it.event)
		stmts[i].Changed = &changed[i]
	}
	if err := t.Batch(ctx, stmts...); err != nil {
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

// insert is the statement of mark; a duplicate changes no row.
func (dd *dedupe) insert(e *events.Event) sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO processed_events (day, consumer, tenant_id, event_id) VALUES ($1, $2, $3, $4) ` + onceOnly,
		Args:  []any{dayOf(e.OccurredAt), dd.consumer.Name, e.Tenant, e.ID},
	}
}
