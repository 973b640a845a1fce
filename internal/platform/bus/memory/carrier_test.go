package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

var _ bus.Carrier = (*memory.Carrier)(nil)

func msg(id string) bus.Message {
	return bus.Message{
		Stream: events.Events, ID: id, Tenant: "t", Key: "Account:t:" + id, Type: "RecordUpdated", Service: "test",
		Body: []byte(id), Relay: bus.Relay{Epoch: 1},
	}
}

// filled is a carrier with messages m1 to mn of one partition.
func filled(t *testing.T, n int) *memory.Carrier {
	t.Helper()
	c := memory.New()
	ensure(t, c)
	for i := range n {
		if ack := c.Publish(t.Context(), []bus.Message{msg(fmt.Sprint("m", i+1))})[0]; ack.Err != nil ||
			ack.Seq != uint64(i+1) {
			t.Fatalf("message %d: got %+v", i+1, ack)
		}
	}
	return c
}

func ensure(t *testing.T, c *memory.Carrier) bus.StreamInfo {
	t.Helper()
	info, err := c.Ensure(t.Context(), events.Events)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func read(t *testing.T, c *memory.Carrier, from bus.From) bus.Feed {
	t.Helper()
	f, err := c.Read(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// next is the bodies of what a feed gives.
func next(t *testing.T, f bus.Feed, limit int) (bodies []string) {
	t.Helper()
	msgs, err := f.Next(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range msgs {
		bodies = append(bodies, string(m.Body))
	}
	return bodies
}

func wantKind(t *testing.T, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != want {
		t.Errorf("got %v, want an error of kind %v", err, want)
	}
}

func TestALostStreamEndsItsFeedsAndIsMadeAnew(t *testing.T) {
	c := filled(t, 2)
	before := ensure(t, c)
	f := read(t, c, bus.From{Created: before.Created})
	c.Lose(events.Events)
	_, err := f.Next(t.Context(), 10)
	wantKind(t, err, fault.Conflict)
	wantKind(t, c.Publish(t.Context(), []bus.Message{msg("m1")})[0].Err, fault.Unavailable)
	after := ensure(t, c)
	if after.Created.Equal(before.Created) || after.Last != 0 || after.First != 1 {
		t.Errorf("the new stream is %+v, the old was %+v", after, before)
	}
	_, err = c.Read(t.Context(), bus.From{Created: before.Created})
	wantKind(t, err, fault.Conflict)
	_, err = f.Next(t.Context(), 10)
	wantKind(t, err, fault.Conflict)
}

func TestATruncatedTailIsNoticedAlsoWhenItsPlacesAreTakenAgain(t *testing.T) {
	c := filled(t, 4)
	behind, ahead := read(t, c, bus.From{After: 1}), read(t, c, bus.From{})
	if got := next(t, ahead, 10); len(got) != 4 {
		t.Fatalf("got %v", got)
	}
	connections := c.Connections()
	c.Truncate(events.Events, 2)
	if c.Connections() == connections {
		t.Error("no new connection was counted")
	}
	for _, id := range []string{"m5", "m4", "m6"} {
		c.Publish(t.Context(), []bus.Message{msg(id)})
	}
	if got, want := next(t, behind, 10), []string{"m2", "m5", "m4", "m6"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	_, err := ahead.Next(t.Context(), 10)
	wantKind(t, err, fault.Conflict)
	_, err = c.Read(t.Context(), bus.From{After: 6})
	wantKind(t, err, fault.Conflict)
}

func TestWhatAgedOutIsAGapForWhoHasNotSeenIt(t *testing.T) {
	c := filled(t, 4)
	c.Expire(events.Events, 3)
	_, err := c.Read(t.Context(), bus.From{After: 1})
	wantKind(t, err, fault.NotFound)
	if got := next(t, read(t, c, bus.From{After: 2}), 1); !slices.Equal(got, []string{"m3"}) {
		t.Errorf("got %v", got)
	}
	_, err = c.At(t.Context(), events.Events, 2)
	wantKind(t, err, fault.NotFound)
}

func TestFatesOfMessages(t *testing.T) {
	c := filled(t, 0)
	c.Fate = func(m *bus.Message) memory.Fate {
		return map[string]memory.Fate{"refused": memory.Refused, "doubted": memory.Doubted}[m.ID]
	}
	acks := c.Publish(t.Context(), []bus.Message{msg("refused"), msg("doubted"), msg("fine")})
	wantKind(t, acks[0].Err, fault.Unavailable)
	wantKind(t, acks[1].Err, fault.Unavailable)
	if acks[2] != (bus.Ack{Seq: 2}) {
		t.Errorf("got %+v", acks[2])
	}
	c.Fate = nil
	if got := c.Publish(t.Context(), []bus.Message{msg("doubted")}); got[0] != (bus.Ack{Seq: 1}) {
		t.Errorf("again: got %+v, want its place", got[0])
	}
	c.EndDedupeWindow(events.Events)
	if got := c.Publish(t.Context(), []bus.Message{msg("doubted")}); got[0] != (bus.Ack{Seq: 3}) {
		t.Errorf("after the window: got %+v, want a new place", got[0])
	}
}

func TestAnAckThatIsTooLateIsAnError(t *testing.T) {
	c := filled(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	c.Acked = func(context.Context, []bus.Message) { cancel() }
	wantKind(t, c.Publish(ctx, []bus.Message{msg("m1")})[0].Err, fault.Unavailable)
	if got := ensure(t, c).Last; got != 1 {
		t.Errorf("the stream ends at %d, want 1", got)
	}
}

func TestACarrierThatIsAwayFailsEverything(t *testing.T) {
	c := filled(t, 1)
	f, connections := read(t, c, bus.From{}), c.Connections()
	c.Leave()
	_, err := f.Next(t.Context(), 1)
	wantKind(t, err, fault.Unavailable)
	_, err = c.Ensure(t.Context(), events.Events)
	wantKind(t, err, fault.Unavailable)
	wantKind(t, c.Publish(t.Context(), []bus.Message{msg("m2")})[0].Err, fault.Unavailable)
	c.Return()
	if got := next(t, read(t, c, bus.From{}), 5); !slices.Equal(got, []string{"m1"}) {
		t.Errorf("got %v", got)
	}
	if c.Connections() != connections+1 {
		t.Error("the return was not counted")
	}
}
