package audit

import (
	"context"
	"strconv"
	"strings"

	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
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
			"a list goes back %d entries; use an earlier end of the range of time for older ones", MaxListed).With(map[string]string{"field": "page"})
	}
	where, args := q.where()
	err = l.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Row(ctx, countMatching(where), args...).Scan(&total); err != nil {
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
	where, args := q.where()
	return collect(ctx, tx, selectMatching(where), append(args, q.Limit, q.Offset)...)
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

func countMatching(where string) string {
	return "SELECT count(*) FROM (SELECT 1 AS one FROM audit_log WHERE " + where + " LIMIT " + strconv.Itoa(MaxListed) + ") AS counted"
}

const selectEntries = `SELECT num, id, at, tenant_id, actor, action, subject, correlation_id, outcome, reason, reason_class, reason_code, retry_advice, detail
	FROM audit_log WHERE `

const selectAfter = selectEntries + "num > $1 ORDER BY num LIMIT $2"

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

func selectMatching(where string) string {
	last := strings.Count(where, "$")
	return selectEntries + where + " ORDER BY at DESC, num DESC LIMIT $" + strconv.Itoa(last+1) + " OFFSET $" + strconv.Itoa(last+2)
}

func scan(row *sqldb.Row) (e Entry, err error) {
	var detail string
	err = row.Scan(&e.Num, &e.ID, &e.At, &e.Tenant, &e.Actor, &e.Action, &e.Subject, &e.CorrelationID, &e.Outcome, &e.Reason,
		&e.ReasonClass, &e.ReasonCode, &e.RetryAdvice, &detail)
	e.Detail = []byte(detail)
	return e, err
}
