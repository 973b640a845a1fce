package store

// holes says which numbers may be passed on PostgreSQL, where numbers are taken in one
// order and committed in another. A number that is missing belongs to a transaction
// that is still running, or that was undone. So a source stops before it, until every
// transaction that was running when it was missed has ended: what is missing then will
// not come any more.
//
// A transaction writes its execution before it takes a number. So it has an id by
// then, and all numbers below one that is seen were taken by transactions with ids below
// one that is given out afterwards. The ids of a snapshot would not do: it knows the
// transactions that have ended, and one with a higher id may be running.
//
// To pass everything that is older than the oldest running transaction would be simpler
// and wrong: the second row of an execution could be told before the first.
type holes struct {
	settled int64 // what is missing up to here will not come
	top     int64 // what is missing up to here is waited for; 0: nothing is
	mark    int64 // an id that was given out when top had been seen
}

// settle learns of the oldest transaction that is running.
func (h *holes) settle(oldest int64) {
	if h.top > 0 && oldest >= h.mark {
		h.settled, h.top = h.top, 0
	}
}

// wait begins to wait for what is missing below a number that was seen before an id
// was given out.
func (h *holes) wait(top, mark int64) { h.top, h.mark = top, mark }

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
