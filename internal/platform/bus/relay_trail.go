package bus

import (
	"context"
	"slices"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// milestone is a message that a stream has acknowledged, to be looked for later: when
// it is still at its place, so is everything that was sent until then.
type milestone struct {
	Seq    uint64
	Event  string     // its id; "": nothing is known of the message
	At     wire.Stamp // what was sent at or before is at or before Seq
	Number int64      // of the log: likewise
}

// trail is some milestones of a relay, oldest first. They lie the farther apart the
// older they are, so a few of them reach back as far as the outbox does, and what is
// published again after a loss is about twice what was lost.
type trail []milestone

const (
	trailStep = wire.Stamp(1000) // between the two newest, in milliseconds
	maxTrail  = 64               // milestones
)

// add appends a milestone if it is far enough from the one before, and gives those
// that are not needed any more.
func (t trail) add(m milestone) (next trail, added bool, gone []milestone) {
	if n := len(t); n > 0 && (m.Seq <= t[n-1].Seq || m.At < t[n-1].At+trailStep) {
		return t, false, nil
	}
	next = append(slices.Clone(t), m)
	for i := len(next) - 2; i > 0; i-- {
		// Without the one in the middle, the gap is no longer than the time since.
		if next[i+1].At-next[i-1].At <= max(m.At-next[i+1].At, trailStep) {
			gone = append(gone, next[i])
			next = slices.Delete(next, i, i+1)
		}
	}
	for len(next) > maxTrail {
		gone = append(gone, next[0])
		next = next[1:]
	}
	return next, true, gone
}

// last gives the newest milestone for which something holds, the zero milestone when
// it holds for none.
func (t trail) last(holds func(milestone) bool) milestone {
	for _, m := range slices.Backward(t) {
		if holds(m) {
			return m
		}
	}
	return milestone{}
}

// at is the newest milestone at or before a place, until that before a number.
func (t trail) at(seq uint64) milestone {
	return t.last(func(m milestone) bool { return m.Seq <= seq })
}

func (t trail) until(number int64) milestone {
	return t.last(func(m milestone) bool { return m.Number <= number })
}

// upto is the part of a trail that does not lead beyond a milestone.
func (t trail) upto(end milestone) trail {
	n := 0
	for n < len(t) && t[n].Seq <= end.Seq && t[n].At <= end.At {
		n++
	}
	return slices.Clone(t[:n])
}

// end is the newest milestone.
func (t trail) end() milestone {
	if len(t) == 0 {
		return milestone{}
	}
	return t[len(t)-1]
}

// readTrail reads the milestones of a relay.
func readTrail(ctx context.Context, tx *sqldb.Tx, source string, part int) (t trail, err error) {
	for row, err := range tx.Query(ctx, `SELECT seq, event, at, number FROM bus_trail
		WHERE source = $1 AND part = $2 ORDER BY seq`, source, part) {
		var m milestone
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

// addTrail is the statements that store a new milestone and drop others.
func (r *relay) addTrail(m milestone, gone []milestone) []sqldb.Stmt {
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
