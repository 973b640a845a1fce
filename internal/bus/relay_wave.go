package bus

import (
	"cmp"
	"context"
	"time"

	"renga.dev/renga/internal/fault"
)

const (
	maxWaves    = 64              // of one batch; a key that has more events goes on with the next one
	publishTime = 5 * time.Second // that a wave may take
)

// waves divides messages into those that may travel at once: each has the next
// message of every key that has one. The numbers are places in msgs.
func waves(msgs []Message) (all [][]int) {
	turn := make(map[string]int, len(msgs))
	for i := range msgs {
		n := turn[msgs[i].Key]
		turn[msgs[i].Key]++
		if n == len(all) {
			all = append(all, nil)
		}
		all[n] = append(all[n], i)
	}
	return all
}

// sent is what became of messages.
type sent struct {
	acked   []bool
	count   int        // of those acknowledged
	top     milestone  // the newest acknowledged; only its place and event
	fell    bool       // a place was not behind what is known
	away    error      // the first failure that may pass by itself
	refused []*Message // those of which the carrier says otherwise
	why     error      // what it says of the first
}

// send publishes messages in waves. A message whose predecessor of the same key was
// not acknowledged is not sent. It ends before its time when ctx does, when a whole
// wave has failed, or when places fell back: then the stream lost its end, or had the
// message before, and which of the two must be found out first.
//
// A message that was not acknowledged may be stored all the same, or arrive still.
func (r *relay) send(ctx context.Context, msgs []Message) sent {
	s := sent{acked: make([]bool, len(msgs))}
	failed := map[string]bool{}
	for n, wave := range waves(msgs) {
		if n == maxWaves || ctx.Err() != nil {
			break
		}
		var at []int
		var batch []Message
		for _, i := range wave {
			if !failed[msgs[i].Key] {
				msgs[i].Relay.Behind, msgs[i].Relay.BehindID = r.behind.Seq, r.behind.Event
				at, batch = append(at, i), append(batch, msgs[i])
			}
		}
		before := s.count
		for k, ack := range r.publish(ctx, batch) {
			s.note(at[k], &batch[k], ack)
			s.fell = s.fell || ack.Err == nil && ack.Seq <= r.behind.Seq
			if ack.Err != nil {
				failed[batch[k].Key] = true
			}
		}
		if s.top.Seq > r.behind.Seq {
			r.behind = s.top
		}
		r.bus.cfg.Passed("relay.wave")
		if s.count == before || s.fell {
			break
		}
	}
	return s
}

// publish sends one wave. What has begun is finished, so that it can be noted.
func (r *relay) publish(ctx context.Context, batch []Message) []Ack {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTime)
	defer cancel()
	return r.bus.carrier.Publish(ctx, batch)
}

func (s *sent) note(i int, m *Message, ack Ack) {
	switch {
	case ack.Err == nil:
		s.acked[i] = true
		s.count++
		if ack.Seq > s.top.Seq {
			s.top.Seq, s.top.Event = ack.Seq, m.ID
		}
	case fault.KindOf(ack.Err) == fault.Unavailable:
		s.away = cmp.Or(s.away, ack.Err)
	default:
		s.refused, s.why = append(s.refused, m), cmp.Or(s.why, ack.Err)
	}
}
