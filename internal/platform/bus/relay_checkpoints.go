package bus

import (
	"context"
	"slices"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// checkpoint is a message that a stream acknowledged. When it is still at its sequence, so is everything that was sent
// before it.
type checkpoint struct {
	Seq    uint64
	Event  string     // its id; "": nothing is known of the message
	At     wire.Stamp // everything sent until then is at or before Seq
	Number int64      // of the log: likewise
}

// checkpoints are those of a relay, oldest first. The older, the farther apart, so a few of them reach back as far as
// the outbox does, and what is published again after a loss is about twice what was lost.
type checkpoints []checkpoint

const (
	checkpointStep = wire.Stamp(1000) // between the two newest, in milliseconds
	maxCheckpoints = 64               // checkpoints
)

// add appends a checkpoint if it is far enough from the last one, and gives those that are not needed any more.
func (t checkpoints) add(m checkpoint) (next checkpoints, added bool, gone []checkpoint) {
	if n := len(t); n > 0 && (m.Seq <= t[n-1].Seq || m.At < t[n-1].At+checkpointStep) {
		return t, false, nil
	}
	next = append(slices.Clone(t), m)
	for i := len(next) - 2; i > 0; i-- {
		// Without the one in the middle, the gap is no longer than the time since.
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

// last gives the newest checkpoint for which something holds, the zero checkpoint when it holds for none.
func (t checkpoints) last(holds func(checkpoint) bool) checkpoint {
	for _, m := range slices.Backward(t) {
		if holds(m) {
			return m
		}
	}
	return checkpoint{}
}

// at is the newest checkpoint at or before a sequence, until the newest at or before a number of the log.
func (t checkpoints) at(seq uint64) checkpoint {
	return t.last(func(m checkpoint) bool { return m.Seq <= seq })
}

func (t checkpoints) until(number int64) checkpoint {
	return t.last(func(m checkpoint) bool { return m.Number <= number })
}

// upto are the checkpoints that are not beyond another one.
func (t checkpoints) upto(end checkpoint) checkpoints {
	n := 0
	for n < len(t) && t[n].Seq <= end.Seq && t[n].At <= end.At {
		n++
	}
	return slices.Clone(t[:n])
}

// end is the newest checkpoint.
func (t checkpoints) end() checkpoint {
	if len(t) == 0 {
		return checkpoint{}
	}
	return t[len(t)-1]
}

// readCheckpoints reads the checkpoints of a relay.
func readCheckpoints(ctx context.Context, tx *sqldb.Tx, source string, part int) (t checkpoints, err error) {
	for row, err := range tx.Query(ctx, `SELECT seq, event, at, number FROM bus_trail
		WHERE source = $1 AND part = $2 ORDER BY seq`, source, part) {
		var m checkpoint
		if err == nil {
			err = row.Scan(&m.Seq, &m.Event, &m.At, &m.Number)
		}
		if err != nil {
			return nil, err
		}
		t = append(t, m)
	}
	return t, nil
}

// insertCheckpoint are the statements that store a new checkpoint and delete others.
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
