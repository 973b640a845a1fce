package store

import "slices"

// holes says which numbers may be passed on PostgreSQL, where numbers are taken in one
// order and committed in another. A number that is missing belongs to a transaction
// that is still running, or that was undone. So a source stops before it, until every
// transaction has ended that was running when it was missed and could have taken it:
// what is missing then will not come any more.
//
// Those are the transactions that held a lock on the log: it is taken before a number,
// kept to the end, and given back after what was written can be seen. All others, which
// may run for hours, are not waited for.
//
// What the ids of transactions tell is not enough. The xmax of a snapshot is one more
// than the newest transaction that has ended, and a younger one may hold the number. To
// pass everything that is older than the oldest running transaction would be worse: the
// second row of an execution could be told before the first.
type holes struct {
	settled int64    // what is missing up to here will not come
	top     int64    // what is missing up to here is waited for; 0: nothing is
	holders []string // who held a lock on the log after top was seen
}

// wait begins to wait for what is missing below a number that was seen before the
// holders were asked for.
func (h *holes) wait(top int64, holders []string) { h.top, h.holders = top, holders }

// settle ends the wait when none of the holders is running any more. What is looked at
// afterwards has all that they have written.
func (h *holes) settle(running []string) {
	if !slices.ContainsFunc(h.holders, func(held string) bool { return slices.Contains(running, held) }) {
		h.settled, h.top, h.holders = h.top, 0, nil
	}
}

// passable is how many of the rows behind a number may be passed.
func (h *holes) passable(number int64, rows []numbered) int {
	for i := range rows {
		if rows[i].number != number+1 && rows[i].number > h.settled {
			return i
		}
		number = rows[i].number
	}
	return len(rows)
}
