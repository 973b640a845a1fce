package sqldb

import (
	"context"
	"slices"
)

// Holes says which rows of a table may be passed by somebody who reads it in the order
// of its numbers and never goes back.
//
// On PostgreSQL numbers are taken in one order and committed in another. A number that is
// missing belongs to a transaction that is still running, or that was undone. So a reader
// stops before it, until every transaction has ended that was running when it was missed
// and could have taken it: what is missing then will not come any more.
//
// Those are the transactions that held a lock on the table: it is taken before a number,
// kept to the end, and given back after what was written can be seen. All others, which
// may run for hours, are not waited for. It follows that numbers must be taken by the
// statement that inserts the row, one at a time (no CACHE).
//
// What the ids of transactions tell is not enough. The xmax of a snapshot is one more
// than the newest transaction that has ended, and a younger one may hold the number. To
// pass everything that is older than the oldest running transaction would be worse: the
// second row of an execution could be told before the first.
//
// On SQLite, where one writes at a time, every row may be passed.
type Holes struct {
	db    *DB
	table string

	settled int64    // what is missing up to here will not come
	top     int64    // what is missing up to here is waited for; 0: nothing is
	holders []string // who held a lock on the table after top was seen
}

// NewHoles is for one reader of a table.
func NewHoles(db *DB, table string) *Holes { return &Holes{db: db, table: table} }

// Pass says how many of the rows behind a number may be passed. look reads which rows
// there are, in a transaction of its own, and gives their numbers in order. When the
// first is behind a hole, Pass looks twice: mostly the transaction was undone and is gone.
func (h *Holes) Pass(ctx context.Context, number int64, look func(context.Context) ([]int64, error)) (int, error) {
	for again := false; ; again = true {
		if err := h.settle(ctx); err != nil {
			return 0, err
		}
		numbers, err := look(ctx)
		if err != nil {
			return 0, err
		}
		n := len(numbers)
		if h.db.dialect == &postgresDialect {
			n = h.passable(number, numbers)
		}
		if n == len(numbers) || h.top != 0 {
			return n, nil
		}
		holders, err := h.running(ctx)
		if err != nil {
			return 0, err
		}
		h.top, h.holders = numbers[len(numbers)-1], holders
		if n > 0 || again {
			return n, nil
		}
	}
}

// settle gives up what is missing when none of those who could have it is running any
// more. What is looked at afterwards has all that they have written.
func (h *Holes) settle(ctx context.Context) error {
	if h.top == 0 {
		return nil
	}
	running, err := h.running(ctx)
	if err == nil && !slices.ContainsFunc(h.holders, func(held string) bool { return slices.Contains(running, held) }) {
		h.settled, h.top, h.holders = h.top, 0, nil
	}
	return err
}

// passable is how many of the rows behind a number may be passed.
func (h *Holes) passable(number int64, numbers []int64) int {
	for i, found := range numbers {
		if found != number+1 && found > h.settled {
			return i
		}
		number = found
	}
	return len(numbers)
}

// pgHolders is who has inserted into a table, or is about to, and has not ended.
const pgHolders = `SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND relation = $1::text::regclass
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND mode = 'RowExclusiveLock'`

// running are the transactions that may have numbers which cannot be seen.
func (h *Holes) running(ctx context.Context) (all []string, err error) {
	err = h.db.Read(ctx, func(ctx context.Context, tx *Tx) error {
		all = nil
		return tx.Batch(ctx, Stmt{Query: pgHolders, Args: []any{h.table}, Row: func(r *Row) error {
			var holder string
			err := r.Scan(&holder)
			all = append(all, holder)
			return err
		}})
	})
	return all, err
}
