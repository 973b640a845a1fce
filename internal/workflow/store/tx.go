package store

import (
	"context"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// shared is what a commit does alike on every database.
type shared struct{ sql *sqldb.Tx }

// tx is one commit in the making on SQLite.
type tx struct {
	shared
	store    *Store
	inFlight *inFlight // its publications; nil: it has none
	read     bool      // a source reads them from memory
}

var _ engine.Tx = (*tx)(nil)

// Now is the clock of the one process that writes.
func (t *tx) Now(_ context.Context, here flow.Time) (flow.Time, error) { return here, nil }

// Fetch reads histories. There is one writer, so what a caller knows is current.
func (t *tx) Fetch(ctx context.Context, want []engine.Want) ([]engine.History, error) {
	out := make([]engine.History, len(want))
	for i := range want {
		w := &want[i]
		if w.Known > 0 {
			out[i] = engine.History{Found: true, Fresh: true}
			continue
		}
		var head engine.Head
		var err error
		if w.Num > 0 {
			head, err = headByNum(ctx, t.sql, w.Tenant, w.Num)
		} else {
			head, err = headByID(ctx, t.sql, w.Tenant, w.ID)
		}
		if fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return nil, fault.Wrap("store.fetch", err)
		}
		if out[i], err = history(ctx, t.sql, head, maxSeq); err != nil {
			return nil, fault.Wrap("store.fetch", err)
		}
	}
	return out, nil
}

// Number gives numbers that no execution has. The numbers of a commit that is undone stay unused.
func (t *tx) Number(ctx context.Context, n int) (int64, error) {
	s := t.store
	if s.last < 0 {
		var last int64
		if err := t.sql.Row(ctx, "SELECT coalesce(max(num), 0) FROM engine_execution").Scan(&last); err != nil {
			return 0, fault.Wrap("store.number", err)
		}
		s.last = last
	}
	first := s.last + 1
	s.last += int64(n)
	return first, nil
}

// Savepoint runs fn and undoes what it wrote when it fails, its publications too.
func (t *tx) Savepoint(ctx context.Context, fn func(context.Context) error) error {
	before := 0
	if t.inFlight != nil {
		before = len(t.inFlight.publications)
	}
	err := t.sql.Savepoint(ctx, fn)
	if err != nil && t.inFlight != nil {
		t.inFlight.publications = t.inFlight.publications[:before]
	}
	return err
}

// Savepoint runs fn and undoes what it wrote when it fails, its publications too.
func (t *pgTx) Savepoint(ctx context.Context, fn func(context.Context) error) error {
	before := len(t.publications)
	err := t.sql.Savepoint(ctx, fn)
	if err != nil {
		t.publications = t.publications[:before]
	}
	return err
}

func (t *shared) SQL() *sqldb.Tx { return t.sql }

func (t *shared) Row(ctx context.Context, execution, commitNo int64) (engine.LogRow, error) {
	row, err := logRow(ctx, t.sql, execution, commitNo)
	return row, fault.Wrap("store.row", err)
}

func (t *shared) Rows(ctx context.Context, execution int64, from uint64, limit int) ([]engine.LogRow, error) {
	rows, err := logRows(ctx, t.sql, execution, from, limit)
	return rows, fault.Wrap("store.rows", err)
}
