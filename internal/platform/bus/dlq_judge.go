package bus

import (
	"context"
	"slices"

	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// Verdict is the outcome of a redrive.
type Verdict string

const (
	WillApply   Verdict = "WILL_APPLY"   // unless it fails again
	WillBeStale Verdict = "STALE"        // a newer version of its key was applied
	IsDuplicate Verdict = "DUPLICATE"    // it was applied before
	IsConflict  Verdict = "CONFLICT"     // another event has its version
	BreaksOrder Verdict = "BREAKS_ORDER" // an older event of its key is open or parked
)

// keyFacts is the state of a consumer's key.
type keyFacts struct {
	applied keyVersion   // newest
	waiting []keyVersion // open, being redriven, or parked
}

// candidate is a dead letter to be redriven.
type candidate struct {
	keyVersion
	processed bool // marked as such
}

// judge returns the verdicts about dead letters of a key that are redriven in turn. Refused ones stay in front of
// later ones.
//
// An event older than the newest applied version can never take effect, so it holds up nothing. The version guard of
// the consumer agrees when the time comes.
func judge(k keyFacts, letters []candidate) []Verdict {
	verdicts := make([]Verdict, len(letters))
	waiting := slices.Clone(k.waiting)
	for i, l := range letters {
		verdicts[i] = k.judge(waiting, l)
		switch verdicts[i] {
		case WillApply:
			k.applied = l.keyVersion
		case IsConflict, BreaksOrder:
			continue
		}
		waiting = slices.DeleteFunc(waiting, func(p keyVersion) bool { return p.eventID == l.eventID })
	}
	return verdicts
}

func (k *keyFacts) judge(waiting []keyVersion, l candidate) Verdict {
	if l.version == 0 {
		return WillApply // its version was unreadable
	}
	switch admit(k.applied, l.keyVersion) {
	case stale:
		return WillBeStale
	case duplicate:
		return IsDuplicate
	case conflict:
		return IsConflict
	}
	if l.processed {
		return IsDuplicate
	}
	for _, p := range waiting {
		if k.before(p, l.keyVersion) {
			return BreaksOrder
		}
	}
	return WillApply
}

// before reports whether a waiting event can still take effect, unless another one comes first.
func (k *keyFacts) before(p, other keyVersion) bool {
	return p.eventID != other.eventID && p.compare(other) < 0 && p.compare(k.applied) > 0
}

// olderThan is how many waiting events an event of the key makes stale.
func (k *keyFacts) olderThan(other keyVersion) (n int) {
	for _, p := range k.waiting {
		if k.before(p, other) {
			n++
		}
	}
	return n
}

type consumerKey struct{ consumer, key string }

func (l *DeadLetter) consumerKey() consumerKey { return consumerKey{l.Consumer, l.Key} }

// maxParkedSeen bounds the search for a parked event older than a dead letter. They are parked in order, so it would
// be among the first.
const maxParkedSeen = 1000

func factsOf(ctx context.Context, tx *sqldb.Tx, letters []DeadLetter) (map[consumerKey]*keyFacts, error) {
	facts, newest := map[consumerKey]*keyFacts{}, map[consumerKey]keyVersion{}
	for i := range letters {
		k, p := letters[i].consumerKey(), letters[i].version()
		if facts[k] == nil || p.compare(newest[k]) > 0 {
			facts[k], newest[k] = &keyFacts{}, p
		}
	}
	var stmts []sqldb.Stmt
	for k, f := range facts {
		into := func(row *sqldb.Row) error {
			var p keyVersion
			err := row.Scan(&p.version, &p.index, &p.eventID)
			f.waiting = append(f.waiting, p)
			return err
		}
		stmts = append(stmts, sqldb.Stmt{
			Query: "SELECT version, idx, event_id FROM bus_applied WHERE consumer = $1 AND partition_key = $2",
			Args:  []any{k.consumer, k.key},
			Row: func(row *sqldb.Row) error {
				return row.Scan(&f.applied.version, &f.applied.index,
					&f.applied.eventID)
			},
		}, sqldb.Stmt{
			Query: "SELECT version, idx, event_id FROM bus_dead WHERE consumer = $1 AND partition_key = $2 AND " +
				"status IN (0, 1)",
			Args: []any{k.consumer, k.key}, Row: into,
		}, sqldb.Stmt{
			Query: `SELECT version, idx, event_id FROM (SELECT version, idx, event_id, dead FROM bus_parked
				WHERE consumer = $1 AND partition_key = $2 ORDER BY n LIMIT $5) AS first
				WHERE dead = 0 AND (version < $3 OR version = $3 AND idx < $4)`,
			Args: []any{k.consumer, k.key, newest[k].version, newest[k].index, maxParkedSeen}, Row: into,
		})
	}
	return facts, tx.Batch(ctx, stmts...)
}

const selectProcessed = `SELECT 1 FROM processed_events
	WHERE day = $1 AND consumer = $2 AND tenant_id = $3 AND event_id = $4`

// processedOf reports whose events are marked as processed. One with an unreadable body has no day to look up, and
// cannot have been applied.
func processedOf(ctx context.Context, tx *sqldb.Tx, letters []DeadLetter, bodies [][]byte) (map[string]bool, error) {
	processed := make(map[string]bool, len(letters))
	var stmts []sqldb.Stmt
	for i := range letters {
		l := &letters[i]
		e, err := events.ParseEvent(bodies[i])
		if err != nil {
			continue
		}
		stmts = append(stmts, sqldb.Stmt{
			Query: selectProcessed, Args: []any{dayOf(e.OccurredAt), l.Consumer, l.Tenant, l.EventID},
			Row: func(*sqldb.Row) error { processed[l.ID] = true; return nil },
		})
	}
	return processed, tx.Batch(ctx, stmts...)
}
