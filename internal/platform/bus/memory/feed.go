package memory

import (
	"context"
	"slices"
	"sort"
	"time"

	"renga.dev/renga/internal/platform/bus"
)

// idle is how long Next waits for a message.
const idle = time.Second

type feed struct {
	c       *Carrier
	st      *stream
	from    bus.From
	upto    uint64
	cuts    int // truncations seen
	pending uint64
}

func (c *Carrier) Read(ctx context.Context, from bus.From) (bus.Feed, error) {
	f := &feed{c: c, from: from, upto: from.After}
	err := c.do(ctx, func() error {
		f.st = c.streams[from.Stream]
		switch {
		case f.st == nil:
			return bus.Lost("there is no stream")
		case !from.Created.IsZero() && !from.Created.Equal(f.st.created):
			return bus.Lost("the stream is of %v, the place of one of %v", f.st.created, from.Created)
		}
		f.cuts = len(f.st.cuts)
		if err := f.check(); err != nil || from.AfterID == "" || from.After < f.st.first {
			return err
		}
		i := sort.Search(len(f.st.msgs), func(i int) bool { return f.st.msgs[i].Seq >= from.After })
		if f.st.msgs[i].ID != from.AfterID {
			return bus.Lost("message %d is another one than before", from.After)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// check says why the feed cannot continue; nil: it can.
func (f *feed) check() error {
	if f.c.streams[f.from.Stream] != f.st {
		return bus.Lost("the stream is gone")
	}
	for ; f.cuts < len(f.st.cuts); f.cuts++ {
		if f.upto > f.st.cuts[f.cuts] {
			return bus.Lost("the stream was cut to %d, before %d", f.st.cuts[f.cuts], f.upto)
		}
	}
	switch {
	case f.upto > f.st.last:
		return bus.Lost("the stream ends at %d, before %d", f.st.last, f.upto)
	case f.upto+1 < f.st.first:
		return bus.Gap(f.upto, f.st.first)
	}
	return nil
}

func (f *feed) Next(ctx context.Context, limit int) (got []bus.Message, err error) {
	late := time.NewTimer(idle)
	defer late.Stop()
	for {
		var changed chan struct{}
		err := f.c.do(context.WithoutCancel(ctx), func() error {
			changed = f.c.changed
			if err := f.check(); err != nil {
				return err
			}
			got = f.read(limit)
			return nil
		})
		if len(got) > 0 || err != nil {
			return got, err
		}
		select {
		case <-changed:
		case <-late.C:
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		}
	}
}

func (f *feed) read(limit int) (got []bus.Message) {
	msgs := f.st.msgs
	begin := sort.Search(len(msgs), func(i int) bool { return msgs[i].Seq > f.upto })
	f.pending = 0
	for i := begin; i < len(msgs); i++ {
		switch {
		case !f.wants(&msgs[i]):
		case len(got) < limit:
			got = append(got, msgs[i])
			f.upto = msgs[i].Seq
		default:
			f.pending++
		}
	}
	if f.pending == 0 {
		f.upto = f.st.last
	}
	return got
}

func (f *feed) wants(m *bus.Message) bool {
	return m.Part == f.from.Part && (len(f.from.Types) == 0 || slices.Contains(f.from.Types, m.Type))
}

func (f *feed) Upto() uint64    { return f.upto }
func (f *feed) Pending() uint64 { return f.pending }
func (f *feed) Close()          {}
