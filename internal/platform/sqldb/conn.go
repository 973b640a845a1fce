package sqldb

import (
	"context"
	"database/sql/driver"
	"io"
	"iter"

	"renga.dev/renga/internal/platform/fault"
)

// maxStatements is how many prepared statements a connection caches.
const maxStatements = 256

// conn is a connection with its prepared statements, used by one goroutine at a time.
type conn struct {
	raw driver.Conn
	// cancels: statements end with their context. Not on the write connection, where that would undo the jobs of
	// others.
	cancels bool
	stmts   map[string]*stmt
	args    []driver.NamedValue // reused; the driver copies what it binds

	inserted int64 // key of the last inserted row
	lost     error // why the open transaction is gone; nothing runs before rollback
}

type stmt struct {
	raw  driver.Stmt
	busy bool
}

func newConn(raw driver.Conn, cancels bool) *conn {
	return &conn{raw: raw, cancels: cancels, stmts: make(map[string]*stmt)}
}

func (c *conn) close() error {
	c.closeStatements()
	return c.raw.Close()
}

// closeStatements closes the idle statements.
func (c *conn) closeStatements() {
	for query, st := range c.stmts {
		if !st.busy {
			_ = st.raw.Close()
			delete(c.stmts, query)
		}
	}
}

// statement returns the prepared statement of a query, marked busy; while its rows are read, another one.
func (c *conn) statement(ctx context.Context, query string) (*stmt, error) {
	st, ok := c.stmts[query]
	if ok && !st.busy {
		st.busy = true
		return st, nil
	}
	var raw driver.Stmt
	var err error
	if p, can := c.raw.(driver.ConnPrepareContext); can {
		raw, err = p.PrepareContext(ctx, query)
	} else {
		raw, err = c.raw.Prepare(query)
	}
	if err != nil {
		return nil, err
	}
	if !ok {
		if len(c.stmts) >= maxStatements {
			c.closeStatements()
		}
		st = &stmt{raw: raw, busy: true}
		c.stmts[query] = st
		return st, nil
	}
	return &stmt{raw: raw, busy: true}, nil
}

func (c *conn) give(query string, st *stmt) {
	st.busy = false
	if c.stmts[query] != st {
		_ = st.raw.Close()
	}
}

func (c *conn) bind(args []any) ([]driver.NamedValue, error) {
	out := c.args[:0]
	for i, arg := range args {
		v, err := bindValue(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	c.args = out
	return out, nil
}

func (c *conn) context(ctx context.Context) context.Context {
	if c.cancels {
		return ctx
	}
	return context.Background()
}

// note records an error that may have ended the transaction: a later statement would run outside of any and commit by
// itself.
func (c *conn) note(err error) {
	if c.lost == nil && sqliteDialect.reach(err) != statement {
		c.lost = err
	}
}

// ready returns the statement of a query, to be given back, with its arguments.
func (c *conn) ready(ctx context.Context, query string, args []any) (*stmt, []driver.NamedValue, error) {
	if c.lost != nil {
		return nil, nil, c.lost
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	st, err := c.statement(ctx, query)
	if err != nil {
		c.note(err)
		return nil, nil, err
	}
	bound, err := c.bind(args)
	if err != nil {
		c.give(query, st)
	}
	return st, bound, err
}

func (c *conn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	ctx = c.context(ctx)
	st, bound, err := c.ready(ctx, query, args)
	if err != nil {
		return 0, err
	}
	defer c.give(query, st)
	res, err := st.raw.(driver.StmtExecContext).ExecContext(ctx, bound)
	if err != nil {
		c.note(err)
		return 0, err
	}
	if c.inserted, err = res.LastInsertId(); err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query yields the rows of a statement. A row is valid until the next one.
func (c *conn) query(ctx context.Context, query string, args ...any) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		ctx := c.context(ctx)
		st, bound, err := c.ready(ctx, query, args)
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.give(query, st)
		rows, err := st.raw.(driver.StmtQueryContext).QueryContext(ctx, bound)
		if err != nil {
			c.note(err)
			yield(nil, err)
			return
		}
		defer rows.Close()
		c.walk(ctx, rows, yield)
	}
}

// walk yields rows. The driver watches the context only during its first step, so walk checks it before each.
func (c *conn) walk(ctx context.Context, rows driver.Rows, yield func(*Row, error) bool) {
	row := &Row{values: make([]driver.Value, len(rows.Columns()))}
	for {
		err := ctx.Err()
		if err == nil {
			err = rows.Next(row.values)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			c.note(err)
			yield(nil, err)
			return
		}
		if !yield(row, nil) {
			return
		}
	}
}

// rollback ends the transaction, unless the database already has.
func (c *conn) rollback() error {
	c.lost = nil
	_, err := c.exec(context.Background(), "ROLLBACK")
	c.lost = nil
	if err != nil && sqliteDialect.reach(err) == statement {
		return nil // the database ended the transaction
	}
	return err
}

var errOver = fault.Wrap("sqldb", errText("a transaction was used after its job had ended"))

type errText string

func (e errText) Error() string { return string(e) }
