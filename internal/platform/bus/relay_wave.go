package bus

import (
	"cmp"
	"context"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

const (
	maxWaves    = 64              // of a batch; the rest of a key comes with the next
	publishTime = 5 * time.Second // for a wave
)

// waves divides messages into waves, each with the next message of every key; the numbers are indexes.
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

type sent struct {
	seqs        []uint64   // 0: not acknowledged
	count       int        // acknowledged
	top         checkpoint // newest acknowledged; only Seq and Event
	suspect     bool       // a wave failed in part, or its sequences do not rise
	unavailable error      // first failure that may pass
	failed      []*Message // with such a failure
	refused     []*Message // by the carrier
	why         error      // first refusal
}

// send publishes in waves, each key in order: after an unacknowledged message the rest of its key is not sent. It
// ends with ctx or a suspect wave.
//
// An unacknowledged message may still be stored.
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

// deliver sends messages. After suspect acknowledgements, due to a loss or to duplicates, it looks each up; if one is
// missing it handles the loss, and none counts.
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

// publish finishes a wave even if ctx ends, so that it can be marked.
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
		s.top.raise(ack.Seq, m.ID)
	case fault.KindOf(ack.Err) == fault.Unavailable:
		s.failed, s.unavailable = append(s.failed, m), cmp.Or(s.unavailable, ack.Err)
	default:
		s.refused, s.why = append(s.refused, m), cmp.Or(s.why, ack.Err)
	}
}
