package sqldb

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// Tx is a transaction, used by one job in its goroutine. Statements are prepared once per connection and found by
// their text, so varying texts cost a preparation each.
//
// Arguments are integers, strings, byte slices and arrays, booleans, floats, nil, or named types of those; times are
// stored as integers. On PostgreSQL also []int64, []string, []bool and [][]byte, for bigint[], text[], boolean[], and
// bytea[] or uuid[].
//
// After a failed statement PostgreSQL has ended the transaction, or the savepoint around it; SQLite undoes only the
// statement. To go on after an error, use Savepoint.
type Tx struct {
	conn  *conn    // SQLite
	pg    *session // PostgreSQL
	depth int
	over  bool
	after []func() // see OnCommit

	reads bool        // read-only
	known map[any]any // see Remember
	own   map[any]any // see Own
	waits func() error
}

// Func is what a transaction does.
type Func = func(context.Context, *Tx) error

// Stmt is a statement of a Batch.
type Stmt struct {
	Query   string
	Args    []any
	Row     func(*Row) error // called for each row, must not use the transaction; nil: rows are ignored
	Changed *int64           // receives the number of changed rows, unless nil
	// Inserted receives the integer key of the inserted row, unless nil; SQLite only, without Row.
	Inserted *int64
}

// Dialect is for the few statements that cannot be shared.
func (tx *Tx) Dialect() Dialect {
	if tx.pg != nil {
		return Postgres
	}
	return SQLite
}

// Now is the time in milliseconds by the clock that all processes share: PostgreSQL's, or with SQLite, which has one
// process, the machine's.
func (tx *Tx) Now(ctx context.Context) (ms int64, err error) { return tx.NowBy(ctx, time.Now) }

// NowBy is Now with another clock than the machine's.
func (tx *Tx) NowBy(ctx context.Context, machine func() time.Time) (ms int64, err error) {
	if tx.pg == nil {
		return machine().UnixMilli(), nil
	}
	err = tx.Row(ctx, "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)").Scan(&ms)
	return ms, err
}

// Remember caches what fn returns, by key, in a read-only transaction, where it cannot change; in others it calls fn.
// The key has a type of the caller's own; the value must not be modified.
func Remember[K comparable, V any](tx *Tx, key K, fn func() (V, error)) (V, error) {
	if !tx.reads {
		return fn()
	}
	if found, is := tx.known[key]; is {
		return found.(V), nil
	}
	found, err := fn()
	if err == nil {
		if tx.known == nil {
			tx.known = map[any]any{}
		}
		tx.known[key] = found
	}
	return found, err
}

// Own returns the one V of a transaction, such as a budget, made on first use.
func Own[V any](tx *Tx, make func() V) V {
	key := any((*V)(nil))
	if found, is := tx.own[key]; is {
		return found.(V)
	}
	if tx.own == nil {
		tx.own = map[any]any{}
	}
	v := make()
	tx.own[key] = v
	return v
}

// Disown drops what Own made. Call it between the jobs of several callers in one transaction.
func (tx *Tx) Disown() { clear(tx.own) }

// Waits is an error once the caller's deadline has passed. A long job returns it, and nothing is stored. A caller
// that merely left does not count: its job is done.
func (tx *Tx) Waits() error {
	if tx.waits == nil {
		return nil
	}
	if err := tx.waits(); errors.Is(err, context.DeadlineExceeded) {
		return unavailable("sqldb.write", codeBusy, "the call ended before the work was done; nothing was stored", err)
	}
	return nil
}

// OnCommit has fn called, in order, after the commit and before Write returns; not when the job or its savepoint is
// undone or the outcome is unknown. Other commits wait for fn, so it must only notify.
func (tx *Tx) OnCommit(fn func()) { tx.after = append(tx.after, fn) }

func committed(after []func()) {
	for _, fn := range after {
		fn()
	}
}

// Exec returns the number of changed rows.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if tx.over {
		return 0, errOver
	}
	if tx.pg != nil {
		// The copy keeps the arguments of SQLite's statements off the heap.
		return tx.pg.exec(ctx, query, slices.Clone(args))
	}
	n, err := tx.conn.exec(ctx, query, args...)
	return n, sqliteDialect.wrap("sqldb.exec", err)
}

// Query yields rows, each valid until the next; an error ends them. PostgreSQL's result is read as a whole first, so
// ask for no more than needed.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if tx.over {
			yield(nil, errOver)
			return
		}
		if tx.pg != nil {
			tx.pg.query(ctx, query, args, yield)
			return
		}
		for row, err := range tx.conn.query(ctx, query, args...) {
			if !yield(row, sqliteDialect.wrap("sqldb.query", err)) {
				return
			}
		}
	}
}

// Collect returns what scan makes of each row.
func Collect[T any](ctx context.Context, tx *Tx, scan func(*Row) (T, error), query string, args ...any) (
	all []T, err error,
) {
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return nil, err
		}
		one, err := scan(row)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// Column scans a row of one column, for Collect.
func Column[T any](row *Row) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// Row returns the first row; without one, its Scan fails with ErrNoRow.
func (tx *Tx) Row(ctx context.Context, query string, args ...any) *Row {
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return &Row{err: err}
		}
		return row
	}
	return &Row{err: ErrNoRow}
}

// Batch runs statements in order up to the first failure. On PostgreSQL it is one round trip.
func (tx *Tx) Batch(ctx context.Context, stmts ...Stmt) error {
	if tx.over {
		return errOver
	}
	if tx.pg != nil {
		return tx.pg.batch(ctx, stmts)
	}
	for i := range stmts {
		if err := tx.one(ctx, &stmts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) one(ctx context.Context, st *Stmt) error {
	if st.Row == nil {
		n, err := tx.Exec(ctx, st.Query, st.Args...)
		if st.Changed != nil {
			*st.Changed = n
		}
		if st.Inserted != nil {
			*st.Inserted = tx.conn.inserted
		}
		return err
	}
	for row, err := range tx.Query(ctx, st.Query, st.Args...) {
		if err == nil {
			err = st.Row(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Savepoint undoes what fn wrote if it fails or panics.
func (tx *Tx) Savepoint(ctx context.Context, fn func(context.Context) error) (err error) {
	if tx.over {
		return errOver
	}
	tx.depth++
	name := "s" + strconv.Itoa(tx.depth)
	defer func() { tx.depth-- }()
	if err := tx.control(ctx, "SAVEPOINT "+name); err != nil {
		return err
	}
	done, before := false, len(tx.after)
	defer func() {
		if done && err == nil {
			return
		}
		tx.after = tx.after[:before]
		if undo := tx.undo(name); undo != nil && err == nil {
			err = undo
		}
	}()
	if err = fn(ctx); err != nil {
		return err
	}
	err = tx.control(ctx, "RELEASE "+name)
	done = err == nil
	return err
}

// control runs a statement about savepoints; PostgreSQL's is deferred to the next statement.
func (tx *Tx) control(ctx context.Context, query string) error {
	if tx.pg != nil {
		return tx.pg.control(query)
	}
	_, err := tx.conn.exec(ctx, query)
	return sqliteDialect.wrap("sqldb.savepoint", err)
}

// undo rolls back to a savepoint and releases it. If the transaction is gone, conn.lost says so.
func (tx *Tx) undo(name string) error {
	ctx := context.Background()
	if tx.pg != nil {
		return tx.pg.undo(name)
	}
	if _, err := tx.conn.exec(ctx, "ROLLBACK TO "+name); err != nil {
		if tx.conn.lost == nil {
			tx.conn.lost = err
		}
		return sqliteDialect.wrap("sqldb.savepoint", err)
	}
	_, err := tx.conn.exec(ctx, "RELEASE "+name)
	return sqliteDialect.wrap("sqldb.savepoint", err)
}

var ErrNoRow error = &fault.Error{Kind: fault.NotFound, Op: "sqldb.row"}
