package bustest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

func newStream(r *rig) {
	first := r.ensure(events.Events)
	if first.First != 1 || first.Last != 0 || first.Created.IsZero() ||
		first.Created != first.Created.Truncate(time.Millisecond) {
		r.Errorf("it is %+v", first)
	}
	r.publish(r.message(0), r.message(1))
	again := r.ensure(events.Events)
	if !again.Created.Equal(first.Created) || again.First != 1 || again.Last != 2 {
		r.Errorf("then it is %+v, before it was %+v", again, first)
	}
	if other := r.ensure(events.Executions); other.Last != 0 {
		r.Errorf("the other stream is %+v", other)
	}
	if r.Carrier().Connections() == 0 {
		r.Error("no connection is counted")
	}
}

func asSent(r *rig) {
	r.ensure(events.Executions)
	for _, s := range []events.Stream{events.Events, events.Executions} {
		msgs := r.messages(2, 8)
		for i := range msgs {
			msgs[i].Stream = s
			if s == events.Executions {
				msgs[i].Type = events.ExecutionChanged
			}
		}
		msgs[1].Key = " 商談:t:東京 𠮷 100% \"é\" "
		msgs[2].Tenant = "東京-$_/\\#\"%20"
		msgs[3].Body = []byte("{\"s\":\"" + strings.Repeat("x", events.MaxEvent-8) + "\"}")
		msgs[4].Body = []byte{}
		msgs[5].Relay = bus.Relay{Epoch: 1 << 62, At: 1 << 50, Source: 1 << 61}
		msgs[6].Key, msgs[6].Service = "", ""
		msgs[7].Key = strings.Repeat("𠮷", 255)
		want := r.publish(msgs...)
		got := r.next(r.read(bus.From{Stream: s, Part: 2}), len(want))
		for i := range got {
			if got[i].Body == nil {
				got[i].Body = []byte{}
			}
		}
		r.same(got, want)
	}
}

func inOrder(r *rig) {
	const waves, size = 40, 13 * events.Partitions
	var readers sync.WaitGroup
	got := make([][]bus.Message, events.Partitions)
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	for part := range events.Partitions {
		f := r.read(bus.From{Stream: events.Events, Part: part})
		readers.Go(func() {
			for len(got[part]) < waves*size/events.Partitions && ctx.Err() == nil {
				msgs, err := f.Next(ctx, 64)
				if err != nil {
					r.Errorf("partition %d: %v", part, err)
					return
				}
				got[part] = append(got[part], msgs...)
			}
		})
	}
	want := make([][]bus.Message, events.Partitions)
	for range waves {
		var wave []bus.Message
		for i := range size {
			wave = append(wave, r.message(i%events.Partitions))
		}
		for _, m := range r.publish(wave...) {
			want[m.Part] = append(want[m.Part], m)
		}
	}
	readers.Wait()
	for part := range want {
		// Of one wave any order will do.
		slices.SortFunc(want[part], func(a, b bus.Message) int { return int(a.Seq) - int(b.Seq) })
		r.same(got[part], want[part])
	}
	if info := r.ensure(events.Events); info.Last != waves*size {
		r.Errorf("the stream ends at %d, want %d", info.Last, waves*size)
	}
}

func filtered(r *rig) {
	types := []string{"RecordCreated", "RecordUpdated", "RecordDeleted"}
	var msgs []bus.Message
	for i := range 30 {
		m := r.message(i % 2)
		m.Type = types[i%3]
		msgs = append(msgs, m)
	}
	for i := range msgs { // one by one, so that their order is known
		msgs[i] = r.publish(msgs[i])[0]
	}
	for _, wanted := range [][]string{nil, {"RecordDeleted"}, {"RecordUpdated", "RecordCreated"}, {"OwnerChanged"}} {
		want := slices.DeleteFunc(slices.Clone(msgs), func(m bus.Message) bool {
			return m.Part != 1 || len(wanted) > 0 && !slices.Contains(wanted, m.Type)
		})
		f := r.read(bus.From{Stream: events.Events, Part: 1, Types: wanted})
		r.same(r.next(f, len(want)), want)
		r.within(maxWait, "the end of the stream", func(ctx context.Context) error {
			if more, err := f.Next(ctx, 10); len(more) > 0 || err != nil {
				r.Fatalf("of %v there was more: %v, %v", wanted, more, err)
			}
			if got, want := f.Upto(), msgs[len(msgs)-1].Seq; got != want {
				return fault.New(fault.Unavailable, "", "of %v everything was given up to %d, want %d", wanted, got,
					want)
			}
			return nil
		})
	}
}

func resumed(r *rig) {
	info := r.ensure(events.Events)
	var msgs []bus.Message
	for i := range 60 {
		msgs = append(msgs, r.publish(r.message(i%3))...)
	}
	mine := slices.DeleteFunc(slices.Clone(msgs), func(m bus.Message) bool { return m.Part != 2 })
	for after := range uint64(61) {
		f := r.read(bus.From{Stream: events.Events, Created: info.Created, Part: 2, After: after})
		want := slices.DeleteFunc(slices.Clone(mine), func(m bus.Message) bool { return m.Seq <= after })
		got := r.next(f, len(want))
		r.same(got, want)
		if len(want) > 0 && f.Upto() < want[len(want)-1].Seq {
			r.Errorf("after %d: everything was given up to %d", after, f.Upto())
		}
		f.Close()
	}
}

func nextEnds(r *rig) {
	f := r.read(bus.From{Stream: events.Events})
	ctx, cancel := context.WithCancel(r.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if msgs, err := f.Next(ctx, 1); len(msgs) > 0 || err != nil || ctx.Err() == nil {
		r.Errorf("with its context: %v, %v", msgs, err)
	}
	began := time.Now()
	if msgs, err := f.Next(r.Context(), 1); len(msgs) > 0 || err != nil || time.Since(began) < 500*time.Millisecond {
		r.Errorf("without a message: %v, %v after %v", msgs, err, time.Since(began))
	}
	want := r.publish(r.message(0))
	for range 4 {
		want = append(want, r.publish(r.message(0))...)
	}
	got := r.next(f, 2)
	r.same(got, want[:2])
	r.within(maxWait, "three that are pending", func(context.Context) error { // they may be on their way
		if got := f.Pending(); got != 3 {
			return fault.New(fault.Unavailable, "", "%d are pending, want 3", got)
		}
		return nil
	})
	if msgs, err := f.Next(ctx, 1); len(msgs) > 1 || err != nil { // it may give one: it is there
		r.Errorf("after the end: %v, %v", msgs, err)
	} else {
		r.same(append(msgs, r.next(f, 3-len(msgs))...), want[2:])
	}
	if got := f.Pending(); got != 0 {
		r.Errorf("%d are pending, want none", got)
	}
}

func repeated(r *rig) {
	one := r.publish(r.message(0))[0]
	if again := r.publish(one)[0]; again.Seq != one.Seq {
		r.Errorf("it was stored again at %d", again.Seq)
	}
	risen := one
	risen.Relay.Epoch++
	risen = r.publish(risen)[0]
	if risen.Seq != one.Seq+1 {
		r.Errorf("after a loss it is at %d, want %d", risen.Seq, one.Seq+1)
	}
	r.same(r.next(r.read(bus.From{Stream: events.Events}), 2), []bus.Message{one, risen})
}

func refused(r *rig) {
	r.ensure(events.Events)
	msgs := r.messages(0, 8)
	msgs[1].Tenant = "a.b"
	msgs[2].Tenant = "*"
	msgs[3].Type = ">"
	msgs[4].Key = "a\r\nNats-Rollup: all"
	msgs[5].Body = make([]byte, events.MaxEvent+1)
	msgs[6].Part = events.Partitions
	var acks []bus.Ack
	r.within(maxWait, "publishing", func(ctx context.Context) error {
		acks = r.Carrier().Publish(ctx, msgs)
		for _, i := range []int{0, 7} {
			// somebody is being elected; what is stored is not stored again
			if fault.KindOf(acks[i].Err) == fault.Unavailable {
				return acks[i].Err
			}
		}
		return nil
	})
	for i, ack := range acks {
		switch want := [...]fault.Kind{5: fault.TooLarge, 7: 0}[i]; {
		case i == 0 || i == 7:
			if ack.Err != nil {
				r.Errorf("message %d: %v", i, ack.Err)
			}
		case want == fault.TooLarge:
			r.wantKind(ack.Err, fault.TooLarge)
		default:
			r.wantKind(ack.Err, fault.Invalid)
		}
	}
	if info := r.ensure(events.Events); info.Last != 2 {
		r.Errorf("the stream ends at %d, want 2", info.Last)
	}
}

func found(r *rig) {
	var msgs []bus.Message
	for i := range 6 {
		msgs = append(msgs, r.publish(r.message(i%2))...)
	}
	for _, want := range msgs {
		got, err := r.Carrier().At(r.Context(), events.Events, want.Seq)
		if err != nil {
			r.Fatal(err)
		}
		r.same([]bus.Message{got}, []bus.Message{want})
	}
	for part := range 2 {
		got, err := r.Carrier().Last(r.Context(), events.Events, part)
		if err != nil {
			r.Fatal(err)
		}
		r.same([]bus.Message{got}, []bus.Message{msgs[4+part]})
	}
	for _, seq := range []uint64{0, 7} {
		_, err := r.Carrier().At(r.Context(), events.Events, seq)
		r.wantKind(err, fault.NotFound)
	}
	_, err := r.Carrier().Last(r.Context(), events.Events, 3)
	r.wantKind(err, fault.NotFound)
	_, err = r.Carrier().Last(r.Context(), events.Executions, 0)
	r.wantKind(err, fault.NotFound)
}
