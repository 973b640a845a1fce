package bus

import (
	"cmp"
	"context"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

const (
	maxWaves    = 64              // of one batch; a key that has more events goes on with the next one
	publishTime = 5 * time.Second // that a wave may take
)

// waves divides messages into waves that may travel at once: each has the next message of every key that has one. The
// numbers are indexes of msgs.
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

// sent is the outcome of publishing messages.
type sent struct {
	seqs        []uint64   // their sequences; 0: not acknowledged
	count       int        // of those acknowledged
	top         checkpoint // the newest acknowledged; only Seq and Event
	suspect     bool       // some of a wave failed, or its sequences do not rise
	unavailable error      // the first failure that may pass by itself
	failed      []*Message // those that had such a failure
	refused     []*Message // those that the carrier does not take
	why         error      // what it says of the first
}

// send publishes messages in waves. A message whose predecessor of the same key was not acknowledged is not sent. It
// ends early when ctx does, and after a suspect wave.
//
// A message that was not acknowledged may be stored all the same, or arrive still.
func (r *relay) send(ctx context.Context, msgs []Message) sent {
	s := sent{seqs: make([]uint64, len(msgs))}
	failed := map[string]bool{}
	for n, wave := range waves(msgs) {
		if n == maxWaves || s.suspect || ctx.Err() != nil {
			break
		}
		var at []int
		var batch []Message
		for _, i := range wave {
			if !failed[msgs[i].Key] {
				msgs[i].Relay.Behind, msgs[i].Relay.BehindID = r.tail.Seq, r.tail.Event
				at, batch = append(at, i), append(batch, msgs[i])
			}
		}
		last := r.tail.Seq
		for k, ack := range r.publish(ctx, batch) {
			s.note(at[k], &batch[k], ack)
			switch {
			case ack.Err != nil:
				failed[batch[k].Key] = true
			case ack.Seq <= last:
				s.suspect = true
			default:
				last = ack.Seq
			}
		}
		if s.suspect = s.suspect || s.unavailable != nil; s.top.Seq > r.tail.Seq {
			r.tail = s.top
		}
		r.bus.cfg.Passed("relay.wave")
	}
	return s
}

// deliver sends messages and verifies them. When the acknowledgements are suspect, the stream may have lost what it
// acknowledged, or had some messages before: then each one is looked up. If one is missing the loss is handled, and no
// acknowledgement counts.
func (r *relay) deliver(ctx context.Context, msgs []Message) (s sent, ok bool, err error) {
	s = r.send(ctx, msgs)
	if !s.suspect {
		return s, true, nil
	}
	for i, seq := range s.seqs {
		if seq == 0 {
			continue
		}
		if ok, err := r.has(ctx, checkpoint{Seq: seq, Event: msgs[i].ID}); err != nil {
			return s, false, err
		} else if !ok {
			info, err := r.bus.carrier.Ensure(ctx, r.stream)
			if err == nil {
				err = r.handleLoss(ctx, info)
			}
			return s, false, err
		}
	}
	return s, true, nil
}

// publish sends one wave. What has begun is finished, so that it can be marked.
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
		s.seqs[i] = ack.Seq
		s.count++
		if ack.Seq > s.top.Seq {
			s.top.Seq, s.top.Event = ack.Seq, m.ID
		}
	case fault.KindOf(ack.Err) == fault.Unavailable:
		s.failed, s.unavailable = append(s.failed, m), cmp.Or(s.unavailable, ack.Err)
	default:
		s.refused, s.why = append(s.refused, m), cmp.Or(s.why, ack.Err)
	}
}
