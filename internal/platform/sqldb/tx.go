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

// Tx is a transaction, for the time of one job and in its goroutine alone.
// Statements are prepared once per connection and found by their text, so a text
// that is built anew for every call costs what preparing costs.
//
// Arguments are integers, strings, byte slices and arrays, booleans, floats, nil,
// or named types of those; a time is stored as an integer by whoever has one. On
// PostgreSQL also []int64, []string, []bool and [][]byte, for parameters of the
// types bigint[], text[], boolean[], and bytea[] or uuid[].
//
// PostgreSQL ends a transaction, or goes back to the savepoint around it, with the
// first statement that fails; SQLite undoes that statement alone. Whoever goes on
// after an error does so behind a Savepoint.
type Tx struct {
	conn  *conn    // SQLite
	pg    *session // PostgreSQL
	depth int
	over  bool
	after []func() // see OnCommit

	reads bool        // it cannot write
	known map[any]any // see Remember
	own   map[any]any // see Own
	waits func() error
}

// Stmt is a statement of a Batch and what becomes of its result.
type Stmt struct {
	Query   string
	Args    []any
	Row     func(*Row) error // called for each row; it must not use the transaction. nil: rows are not looked at
	Changed *int64           // gets the number of rows that the statement changed; nil: nobody asks
	// Inserted gets the integer that is the key of the row that the statement inserted, on
	// SQLite alone and without Row; nil: nobody asks.
	Inserted *int64
}

// Dialect names the database, for the few statements that cannot be shared.
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

// Remember gives what fn found, once for a key in a transaction that cannot write: there it
// finds the same every time. In one that can, fn is asked each time. The key is of a type of
// the caller's own, which others do not use, and what is found is not to be changed.
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

// Own gives the one V of a transaction, made when it is first asked for. It is for what a
// transaction has once, whoever takes part in it, such as a budget.
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

// Disown forgets what Own gave: who does the work of several in one transaction calls it
// before that of the next.
func (tx *Tx) Disown() { clear(tx.own) }

// Waits says why the caller of a job cannot be answered any more: its deadline has passed.
// nil: it waits. A job that goes on for long asks, and gives the error back; then nothing
// of it is stored. A caller that went away on its own is another matter: what it asked for
// is done.
func (tx *Tx) Waits() error {
	if tx.waits == nil {
		return nil
	}
	if err := tx.waits(); errors.Is(err, context.DeadlineExceeded) {
		return unavailable("sqldb.write", codeBusy, "the call ended before the work was done; nothing was stored", err)
	}
	return nil
}

// OnCommit has fn called when what the job wrote is on disk, before Write returns and
// in the order of the calls. It is not called when the job fails or the savepoint around
// it is undone, nor when the outcome of the commit is unknown. The commits of others
// wait for fn, so it tells somebody and does nothing itself.
func (tx *Tx) OnCommit(fn func()) { tx.after = append(tx.after, fn) }

// committed calls what waited for the commit.
func committed(after []func()) {
	for _, fn := range after {
		fn()
	}
}

// Exec runs a statement and gives the number of rows it changed.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if tx.over {
		return 0, errOver
	}
	if tx.pg != nil {
		// A copy, so that the arguments of SQLite's statements stay off the heap.
		return tx.pg.exec(ctx, query, slices.Clone(args))
	}
	n, err := tx.conn.exec(ctx, query, args...)
	return n, sqliteDialect.wrap("sqldb.exec", err)
}

// Query runs a statement and yields its rows. A row is valid until the next one;
// an error ends the sequence. On PostgreSQL the whole result is read first, so a
// statement should ask for no more than is wanted.
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

// Collect runs a statement and gives what scan makes of each of its rows.
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

// Column reads a row that has one column, for Collect.
func Column[T any](row *Row) (value T, err error) {
	err = row.Scan(&value)
	return value, err
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

// Batch runs statements one after the other, up to the first that fails. On
// PostgreSQL they travel together: one trip to the server and back, whatever their
// number.
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

// one runs one statement of a batch on SQLite.
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

// Savepoint runs fn and undoes what it wrote when it fails or panics.
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
	done, told := false, len(tx.after)
	defer func() {
		if done && err == nil {
			return
		}
		tx.after = tx.after[:told]
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

// control runs a statement about savepoints. PostgreSQL gets it together with the
// next statement.
func (tx *Tx) control(ctx context.Context, query string) error {
	if tx.pg != nil {
		return tx.pg.control(query)
	}
	_, err := tx.conn.exec(ctx, query)
	return sqliteDialect.wrap("sqldb.savepoint", err)
}

// undo goes back to a savepoint and forgets it. When the transaction is gone as a
// whole there is nothing to go back to; whoever owns it finds out by conn.lost.
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

// ErrNoRow says that a statement that was to give a row gave none.
var ErrNoRow error = &fault.Error{Kind: fault.NotFound, Op: "sqldb.row"}
