package bus_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

// moody is a carrier that does not acknowledge some events the first times: one that it is
// told of was not stored, or was and its answer is lost.
type moody struct {
	*memory.Carrier
	mu     sync.Mutex
	refuse map[string]int // event to how often it is not taken
	lose   map[string]int // event to how often its answer is lost
}

func (m *moody) Publish(ctx context.Context, msgs []bus.Message) []bus.Ack {
	m.mu.Lock()
	defer m.mu.Unlock()
	acks := make([]bus.Ack, len(msgs))
	for i := range msgs {
		away := fault.New(fault.Unavailable, "AWAY", "not now")
		if m.refuse[msgs[i].ID] > 0 {
			m.refuse[msgs[i].ID]--
			acks[i].Err = away
			continue
		}
		acks[i] = m.Carrier.Publish(ctx, msgs[i:i+1])[0]
		if m.lose[msgs[i].ID] > 0 {
			m.lose[msgs[i].ID]--
			acks[i] = bus.Ack{Err: away}
		}
	}
	return acks
}

// TestAKeyWithMoreRowsThanABatchSendsLosesNothing has more rows of one key in a page of the
// relay than travel with it (64), while some are not acknowledged and others come: every row
// that is marked as published is in the stream, and those of a key are in order.
func TestAKeyWithMoreRowsThanABatchSendsLosesNothing(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		beside := "y" // another record of the same partition
		for i := 0; events.Partition(r.event(beside).Key) != events.Partition(r.event("x").Key); i++ {
			beside = fmt.Sprint("y", i)
		}
		var all []events.Event
		for i := range 200 {
			all = append(all, r.event("x"))
			if i%50 == 49 {
				all = append(all, r.event(beside))
			}
		}
		of := slices.DeleteFunc(slices.Clone(all), func(e events.Event) bool { return e.Key != all[0].Key })
		carrier := &moody{
			Carrier: r.carrier,
			refuse:  map[string]int{of[10].ID: 2, of[64].ID: 1, of[150].ID: 4},
			lose:    map[string]int{of[40].ID: 1, of[63].ID: 1, of[128].ID: 2},
		}
		r.publishAll(r.asleep(), all...)
		late := make([]events.Event, 12)
		for i := range late {
			late[i] = r.event("x")
		}
		left, marked := slices.Clone(late), make(chan struct{}, 1)
		b, _ := r.launch(carrier, bus.Config{Passed: func(point string) {
			if point == "relay.marked" {
				select {
				case marked <- struct{}{}:
				default:
				}
			}
		}})
		for len(left) > 0 { // while the relay is at it
			within(t, "rows are marked", marked)
			r.publish(b, left[0])
			left = left[1:]
		}
		r.published()
		inOrder(t, messages(t, r.carrier, events.Events), append(all, late...))
	})
}
