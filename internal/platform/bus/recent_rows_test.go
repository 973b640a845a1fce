package bus

import (
	"fmt"
	"slices"
	"testing"

	"renga.dev/renga/internal/platform/events"
)

// rows are rows of the outbox by their ids, in partitions in turn.
func rows(ids ...int64) ([]int64, []Message) {
	var msgs []Message
	for _, id := range ids {
		msgs = append(msgs, Message{ID: fmt.Sprint(id), Part: int(id % events.Partitions), Body: []byte("{}")})
	}
	return ids, msgs
}

// handedOver demands what the relay of a partition gets; nil: that it must read the table.
func handedOver(t *testing.T, h *recentRows, part int, watch uint64, after int64, want []int64) {
	t.Helper()
	got, ok := h.read(part, watch, after)
	if ok != (want != nil) || !slices.Equal(got.ids, want) || len(got.msgs) != len(got.ids) {
		t.Errorf("partition %d behind %d: %v, whole %t; want %v", part, after, got.ids, ok, want)
	}
	for i, m := range got.msgs {
		if m.ID != fmt.Sprint(got.ids[i]) {
			t.Errorf("row %d has message %s", got.ids[i], m.ID)
		}
	}
}

func TestRecentRowsAreReadOnce(t *testing.T) {
	h := &recentRows{}
	h.append(rows(1)) // nobody watches
	zero, one := h.attach(0), h.attach(1)
	h.append(rows(2, 3, 4, 5))
	h.append(rows(6, 7, 8, 9))
	handedOver(t, h, 1, one, 5, []int64{9}) // it has read up to 5 in the table
	handedOver(t, h, 1, one, 9, []int64{})
	handedOver(t, h, 0, zero, 0, []int64{4, 8})
	handedOver(t, h, 2, 0, 0, nil)
}

func TestARowThatIsMissingSendsRelaysToTheTable(t *testing.T) {
	h := &recentRows{}
	h.append(rows(1))
	zero, one := h.attach(0), h.attach(1)
	h.append(rows(2, 3, 4))
	h.append(rows(6, 7)) // somebody else has committed 5
	h.append(rows(8, 9))
	handedOver(t, h, 0, zero, 0, nil)
	handedOver(t, h, 1, one, 0, nil)
	one = h.attach(1)
	h.append(rows(10, 11, 12, 13))
	handedOver(t, h, 1, one, 9, []int64{13})
}

func TestARelayThatFellBehindReadsTheTable(t *testing.T) {
	h := &recentRows{}
	h.append(rows(1))
	one := h.attach(1)
	for id := int64(2); id < events.Partitions*(recentMaxRows+2); id++ {
		h.append(rows(id))
	}
	handedOver(t, h, 1, one, 0, nil)
	if n := len(h.parts[1].ids); n != 0 {
		t.Errorf("%d rows are kept that nobody gets", n)
	}
	one = h.attach(1)
	ids, msgs := rows(h.last+1, h.last+2, h.last+3, h.last+4)
	for i := range msgs {
		msgs[i].Part, msgs[i].Body = 1, make([]byte, recentMaxBytes/3)
	}
	h.append(ids, msgs)
	handedOver(t, h, 1, one, 0, nil)
}

func TestOnlyTheRelayThatBeganLastGetsRows(t *testing.T) {
	h := &recentRows{}
	h.append(rows(1))
	before := h.attach(1)
	now := h.attach(1)
	h.append(rows(2, 3, 4, 5))
	handedOver(t, h, 1, before, 0, nil)
	h.detach(1, before)
	handedOver(t, h, 1, now, 0, []int64{5})
	h.invalidate()
	handedOver(t, h, 1, now, 0, nil)
	now = h.attach(1)
	h.detach(1, now)
	h.append(rows(6, 7, 8, 9))
	handedOver(t, h, 1, now, 0, nil)
}
