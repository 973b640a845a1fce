// Package bustest is the one suite that every carrier of the bus passes: over memory,
// over JetStream in this process, over a server outside and over a cluster. What the
// port promises is said here once, as tests. It also has Events, which fail as a test
// says, for tests of what is built around the bus.
package bustest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

// maxWait is for anything that should come soon.
const maxWait = 2 * time.Minute

// System is a carrier without streams and what can happen to it.
type System interface {
	// Carrier is the carrier as it is now; it may be another one after Restart or Restore.
	Carrier() bus.Carrier
	// Restart ends the server and starts it again, with all that it has stored.
	Restart(t *testing.T)
	// Delete deletes a stream.
	Delete(t *testing.T, s events.Stream)
	// Expire drops the messages of a stream before a place.
	Expire(t *testing.T, s events.Stream, before uint64)
	// Save remembers what is stored. Restore brings that back, so that what was stored
	// since is lost. They report false where it cannot be done.
	Save(t *testing.T) bool
	Restore(t *testing.T) bool
}

// Run runs the suite. Each test opens a system of its own.
func Run(t *testing.T, open func(t *testing.T) System) {
	for _, tt := range []struct {
		name string
		test func(*rig)
	}{
		{"a new stream is empty and stays the same", newStream},
		{"messages arrive as they were sent", asSent},
		{"partitions are read in order and without a gap while others publish", inOrder},
		{"a feed gives the types that are wanted", filtered},
		{"a feed goes on after any place", resumed},
		{"Next ends with its context, after a second, and at its limit", nextEnds},
		{"a repetition is not stored unless the relay epoch rose", repeated},
		{"a message that cannot be carried harms no other", refused},
		{"single messages are found", found},
		{"a place in the wrong stream is refused", misplaced},
		{"what was dropped is a gap", dropped},
		{"a feed ends with its stream, also when there is a new one", deleted},
		{"a restart loses nothing and repeats nothing", restarted},
		{"a tail that was lost is noticed", truncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &rig{T: t, System: open(t)}
			r.within(maxWait, "the streams", func(ctx context.Context) error {
				_, err := r.Carrier().Ensure(ctx, events.Events)
				return err
			})
			tt.test(r)
		})
	}
}

// rig is a test and its system.
type rig struct {
	*testing.T
	System
	n int // messages made
}

// within repeats something that may be unavailable for a while until it works.
func (r *rig) within(limit time.Duration, what string, fn func(context.Context) error) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	for {
		err := fn(ctx)
		if err == nil {
			return
		}
		if fault.KindOf(err) != fault.Unavailable || ctx.Err() != nil {
			r.Fatalf("%s: %v", what, err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (r *rig) ensure(s events.Stream) (info bus.StreamInfo) {
	r.Helper()
	r.within(maxWait, "Ensure", func(ctx context.Context) (err error) {
		info, err = r.Carrier().Ensure(ctx, s)
		return err
	})
	return info
}

// message makes one of partition part that has not been before.
func (r *rig) message(part int) bus.Message {
	r.n++
	return bus.Message{
		Stream: events.Events, ID: fmt.Sprintf("id-%05d", r.n), Tenant: "7b0f4a10-1111-4222-8333-444455556666",
		Part: part,
		Type: "RecordUpdated", Key: fmt.Sprintf("Account:t:%d", r.n), OccurredAt: canonical.Stamp(1767225600000 + r.n),
		Service: "records",
		Body:    fmt.Appendf(nil, `{"n":%d}`, r.n), Relay: bus.Relay{Epoch: 1, At: 1767225700000, Source: int64(r.n)},
	}
}

func (r *rig) messages(part, n int) (list []bus.Message) {
	for range n {
		list = append(list, r.message(part))
	}
	return list
}

// persist stores a message, sooner or later.
func (r *rig) persist(m bus.Message) bus.Message {
	r.Helper()
	r.within(maxWait, "publishing", func(ctx context.Context) error {
		ack := r.Carrier().Publish(ctx, []bus.Message{m})[0]
		m.Seq = ack.Seq
		return ack.Err
	})
	return m
}

// publish stores messages, in one wave, and sets their places. A cluster that is busy
// electing somebody is asked again, for those that it has not taken.
func (r *rig) publish(msgs ...bus.Message) []bus.Message {
	r.Helper()
	done := 0
	r.within(maxWait, "publishing", func(ctx context.Context) error {
		acks := r.Carrier().Publish(ctx, msgs[done:])
		if len(acks) != len(msgs)-done {
			r.Fatalf("got %d acks for %d messages", len(acks), len(msgs)-done)
		}
		for _, ack := range acks {
			if ack.Err != nil {
				return ack.Err
			}
			if ack.Seq == 0 {
				r.Fatalf("message %d of %d: %+v", done+1, len(msgs), ack)
			}
			msgs[done].Seq = ack.Seq
			done++
		}
		return nil
	})
	return msgs
}

func (r *rig) read(from bus.From) (f bus.Feed) {
	r.Helper()
	r.within(maxWait, fmt.Sprintf("Read %+v", from), func(context.Context) (err error) {
		f, err = r.Carrier().Read(r.Context(), from)
		return err
	})
	r.Cleanup(f.Close)
	return f
}

// next gives the next n messages of a feed.
func (r *rig) next(f bus.Feed, n int) (all []bus.Message) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	for len(all) < n {
		msgs, err := f.Next(ctx, n-len(all))
		if err != nil || ctx.Err() != nil {
			r.Fatalf("after %d of %d messages: %v, %v", len(all), n, err, ctx.Err())
		}
		all = append(all, msgs...)
	}
	return all
}

// fails waits until a feed fails, and says what it gave before.
func (r *rig) fails(f bus.Feed, kind fault.Kind) (all []bus.Message) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	for ctx.Err() == nil {
		msgs, err := f.Next(ctx, 100)
		all = append(all, msgs...)
		if err != nil {
			r.wantKind(err, kind)
			return all
		}
	}
	r.Fatalf("the feed goes on; it gave %d messages", len(all))
	return nil
}

func (r *rig) wantKind(err error, want fault.Kind) {
	r.Helper()
	if err == nil || fault.KindOf(err) != want {
		r.Errorf("got %v, want an error of kind %v", err, want)
	}
}

// same compares messages with their places.
func (r *rig) same(got, want []bus.Message) {
	r.Helper()
	if len(got) != len(want) {
		r.Errorf("got %d messages, want %d", len(got), len(want))
		return
	}
	for i := range got {
		if g, w := fmt.Sprintf("%+v", got[i]), fmt.Sprintf("%+v", want[i]); g != w {
			r.Errorf("message %d is\n%.300s, want\n%.300s", i, g, w)
			return
		}
	}
}
