package bustest

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

func misplaced(r *rig) {
	info := r.ensure(events.Events)
	r.publish(r.messages(0, 5)...)
	for _, from := range []bus.From{
		{Stream: events.Events, After: 6},
		{Stream: events.Events, Created: info.Created.Add(time.Millisecond), After: 1},
		{Stream: events.Executions},
	} {
		_, err := r.Carrier().Read(r.Context(), from)
		r.wantKind(err, fault.Conflict)
	}
	r.read(bus.From{Stream: events.Events, Created: info.Created, After: 5})
	at, err := r.Carrier().At(r.Context(), events.Events, 3)
	if err != nil {
		r.Fatal(err)
	}
	r.read(bus.From{Stream: events.Events, After: 3, AfterID: at.ID})
	_, err = r.Carrier().Read(r.Context(), bus.From{Stream: events.Events, After: 2, AfterID: at.ID})
	r.wantKind(err, fault.Conflict)
}

func dropped(r *rig) {
	r.publish(r.messages(0, 9)...)
	r.Expire(r.T, events.Events, 5)
	if info := r.ensure(events.Events); info.First != 5 || info.Last != 9 {
		r.Fatalf("the stream is %+v", info)
	}
	for after := range uint64(4) {
		_, err := r.Carrier().Read(r.Context(), bus.From{Stream: events.Events, After: after})
		r.wantKind(err, fault.NotFound)
	}
	got := r.next(r.read(bus.From{Stream: events.Events, After: 4}), 5)
	if got[0].Seq != 5 || got[4].Seq != 9 {
		r.Errorf("got messages %d to %d, want 5 to 9", got[0].Seq, got[4].Seq)
	}
	_, err := r.Carrier().At(r.Context(), events.Events, 4)
	r.wantKind(err, fault.NotFound)
	r.Expire(r.T, events.Events, 10) // all
	if info := r.ensure(events.Events); info.First != 10 || info.Last != 9 {
		r.Errorf("when all is dropped the stream is %+v", info)
	}
	f := r.read(bus.From{Stream: events.Events, After: 9})
	if got := r.next(f, len(r.publish(r.message(0)))); got[0].Seq != 10 {
		r.Errorf("got message %d, want 10", got[0].Seq)
	}
}

func deleted(r *rig) {
	before := r.ensure(events.Events)
	r.publish(r.messages(0, 5)...)
	waits, behind := r.read(bus.From{Stream: events.Events}), r.read(bus.From{Stream: events.Events})
	r.next(waits, 5)
	r.Delete(r.T, events.Events)
	r.fails(waits, fault.Conflict)
	for _, ack := range r.Carrier().Publish(r.Context(), r.messages(0, 2)) {
		r.wantKind(ack.Err, fault.Unavailable)
	}
	after := r.ensure(events.Events)
	if after.Created.Equal(before.Created) || after.Last != 0 {
		r.Errorf("the new stream is %+v, the old one was %+v", after, before)
	}
	fresh := r.publish(r.messages(0, 20)...)
	for _, m := range r.fails(behind, fault.Conflict) { // it may still give what it had fetched
		if m.Seq > 5 || m.ID == fresh[m.Seq-1].ID {
			r.Errorf("the feed gives message %d of the new stream", m.Seq)
		}
	}
	_, err := r.Carrier().Read(r.Context(), bus.From{Stream: events.Events, Created: before.Created, After: 5})
	r.wantKind(err, fault.Conflict)
	r.next(r.read(bus.From{Stream: events.Events, Created: after.Created}), 20)
}

func restarted(r *rig) {
	info := r.ensure(events.Events)
	var want, got []bus.Message
	connections := r.Carrier().Connections()
	feed := r.read(bus.From{Stream: events.Events, Created: info.Created})
	for range 3 {
		for range 10 {
			want = append(want, r.persist(r.message(0)))
		}
		got = append(got, r.next(feed, len(want)-len(got)-5)...) // five are left for later
		carrier := r.Carrier()
		r.Restart(r.T)
		r.within(maxWait, "reading again", func(ctx context.Context) error {
			again, err := r.Carrier().Read(ctx, bus.From{
				Stream: events.Events, Created: info.Created,
				After: got[len(got)-1].Seq,
			})
			if err == nil {
				feed.Close()
				feed = again
			}
			return err
		})
		if now := r.Carrier().Connections(); r.Carrier() == carrier && now <= connections {
			r.Errorf("%d connections are counted, %d were before", now, connections)
		} else {
			connections = now
		}
	}
	r.Cleanup(feed.Close)
	r.same(append(got, r.next(feed, len(want)-len(got))...), want)
	if now := r.ensure(events.Events); !now.Created.Equal(info.Created) || now.Last != 30 {
		r.Errorf("the stream is %+v, it was %+v", now, info)
	}
	if again := r.persist(want[29]); again.Seq != want[29].Seq {
		r.Errorf("a repetition is stored at %d", again.Seq)
	}
}

func truncated(r *rig) {
	info := r.ensure(events.Events)
	r.publish(r.messages(0, 10)...)
	if !r.Save(r.T) {
		r.Skip("what was stored cannot be taken back")
	}
	lost := r.publish(r.messages(0, 10)...)
	if !r.Restore(r.T) {
		r.Fatal("it was saved and cannot be restored")
	}
	now := r.ensure(events.Events)
	if !now.Created.Equal(info.Created) || now.Last != 10 {
		r.Errorf("the stream is %+v, want it to be the same and to end at 10", now)
	}
	_, err := r.Carrier().Read(r.Context(), bus.From{Stream: events.Events, Created: info.Created, After: 20})
	r.wantKind(err, fault.Conflict)
	_, err = r.Carrier().At(r.Context(), events.Events, 20)
	r.wantKind(err, fault.NotFound)
	for i := range lost { // in another order
		r.publish(lost[len(lost)-1-i])
	}
	m, err := r.Carrier().At(r.Context(), events.Events, 20)
	if err != nil || m.ID != lost[0].ID {
		r.Errorf("message 20 is %s (%v), want %s", m.ID, err, lost[0].ID)
	}
	r.next(r.read(bus.From{Stream: events.Events, Created: info.Created, After: 10}), 10)
}
