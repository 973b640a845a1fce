package bus

import (
	"cmp"
	"context"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

const (
	branchIdle = time.Second // how long next waits for an event
	joinOften  = time.Second // how often a branch tries to go on with a trunk
)

// branch is what a reader has of its stream: a feed of its own, or, where that is at the
// end, a part in the trunk. It promises what a Feed does.
type branch struct {
	carrier Carrier
	trunks  *trunks // nil: it is the only reader of its stream
	from    From
	own     Feed   // nil while it has a part in
	trunk   *trunk // this
	tried   time.Time

	upto    uint64
	pending uint64
	last    uint64 // place of the last event that it gave
	lastID  string // and its id
}

// branch opens a feed for a reader.
func (b *Bus) branch(ctx context.Context, from From) (*branch, error) {
	own, err := b.carrier.Read(ctx, from)
	if err != nil {
		return nil, err
	}
	br := &branch{carrier: b.carrier, from: from, own: own, upto: own.Upto(), last: from.After, lastID: from.AfterID}
	readers := 0
	for i := range b.cfg.Consumers {
		if b.cfg.Consumers[i].Stream == from.Stream {
			readers++
		}
	}
	if readers > 1 {
		br.trunks = &b.trunks
	}
	return br, nil
}

// next waits for events and gives up to limit of those that are there.
func (br *branch) next(ctx context.Context, limit int) ([]item, error) {
	if br.trunk != nil {
		got, ok := br.share(ctx, limit)
		if ok {
			return br.gave(got), nil
		}
		if err := br.part(ctx); err != nil {
			return nil, err
		}
	}
	msgs, err := br.own.Next(ctx, limit)
	if err != nil {
		return nil, err
	}
	items := make([]item, len(msgs))
	for i := range msgs {
		items[i] = examine(msgs[i])
	}
	br.upto, br.pending = br.own.Upto(), br.own.Pending()
	br.gave(items)
	if br.trunks != nil && br.pending == 0 && ctx.Err() == nil && time.Since(br.tried) >= joinOften {
		br.tried = time.Now()
		if br.trunks.join(ctx, br) {
			br.own.Close()
			br.own = nil
		}
	}
	return items, nil
}

func (br *branch) gave(items []item) []item {
	if n := len(items); n > 0 {
		br.last, br.lastID = items[n-1].Seq, items[n-1].ID
	}
	return items
}

// share waits for events in the trunk. ok is false when it does not have what follows.
func (br *branch) share(ctx context.Context, limit int) (got []item, ok bool) {
	idle := time.NewTimer(branchIdle)
	defer idle.Stop()
	for {
		got, grown, ok := br.trunk.after(br, limit)
		if !ok || len(got) > 0 {
			return got, ok
		}
		select {
		case <-grown:
		case <-idle.C:
			return nil, true
		case <-ctx.Done():
			return nil, true
		}
	}
}

// part leaves the trunk for a feed of its own.
func (br *branch) part(ctx context.Context) error {
	br.trunk.leave(br)
	br.trunk = nil
	from := br.place()
	info, err := br.carrier.Ensure(ctx, from.Stream)
	if err != nil {
		return err
	}
	if from.After+1 < info.First { // that is gone for its age; what came since was not wanted
		from.After, from.AfterID = br.upto, ""
	}
	own, err := br.carrier.Read(ctx, from)
	if err != nil {
		return err
	}
	br.own, br.upto = own, own.Upto()
	return nil
}

// place is from where a feed goes on for it: behind its last event, by which it is
// recognised that the stream is as it was.
func (br *branch) place() From {
	from := br.from
	from.After, from.AfterID = br.upto, ""
	if br.lastID != "" {
		from.After, from.AfterID = br.last, br.lastID
	}
	return from
}

// recognises reports whether the trunk has the last event of the branch where that was. One
// from before the trunk is looked for in the stream: what the stream loses from now on the
// trunk notices.
func (br *branch) recognises(ctx context.Context, t *trunk) bool {
	if br.lastID == "" {
		return true
	}
	t.mu.Lock()
	i, there := slices.BinarySearchFunc(t.items, br.last, func(it item, seq uint64) int { return cmp.Compare(it.Seq, seq) })
	if there || br.last > t.first {
		defer t.mu.Unlock()
		return there && t.items[i].ID == br.lastID
	}
	t.mu.Unlock()
	m, err := br.carrier.At(ctx, br.from.Stream, br.last)
	return err == nil && m.ID == br.lastID || err != nil && fault.KindOf(err) == fault.NotFound && br.goneForAge(ctx)
}

// goneForAge reports whether the stream begins behind the last event of the branch.
func (br *branch) goneForAge(ctx context.Context) bool {
	info, err := br.carrier.Ensure(ctx, br.from.Stream)
	return err == nil && br.last < info.First
}

func (br *branch) wants(typ string) bool {
	return len(br.from.Types) == 0 || slices.Contains(br.from.Types, typ)
}

// Close gives up what it holds.
func (br *branch) Close() {
	if br.trunk != nil {
		br.trunk.leave(br)
	}
	if br.own != nil {
		br.own.Close()
	}
}
