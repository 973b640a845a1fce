package audit

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Log is the audit log, for readers.
type Log struct{ db *sqldb.DB }

// New does no I/O.
func New(db *sqldb.DB) *Log { return &Log{db} }

// Query selects entries of a tenant. Empty fields select everything.
type Query struct {
	Tenant   string
	Action   string
	Actor    string
	Subject  string
	From, To canonical.Stamp // inclusive, exclusive
	Offset   int             // under MaxListed
	Limit    int
}

// List is a page of matching entries, newest first, and their number up to MaxListed. Query.To reaches older ones.
func (l *Log) List(ctx context.Context, q Query) (page []Entry, total int, err error) {
	if q.Offset >= MaxListed {
		return nil, 0, fault.New(fault.Invalid, canonical.CodeInvalid,
			"a list goes back %d entries; use an earlier end of the range of time for older ones", MaxListed).With(
			map[string]string{"field": "page"})
	}
	err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		count, args := q.count(tx)
		if err := tx.Row(ctx, count, args...).Scan(&total); err != nil {
			return err
		}
		page, err = Page(ctx, tx, q)
		return err
	})
	return page, total, fault.Wrap("audit.list", err)
}

// Page is the page of List in the caller's transaction.
func Page(ctx context.Context, tx *sqldb.Tx, q Query) (page []Entry, err error) {
	query, args := q.newestFirst(tx)
	return sqldb.Collect(ctx, tx, scan, query, args...)
}

// Find is the statement that sets there if a tenant has the entry.
func Find(tenant string, at canonical.Stamp, id string, there *bool) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "SELECT 1 FROM audit_log WHERE tenant_id = $1 AND at = $2 AND id = $3", Args: []any{tenant, at, id},
		Row: func(*sqldb.Row) error { *there = true; return nil },
	}
}

// from is the table and the condition of a query. It takes few forms, so statements stay prepared. SQLite keeps no
// statistics and would scan a range of time for all tenants, so there the index is named.
func (q *Query) from(tx *sqldb.Tx, b *sqldb.Binds) string {
	index, tenant, where := "list", b.Add(q.Tenant), ""
	for _, column := range []struct{ name, value string }{
		{"action", q.Action},
		{"actor", q.Actor},
		{"subject", q.Subject},
	} {
		if column.value != "" {
			index, where = column.name, where+" AND "+column.name+" = "+b.Add(column.value)
		}
	}
	if q.From > 0 {
		where += " AND at >= " + b.Add(q.From)
	}
	if q.To > 0 {
		where += " AND at < " + b.Add(q.To)
	}
	if tx.Dialect() == sqldb.SQLite {
		index = " INDEXED BY audit_log_" + index
	} else {
		index = ""
	}
	return " FROM audit_log" + index + " WHERE tenant_id = " + tenant + where
}

func (q *Query) count(tx *sqldb.Tx) (string, []any) {
	var b sqldb.Binds
	return "SELECT count(*) FROM (SELECT 1 AS one" + q.from(tx, &b) + " LIMIT " + strconv.Itoa(MaxListed) +
		") AS counted", b.Args()
}

func (q *Query) newestFirst(tx *sqldb.Tx) (string, []any) {
	var b sqldb.Binds
	return selectEntries + q.from(tx, &b) + " ORDER BY at DESC, num DESC LIMIT " + b.Add(q.Limit) +
		" OFFSET " + b.Add(q.Offset), b.Args()
}

const selectEntries = `SELECT num, id, at, tenant_id, actor, action, subject, correlation_id, outcome, reason,
	reason_class, reason_code, retry_advice, detail`

func scan(row *sqldb.Row) (e Entry, err error) {
	err = row.Scan(&e.Num, &e.ID, &e.At, &e.Tenant, &e.Actor, &e.Action, &e.Subject, &e.CorrelationID, &e.Outcome,
		&e.Reason, &e.ReasonClass, &e.ReasonCode, &e.RetryAdvice, &e.Detail)
	return e, err
}

// After returns up to limit entries of all tenants after a number. On PostgreSQL lower numbers may still appear: see
// sqldb.Holes.
func (l *Log) After(ctx context.Context, num int64, limit int) (page []Entry, err error) {
	err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		page, err = sqldb.Collect(ctx, tx, scan,
			selectEntries+" FROM audit_log WHERE num > $1 ORDER BY num LIMIT $2", num, limit)
		return err
	})
	return page, fault.Wrap("audit.after", err)
}

// exportRows is how many entries Export reads at a time.
const exportRows = 200

// Export yields all matching entries, oldest first, in pages, up to the newest at the start. Offset and Limit are
// ignored.
func (l *Log) Export(ctx context.Context, q Query) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		last, err := l.last(ctx)
		at, num := q.From, int64(0) // of the entry before the page
		q.Limit = exportRows
		for err == nil {
			var page []Entry
			err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
				query, args := q.oldestFirst(tx, at, num, last)
				page, err = sqldb.Collect(ctx, tx, scan, query, args...)
				return err
			})
			if err != nil {
				break
			}
			if len(page) > 0 && !yield(page, nil) || len(page) < exportRows {
				return
			}
			at, num = page[len(page)-1].At, page[len(page)-1].Num
		}
		yield(nil, fault.Wrap("audit.export", err))
	}
}

// last is the number of the newest entry.
func (l *Log) last(ctx context.Context) (num int64, err error) {
	err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		err := tx.Row(ctx, "SELECT num FROM audit_log ORDER BY num DESC LIMIT 1").Scan(&num)
		if errors.Is(err, sqldb.ErrNoRow) {
			return nil
		}
		return err
	})
	return num, err
}

// oldestFirst is the statement of a page after an instant, which replaces From, and a number.
func (q Query) oldestFirst(tx *sqldb.Tx, at canonical.Stamp, num, last int64) (string, []any) {
	q.From = 0
	var b sqldb.Binds
	return selectEntries + q.from(tx, &b) + " AND (at, num) > (" + b.Add(at) + ", " + b.Add(num) + ") AND num <= " +
		b.Add(last) + " ORDER BY at, num LIMIT " + b.Add(q.Limit), b.Args()
}
