package bus

import (
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// checkpoint is an acknowledged message. While it is at its sequence, everything sent before it is there too.
type checkpoint struct {
	Seq    uint64
	Event  string          // id; "": unknown
	At     canonical.Stamp // all sent until then is at or before Seq
	Number int64           // of the log: likewise
}

// raise moves a checkpoint to a message, unless it is at a later one.
func (m *checkpoint) raise(seq uint64, event string) {
	if seq > m.Seq {
		m.Seq, m.Event = seq, event
	}
}

// checkpoints are those of a relay, oldest first and the older the sparser: a few reach back as far as the outbox,
// and a loss of some messages republishes about twice as many.
type checkpoints []checkpoint

const (
	checkpointStep = canonical.Stamp(1000) // minimum distance in milliseconds
	maxCheckpoints = 64
)

// add appends a checkpoint if it is far enough from the last, and returns the superfluous ones.
func (t checkpoints) add(m checkpoint) (next checkpoints, added bool, gone []checkpoint) {
	if n := len(t); n > 0 && (m.Seq <= t[n-1].Seq || m.At < t[n-1].At+checkpointStep) {
		return t, false, nil
	}
	next = append(slices.Clone(t), m)
	for i := len(next) - 2; i > 0; i-- {
		// Without the one in the middle, the gap is no longer than its age.
		if next[i+1].At-next[i-1].At <= max(m.At-next[i+1].At, checkpointStep) {
			gone = append(gone, next[i])
			next = slices.Delete(next, i, i+1)
		}
	}
	for len(next) > maxCheckpoints {
		gone = append(gone, next[0])
		next = next[1:]
	}
	return next, true, gone
}

// last is the newest checkpoint that holds; zero: none.
func (t checkpoints) last(holds func(checkpoint) bool) checkpoint {
	for _, m := range slices.Backward(t) {
		if holds(m) {
			return m
		}
	}
	return checkpoint{}
}

// at is the newest checkpoint at or before a sequence, until that of a log number.
func (t checkpoints) at(seq uint64) checkpoint {
	return t.last(func(m checkpoint) bool { return m.Seq <= seq })
}

func (t checkpoints) until(number int64) checkpoint {
	return t.last(func(m checkpoint) bool { return m.Number <= number })
}

// upto are the checkpoints not beyond end.
func (t checkpoints) upto(end checkpoint) checkpoints {
	n := 0
	for n < len(t) && t[n].Seq <= end.Seq && t[n].At <= end.At {
		n++
	}
	return slices.Clone(t[:n])
}

func (t checkpoints) end() checkpoint {
	if len(t) == 0 {
		return checkpoint{}
	}
	return t[len(t)-1]
}

func scanCheckpoint(row *sqldb.Row) (m checkpoint, err error) {
	err = row.Scan(&m.Seq, &m.Event, &m.At, &m.Number)
	return m, err
}

// insertCheckpoint stores a checkpoint and deletes superfluous ones.
func (r *relay) insertCheckpoint(m checkpoint, gone []checkpoint) []sqldb.Stmt {
	stmts := []sqldb.Stmt{{
		Query: "INSERT INTO bus_trail (source, part, seq, event, at, number) VALUES ($1, $2, $3, $4, $5, $6)",
		Args:  []any{r.source, r.lease.part, m.Seq, m.Event, m.At, m.Number},
	}}
	for _, old := range gone {
		stmts = append(stmts, sqldb.Stmt{
			Query: "DELETE FROM bus_trail WHERE source = $1 AND part = $2 AND seq = $3",
			Args:  []any{r.source, r.lease.part, old.Seq},
		})
	}
	return stmts
}
