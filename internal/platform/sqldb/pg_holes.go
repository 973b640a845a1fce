package sqldb

import (
	"context"
	"slices"
)

// Holes tells a reader that goes through a table in the order of its numbers, and never back, which rows it may pass.
//
// On PostgreSQL numbers are assigned in one order and committed in another. A missing number belongs to a transaction
// that still runs or was undone. So a reader stops before it until every transaction has ended that could have taken
// it: what is missing then will never appear.
//
// Those are the transactions that hold a lock on the table, which is taken before a number and released after the
// rows are visible. Others, which may run for hours, are not waited for. So the inserting statement itself must take
// the numbers, one at a time (no CACHE).
//
// Transaction ids do not suffice: the xmax of a snapshot is one more than the newest ended transaction, and a younger
// one may hold the number. Passing all that is older than the oldest running transaction would be wrong too: the
// second row of an execution could come before the first.
//
// On SQLite, with its one writer, every row may be passed.
type Holes struct {
	db    *DB
	table string

	settled int64    // what is missing up to here never comes
	top     int64    // what is missing up to here is waited for; 0: nothing
	holders []string // lock holders after top was seen
}

// NewHoles is for one reader of a table.
func NewHoles(db *DB, table string) *Holes { return &Holes{db: db, table: table} }

// Pass returns how many rows after a number may be passed. look reads the numbers that exist, in order, in a
// transaction of its own. When the first row is behind a hole, Pass looks twice: usually the transaction was undone
// and is gone.
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

// settle gives up on missing numbers when none of their possible owners runs any more. Later looks see all that these
// wrote.
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

func (h *Holes) passable(number int64, numbers []int64) int {
	for i, found := range numbers {
		if found != number+1 && found > h.settled {
			return i
		}
		number = found
	}
	return len(numbers)
}

// pgHolders are the transactions that insert into a table.
const pgHolders = `SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND relation = $1::text::regclass
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND mode = 'RowExclusiveLock'`

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
