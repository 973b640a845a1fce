package jet

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/stalltest"
)

func read0(t *testing.T, c *Carrier) *feed {
	t.Helper()
	f, err := c.Read(t.Context(), bus.From{Stream: events.Events})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f.(*feed)
}

// take reads n messages, which are those that follow.
func take(t *testing.T, f *feed, n int) {
	t.Helper()
	for want := f.Upto(); n > 0; {
		msgs, err := f.Next(t.Context(), n)
		if err != nil || len(msgs) == 0 {
			t.Fatalf("%d are missing: %v", n, err)
		}
		for _, m := range msgs {
			if want++; m.Seq != want {
				t.Fatalf("got message %d, want %d", m.Seq, want)
			}
		}
		n -= len(msgs)
	}
}

// A feed that is far behind its stream, which begins to drop what it has not read.
func TestAFeedDoesNotJumpOverWhatIsDroppedBeforeIt(t *testing.T) {
	s, c := carrier(t)
	c.surely = 0
	for i := range 6 {
		publish(t, c, i*500, 500)
	}
	f := read0(t, c)
	take(t, f, 10)
	stream, err := s.stream.Stream(t.Context(), events.Events.String())
	if err == nil {
		err = stream.Purge(t.Context(), jetstream.WithPurgeSequence(2900))
	}
	if err != nil {
		t.Fatal(err)
	}
	last := f.Upto()
	for {
		msgs, err := f.Next(t.Context(), 100)
		if err != nil {
			if fault.KindOf(err) != fault.NotFound {
				t.Errorf("got %v, want a gap", err)
			}
			return
		}
		for _, m := range msgs {
			if last++; m.Seq != last {
				t.Fatalf("message %d came after %d", m.Seq, last-1)
			}
		}
	}
}

func TestAFeedThatIsUpToDateDoesNotAskAboutTheStream(t *testing.T) {
	s, c := carrier(t)
	f := read0(t, c)
	publish(t, c, 0, 1)
	take(t, f, 1) // the first time it asks
	before := s.conn.Stats().OutMsgs
	for i := range 10 {
		publish(t, c, 1+i, 1)
		take(t, f, 1)
	}
	if sent := s.conn.Stats().OutMsgs - before; sent > 12 { // the ten, and perhaps a request for more
		t.Errorf("%d messages were sent for 10 that were published", sent)
	}
}

func TestAFeedGoesOnWithoutItsConsumer(t *testing.T) {
	s, c := carrier(t)
	f := read0(t, c)
	for i := range 5 {
		publish(t, c, i*300, 300)
		take(t, f, 100+i*20)
		if err := s.stream.DeleteConsumer(t.Context(), events.Events.String(), f.name); err != nil &&
			!errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Fatal(err) // not found: the feed has not noticed that the one before is gone
		}
	}
	take(t, f, 1500-int(f.Upto()))
}

func TestAFeedMakesUpForAMessageThatDidNotComeThrough(t *testing.T) {
	_, c := carrier(t)
	f := read0(t, c)
	publish(t, c, 0, 10)
	take(t, f, 2)
	until(t, func() bool { return len(f.in) == 8 })
	<-f.in
	take(t, f, 8)
}

func TestAFeedPassesOverMessagesOfOthers(t *testing.T) {
	log := newNotes()
	s := open(t, Config{Dir: t.TempDir(), Log: log.logger()})
	c := s.Carrier()
	ensure(t, c)
	publish(t, c, 0, 1)
	if _, err := s.stream.Publish(t.Context(), "renga.event.t.0.RecordUpdated", []byte("whatever")); err != nil {
		t.Fatal(err)
	}
	publish(t, c, 1, 1)
	f := read0(t, c)
	take(t, f, 1)
	if msgs, err := f.Next(t.Context(), 10); err != nil || len(msgs) != 1 || msgs[0].Seq != 3 {
		t.Errorf("got %v, %v", msgs, err)
	}
	log.wait(t, "no relay sent")
	if m, err := c.At(t.Context(), events.Events, 2); err != nil || m.ID != "" || m.Seq != 2 {
		t.Errorf("at its place there is %+v, %v", m, err)
	}
}

func TestAFeedThatIsClosedLeavesNoConsumer(t *testing.T) {
	s, c := carrier(t)
	f := read0(t, c)
	f.Close()
	until(t, func() bool {
		info, err := s.stream.Stream(t.Context(), events.Events.String())
		return err == nil && info.CachedInfo().State.Consumers == 0
	})
}

func TestManyFeedsDoNotHoldUpTheEnd(t *testing.T) {
	s, err := Open(t.Context(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Carrier()
	ensure(t, c)
	publish(t, c, 0, 500)
	for range 20 {
		if _, err := c.Read(t.Context(), bus.From{Stream: events.Events}); err != nil {
			t.Fatal(err)
		}
	}
	stalls, began := stalltest.New(t), time.Now()
	s.Close()
	if took := stalls.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}
