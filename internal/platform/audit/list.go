package audit

import (
	"context"
	"strconv"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Log is the audit log, for readers.
type Log struct{ db *sqldb.DB }

// New makes the log of a database that has its table (Migration). It does no I/O.
func New(db *sqldb.DB) *Log { return &Log{db} }

// Query selects entries of a tenant. What is empty selects everything.
type Query struct {
	Tenant   string
	Action   string
	Actor    string
	Subject  string
	From, To wire.Stamp // inclusive, exclusive
	Offset   int        // under MaxListed
	Limit    int
}

// List is a page of the entries that match, newest first, and how many there are in
// all, counted up to MaxListed. Older ones than so many are reached by Query.To.
func (l *Log) List(ctx context.Context, q Query) (page []Entry, total int, err error) {
	if q.Offset >= MaxListed {
		return nil, 0, fault.New(fault.Invalid, wire.CodeInvalid,
			"a list goes back %d entries; use an earlier end of the range of time for older ones", MaxListed).With(
			map[string]string{"field": "page"})
	}
	err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		count, args := q.count(tx.Dialect())
		if err := tx.Row(ctx, count, args...).Scan(&total); err != nil {
			return err
		}
		page, err = Page(ctx, tx, q)
		return err
	})
	return page, total, fault.Wrap("audit.list", err)
}

// Page is the page of List by itself, for whoever counts otherwise and reads more in
// the same transaction.
func Page(ctx context.Context, tx *sqldb.Tx, q Query) (page []Entry, err error) {
	query, args := q.newestFirst(tx.Dialect())
	return collect(ctx, tx, query, append(args, q.Limit, q.Offset)...)
}

// Find is the statement that sets there when a tenant has an entry of this instant and id.
func Find(tenant string, at wire.Stamp, id string, there *bool) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "SELECT 1 FROM audit_log WHERE tenant_id = $1 AND at = $2 AND id = $3", Args: []any{tenant, at, id},
		Row: func(*sqldb.Row) error { *there = true; return nil },
	}
}

// table is what a query reads. On SQLite it names the index: that database knows
// nothing of sizes, and would walk all entries of a range of time, whoever's and about
// whatever they are.
func (q *Query) table(d sqldb.Dialect) string {
	if d != sqldb.SQLite {
		return "audit_log"
	}
	const by = "audit_log INDEXED BY "
	switch {
	case q.Subject != "":
		return by + "audit_log_subject"
	case q.Actor != "":
		return by + "audit_log_actor"
	case q.Action != "":
		return by + "audit_log_action"
	}
	return by + "audit_log_list"
}

// where is the condition of a query and its arguments. There are few different ones,
// so that the database knows them all.
func (q *Query) where() (string, []any) {
	where, args := "tenant_id = $1", []any{q.Tenant}
	add := func(condition string, value any) {
		args = append(args, value)
		where += " AND " + condition + strconv.Itoa(len(args))
	}
	for _, word := range []struct{ condition, value string }{
		{"action = $", q.Action}, {"actor = $", q.Actor}, {"subject = $", q.Subject},
	} {
		if word.value != "" {
			add(word.condition, word.value)
		}
	}
	if q.From > 0 {
		add("at >= $", q.From)
	}
	if q.To > 0 {
		add("at < $", q.To)
	}
	return where, args
}

// behind names the n-th argument behind some.
func behind(args []any, n int) string { return "$" + strconv.Itoa(len(args)+n) }

// count is the statement that counts what matches, and its arguments.
func (q *Query) count(d sqldb.Dialect) (string, []any) {
	where, args := q.where()
	return "SELECT count(*) FROM (SELECT 1 AS one FROM " + q.table(d) + " WHERE " + where + " LIMIT " +
		strconv.Itoa(MaxListed) + ") AS counted", args
}

// newestFirst is the statement of a page, and its arguments but limit and offset.
func (q *Query) newestFirst(d sqldb.Dialect) (string, []any) {
	where, args := q.where()
	return selectEntries + q.table(d) + " WHERE " + where + " ORDER BY at DESC, num DESC LIMIT " + behind(args, 1) +
		" OFFSET " + behind(args, 2), args
}

const selectEntries = `SELECT num, id, at, tenant_id, actor, action, subject, correlation_id, outcome, reason, reason_class, reason_code, retry_advice, detail
	FROM `

const selectAfter = selectEntries + "audit_log WHERE num > $1 ORDER BY num LIMIT $2"

// After gives up to limit entries of all tenants behind a number, in the order of their
// numbers. On PostgreSQL entries with lower numbers may appear later: sqldb.Holes says
// which of these may be passed.
func (l *Log) After(ctx context.Context, num int64, limit int) (page []Entry, err error) {
	err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		page, err = collect(ctx, tx, selectAfter, num, limit)
		return err
	})
	return page, fault.Wrap("audit.after", err)
}

// collect reads entries.
func collect(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (page []Entry, err error) {
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return nil, err
		}
		e, err := scan(row)
		if err != nil {
			return nil, err
		}
		page = append(page, e)
	}
	return page, nil
}

func scan(row *sqldb.Row) (e Entry, err error) {
	var detail string
	err = row.Scan(&e.Num, &e.ID, &e.At, &e.Tenant, &e.Actor, &e.Action, &e.Subject, &e.CorrelationID, &e.Outcome,
		&e.Reason,
		&e.ReasonClass, &e.ReasonCode, &e.RetryAdvice, &detail)
	e.Detail = []byte(detail)
	return e, err
}
