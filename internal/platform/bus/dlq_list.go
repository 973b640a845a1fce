package bus

import (
	"context"
	"strconv"
	"strings"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// DeadFilter selects dead letters of a tenant. Empty fields select everything; without a status, OPEN ones.
type DeadFilter struct {
	Status           []Status
	Consumer         string
	EventType        string
	Key              string
	ReasonClass      fault.ReasonClass
	DeadFrom, DeadTo wire.Stamp // inclusive, exclusive
}

// Matches ignores the status.
func (f *DeadFilter) Matches(l *DeadLetter) bool {
	return (f.Consumer == "" || l.Consumer == f.Consumer) && (f.EventType == "" || l.EventType == f.EventType) &&
		(f.Key == "" || l.Key == f.Key) && (f.ReasonClass == "" || l.ReasonClass == f.ReasonClass) &&
		l.DeadAt >= f.DeadFrom && (f.DeadTo == 0 || l.DeadAt < f.DeadTo)
}

// where is the condition and its arguments. Statuses are literals, so that the index returns them in order; few
// combinations are used.
func (f *DeadFilter) where(tenant string) (string, []any) {
	statuses := []string{strconv.Itoa(int(Open))}
	if len(f.Status) > 0 {
		statuses = statuses[:0]
		for _, s := range f.Status {
			statuses = append(statuses, strconv.Itoa(int(s)))
		}
	}
	where, args := "tenant_id = $1 AND status IN ("+strings.Join(statuses, ", ")+")", []any{tenant}
	add := func(condition string, value any) {
		args = append(args, value)
		where += " AND " + condition + strconv.Itoa(len(args))
	}
	for _, word := range []struct{ condition, value string }{
		{"consumer = $", f.Consumer},
		{"event_type = $", f.EventType},
		{"partition_key = $", f.Key},
		{"reason_class = $", string(f.ReasonClass)},
	} {
		if word.value != "" {
			add(word.condition, word.value)
		}
	}
	if f.DeadFrom > 0 {
		add("dead_at >= $", f.DeadFrom)
	}
	if f.DeadTo > 0 {
		add("dead_at < $", f.DeadTo)
	}
	return where, args
}

// DeadLetters is a page of selected dead letters, newest first, and their number.
func (b *Bus) DeadLetters(
	ctx context.Context, tenant string, f DeadFilter, offset, limit int,
) (page []DeadLetter, total int, err error) {
	where, args := f.where(tenant)
	err = b.read(ctx, "bus.dead", func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Row(ctx, "SELECT count(*) FROM bus_dead WHERE "+where, args...).Scan(&total); err != nil {
			return err
		}
		n := len(args)
		page, err = deadRows(ctx, tx, "SELECT "+deadColumns+" FROM bus_dead WHERE "+where+
			" ORDER BY num DESC LIMIT $"+strconv.Itoa(n+1)+" OFFSET $"+strconv.Itoa(n+2),
			append(args, limit, offset)...)
		return err
	})
	return page, total, err
}

// WalkDead returns up to limit selected dead letters after a number, in order.
func (b *Bus) WalkDead(
	ctx context.Context, tenant string, f DeadFilter, after int64, limit int,
) (page []DeadLetter, err error) {
	where, args := f.where(tenant)
	err = b.read(ctx, "bus.dead", func(ctx context.Context, tx *sqldb.Tx) error {
		n := len(args)
		page, err = deadRows(ctx, tx, "SELECT "+deadColumns+" FROM bus_dead WHERE "+where+
			" AND num > $"+strconv.Itoa(n+1)+" ORDER BY num LIMIT $"+strconv.Itoa(n+2), append(args, after, limit)...)
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
		query += queriesIn(tx).holdDead
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
	var all []DeadLetter
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return nil, err
		}
		l, err := scanDead(row)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}
