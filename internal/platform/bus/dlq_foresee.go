package bus

import (
	"cmp"
	"context"
	"slices"

	"renga.dev/renga/internal/platform/sqldb"
)

// Foreseen is a dead letter and what a redrive or a skip of it would do.
type Foreseen struct {
	DeadLetter
	Verdict Verdict // "" unless it is OPEN
	// SkipMakesStale is how many older events of its key, open or being redriven, a
	// skip would make stale: what is skipped counts as taken. Only a consumer that
	// continues after dead letters has such.
	SkipMakesStale int
}

const (
	foreseeChunk = 20   // dead letters whose bodies are read at once
	maxInFront   = 1000 // dead letters of one key that are looked at
)

// ForeseeDead previews a redrive of all dead letters that a filter selects, in the order of their numbers; without a
// filter, of each alone. The preview is of now. One that does not exist has no ID.
func (b *Bus) ForeseeDead(ctx context.Context, tenant string, f *DeadFilter, ids []string) ([]Foreseen, error) {
	all := make([]Foreseen, 0, len(ids))
	for part := range slices.Chunk(ids, foreseeChunk) {
		var some []Foreseen
		err := b.read(ctx, "bus.foresee", func(ctx context.Context, tx *sqldb.Tx) (err error) {
			some, err = foresee(ctx, tx, tenant, f, part, false)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// foresee is ForeseeDead in a transaction, which holds the dead letters until its end
// when it is to write.
func foresee(
	ctx context.Context, tx *sqldb.Tx, tenant string, f *DeadFilter, ids []string, hold bool,
) ([]Foreseen, error) {
	letters, bodies := make([]DeadLetter, len(ids)), make([][]byte, len(ids))
	if err := deadByID(ctx, tx, tenant, ids, deadInto{letters, bodies, hold}); err != nil {
		return nil, err
	}
	out := make([]Foreseen, len(ids))
	var open []DeadLetter
	var theirs [][]byte
	for i := range letters {
		out[i].DeadLetter = letters[i]
		if letters[i].ID != "" && letters[i].Status == Open {
			open, theirs = append(open, letters[i]), append(theirs, bodies[i])
		}
	}
	processed, err := processedOf(ctx, tx, open, theirs)
	if err != nil {
		return nil, err
	}
	facts, err := factsOf(ctx, tx, open)
	if err != nil {
		return nil, err
	}
	selected, err := selectedOf(ctx, tx, f, facts, tenant)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if l := &out[i].DeadLetter; l.ID != "" && l.Status == Open {
			out[i].Verdict = judgeLast(*facts[l.consumerKey()], inFront(selected[l.consumerKey()], l), processed)
			out[i].SkipMakesStale = facts[l.consumerKey()].olderThan(l.version())
		}
	}
	return out, nil
}

// selectSame gives the open dead letters of a key. It names neither the tenant nor an
// order, so that no index but that of keys serves it.
const selectSame = "SELECT " + deadColumns + ` FROM bus_dead
	WHERE consumer = $1 AND partition_key = $2 AND status = 0 LIMIT $3`

// selectedOf gives the open dead letters of each key that a filter selects, in order.
func selectedOf(
	ctx context.Context, tx *sqldb.Tx, f *DeadFilter, keys map[consumerKey]*keyFacts, tenant string,
) (map[consumerKey][]DeadLetter, error) {
	selected := map[consumerKey][]DeadLetter{}
	if f == nil {
		return selected, nil
	}
	for k := range keys {
		same, err := deadRows(ctx, tx, selectSame, k.consumer, k.key, maxInFront)
		if err != nil {
			return nil, err
		}
		selected[k] = slices.DeleteFunc(same, func(l DeadLetter) bool { return l.Tenant != tenant || !f.Matches(&l) })
		slices.SortFunc(selected[k], func(a, b DeadLetter) int { return cmp.Compare(a.Num, b.Num) })
	}
	return selected, nil
}

// inFront gives the dead letters of a key that are redriven before one of them, and this one at the end.
func inFront(selected []DeadLetter, last *DeadLetter) (order []DeadLetter) {
	for i := range selected {
		if selected[i].Num < last.Num {
			order = append(order, selected[i])
		}
	}
	return append(order, *last)
}

// judgeLast is the verdict about the last of some dead letters of a key. A duplicate among those before it would be
// found by its version.
func judgeLast(k keyFacts, order []DeadLetter, processed map[string]bool) Verdict {
	candidates := make([]candidate, len(order))
	for i := range order {
		candidates[i] = candidate{order[i].version(), processed[order[i].ID]}
	}
	return judge(k, candidates)[len(order)-1]
}
