package bus

import (
	"context"
	"strconv"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// DeadFilter selects dead letters of a tenant. Empty fields select everything; without a status, OPEN ones.
type DeadFilter struct {
	Status           []Status
	Consumer         string
	EventType        string
	Key              string
	ReasonClass      fault.ReasonClass
	DeadFrom, DeadTo canonical.Stamp // inclusive, exclusive
}

// Matches ignores the status.
func (f *DeadFilter) Matches(l *DeadLetter) bool {
	return (f.Consumer == "" || l.Consumer == f.Consumer) && (f.EventType == "" || l.EventType == f.EventType) &&
		(f.Key == "" || l.Key == f.Key) && (f.ReasonClass == "" || l.ReasonClass == f.ReasonClass) &&
		l.DeadAt >= f.DeadFrom && (f.DeadTo == 0 || l.DeadAt < f.DeadTo)
}

// where is the condition and its arguments. Statuses are literals, so that the index returns them in order; few
// combinations are used.
func (f *DeadFilter) where(b *sqldb.Binds, tenant string) string {
	statuses := strconv.Itoa(int(Open))
	for i, s := range f.Status {
		if i == 0 {
			statuses = strconv.Itoa(int(s))
			continue
		}
		statuses += ", " + strconv.Itoa(int(s))
	}
	where := "tenant_id = " + b.Add(tenant) + " AND status IN (" + statuses + ")"
	where += andEqual(b, "consumer", f.Consumer) + andEqual(b, "event_type", f.EventType) +
		andEqual(b, "partition_key", f.Key) + andEqual(b, "reason_class", string(f.ReasonClass))
	if f.DeadFrom > 0 {
		where += " AND dead_at >= " + b.Add(f.DeadFrom)
	}
	if f.DeadTo > 0 {
		where += " AND dead_at < " + b.Add(f.DeadTo)
	}
	return where
}

// andEqual is the condition that a column has a value; "": no condition.
func andEqual(b *sqldb.Binds, column, value string) string {
	if value == "" {
		return ""
	}
	return " AND " + column + " = " + b.Add(value)
}

// DeadLetters is a page of selected dead letters, newest first, and their number.
func (b *Bus) DeadLetters(
	ctx context.Context, tenant string, f DeadFilter, offset, limit int,
) (page []DeadLetter, total int, err error) {
	err = b.read(ctx, "bus.dead", func(ctx context.Context, tx *sqldb.Tx) error {
		var args sqldb.Binds
		where := f.where(&args, tenant)
		if err := tx.Row(ctx, "SELECT count(*) FROM bus_dead WHERE "+where, args.Args()...).Scan(&total); err != nil {
			return err
		}
		page, err = deadRows(ctx, tx, "SELECT "+deadColumns+" FROM bus_dead WHERE "+where+
			" ORDER BY num DESC LIMIT "+args.Add(limit)+" OFFSET "+args.Add(offset), args.Args()...)
		return err
	})
	return page, total, err
}

// WalkDead returns up to limit selected dead letters after a number, in order.
func (b *Bus) WalkDead(
	ctx context.Context, tenant string, f DeadFilter, after int64, limit int,
) (page []DeadLetter, err error) {
	err = b.read(ctx, "bus.dead", func(ctx context.Context, tx *sqldb.Tx) error {
		var args sqldb.Binds
		query := "SELECT " + deadColumns + " FROM bus_dead WHERE " + f.where(&args, tenant) +
			" AND num > " + args.Add(after) + " ORDER BY num LIMIT " + args.Add(limit)
		page, err = deadRows(ctx, tx, query, args.Args()...)
		return err
	})
	return page, err
}

// OpenDead returns the open dead letters of a consumer's key, in order of death, in the transaction of a service that
// waits for an event.
func OpenDead(ctx context.Context, tx *sqldb.Tx, tenant, consumer, key string) ([]DeadLetter, error) {
	all, err := deadRows(ctx, tx, "SELECT "+deadColumns+` FROM bus_dead
		WHERE consumer = $1 AND partition_key = $2 AND tenant_id = $3 AND status = 0 ORDER BY num`,
		consumer, key, tenant)
	return all, fault.Wrap("bus.dead", err)
}

// DeadLettersOf returns dead letters in the order of their ids. A missing one has no ID.
func (b *Bus) DeadLettersOf(ctx context.Context, tenant string, ids []string) (all []DeadLetter, err error) {
	err = b.read(ctx, "bus.dead", func(ctx context.Context, tx *sqldb.Tx) error {
		all = make([]DeadLetter, len(ids))
		return deadByID(ctx, tx, tenant, ids, deadInto{letters: all})
	})
	return all, err
}

type deadInto struct {
	letters []DeadLetter
	bodies  [][]byte // nil: not read
	hold    bool     // lock them until the end of the transaction
}

func deadByID(ctx context.Context, tx *sqldb.Tx, tenant string, ids []string, into deadInto) error {
	query := "SELECT " + deadColumns
	if into.bodies != nil {
		query += ", body"
	}
	query += " FROM bus_dead WHERE id = $1 AND tenant_id = $2"
	if into.hold {
		query += queriesOf(tx).holdDead
	}
	stmts := make([]sqldb.Stmt, len(ids))
	for i, id := range ids {
		stmts[i] = sqldb.Stmt{Query: query, Args: []any{id, tenant}, Row: func(row *sqldb.Row) (err error) {
			if into.bodies == nil {
				into.letters[i], err = scanDead(row)
			} else {
				into.letters[i], err = scanDead(row, &into.bodies[i])
			}
			return err
		}}
	}
	return tx.Batch(ctx, stmts...)
}

func deadRows(ctx context.Context, tx *sqldb.Tx, query string, args ...any) ([]DeadLetter, error) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (DeadLetter, error) { return scanDead(row) }, query, args...)
}
