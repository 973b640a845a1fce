package bus

import (
	"cmp"
	"context"
	"slices"

	"renga.dev/renga/internal/platform/sqldb"
)

// Foreseen is a dead letter with a preview of its redrive or skip.
type Foreseen struct {
	DeadLetter
	Verdict Verdict // "": not OPEN
	// SkipMakesStale is how many older events of the key, open or being redriven, a skip would make stale, since a
	// skipped event counts as applied. Only a consumer that continues after dead letters has any.
	SkipMakesStale int
}

const (
	foreseeChunk = 20   // bodies read at once
	maxInFront   = 1000 // dead letters of a key
)

// ForeseeDead previews a redrive of all dead letters that a filter selects, in order; nil: of each alone. A missing
// one has no ID.
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

// foresee is ForeseeDead in a transaction; hold locks the dead letters until its end.
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

// selectSame selects the open dead letters of a key. It names neither tenant nor order, so that only the index of
// keys fits.
const selectSame = "SELECT " + deadColumns + ` FROM bus_dead
	WHERE consumer = $1 AND partition_key = $2 AND status = 0 LIMIT $3`

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

// inFront returns the dead letters redriven before one, and that one at the end.
func inFront(selected []DeadLetter, last *DeadLetter) (order []DeadLetter) {
	for i := range selected {
		if selected[i].Num < last.Num {
			order = append(order, selected[i])
		}
	}
	return append(order, *last)
}

// judgeLast is the verdict about the last of some dead letters of a key. Duplicates before it show by their versions.
func judgeLast(k keyFacts, order []DeadLetter, processed map[string]bool) Verdict {
	candidates := make([]candidate, len(order))
	for i := range order {
		candidates[i] = candidate{order[i].version(), processed[order[i].ID]}
	}
	return judge(k, candidates)[len(order)-1]
}
