package sqldb

import (
	"context"
	"iter"
	"strconv"

	"renga.dev/renga/internal/fault"
)

// Tx is a transaction, for the time of one job and in its goroutine alone.
// Statements are prepared once per connection and found by their text, so a text
// that is built anew for every call costs what preparing costs.
//
// Arguments are integers, strings, byte slices and arrays, booleans, floats, nil,
// or named types of those; a time is stored as an integer by whoever has one.
type Tx struct {
	conn  *conn
	depth int
	over  bool
}

// Dialect names the database, for the few statements that cannot be shared.
func (tx *Tx) Dialect() Dialect { return tx.conn.dialect.name }

// Exec runs a statement and gives the number of rows it changed.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if tx.over {
		return 0, errOver
	}
	n, err := tx.conn.exec(ctx, query, args...)
	return n, tx.conn.dialect.wrap("sqldb.exec", err)
}

// Query runs a statement and yields its rows. A row is valid until the next one;
// an error ends the sequence.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if tx.over {
			yield(nil, errOver)
			return
		}
		for row, err := range tx.conn.query(ctx, query, args...) {
			if !yield(row, tx.conn.dialect.wrap("sqldb.query", err)) {
				return
			}
		}
	}
}

// Row runs a statement and gives its first row. Its Scan gives ErrNoRow if there is none.
func (tx *Tx) Row(ctx context.Context, query string, args ...any) *Row {
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return &Row{err: err}
		}
		return row
	}
	return &Row{err: ErrNoRow}
}

// Savepoint runs fn and undoes what it wrote when it fails or panics.
func (tx *Tx) Savepoint(ctx context.Context, fn func(context.Context) error) (err error) {
	if tx.over {
		return errOver
	}
	tx.depth++
	name := "s" + strconv.Itoa(tx.depth)
	defer func() { tx.depth-- }()
	if _, err := tx.conn.exec(ctx, "SAVEPOINT "+name); err != nil {
		return tx.conn.dialect.wrap("sqldb.savepoint", err)
	}
	done := false
	defer func() {
		if done && err == nil {
			return
		}
		if undo := tx.undo(name); undo != nil && err == nil {
			err = undo
		}
	}()
	if err = fn(ctx); err != nil {
		return err
	}
	_, err = tx.conn.exec(ctx, "RELEASE "+name)
	done = err == nil
	return tx.conn.dialect.wrap("sqldb.savepoint", err)
}

// undo goes back to a savepoint and forgets it. When the transaction is gone as a
// whole there is nothing to go back to; whoever owns it finds out by conn.lost.
func (tx *Tx) undo(name string) error {
	ctx := context.Background()
	if _, err := tx.conn.exec(ctx, "ROLLBACK TO "+name); err != nil {
		if tx.conn.lost == nil {
			tx.conn.lost = err
		}
		return tx.conn.dialect.wrap("sqldb.savepoint", err)
	}
	if _, err := tx.conn.exec(ctx, "RELEASE "+name); err != nil {
		return tx.conn.dialect.wrap("sqldb.savepoint", err)
	}
	return nil
}

// ErrNoRow says that a statement that was to give a row gave none.
var ErrNoRow error = &fault.Error{Kind: fault.NotFound, Op: "sqldb.row"}
