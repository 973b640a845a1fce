package bus

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/events"
)

const (
	logRows   = 1000                   // messages of a read
	logPause  = 10 * time.Millisecond  // between turns, to batch for a busy engine
	noteEvery = 100 * time.Millisecond // commit interval
	noteCount = 1000                   // or messages
)

// WakeLog wakes the relay of the log.
func (b *Bus) WakeLog() { b.wakes.wake(assignment{relayLog, 0}) }

// runLogRelay publishes the engine's log from the committed position, which it commits now and then: after a crash
// some messages are published again.
func runLogRelay(ctx context.Context, b *Bus, l lease) error {
	r := newRelay(b, l, "log", events.Executions)
	for part := range events.Partitions {
		r.parts = append(r.parts, part)
	}
	err := r.run(ctx, r.turnLog)
	if err == nil && r.unnoted > 0 {
		err = r.noteLog(context.WithoutCancel(ctx))
	}
	return err
}

func (r *relay) turnLog(ctx context.Context) (rest time.Duration, err error) {
	if err := r.ready(ctx); err != nil {
		return 0, err
	}
	if len(r.pending) == 0 {
		if err := r.readLog(ctx); err != nil {
			return 0, err
		}
	}
	if len(r.pending) > 0 {
		if ok, err := r.verifyBeforeSend(ctx); !ok || err != nil {
			return 0, err
		}
		if err := r.sendLog(ctx); err != nil {
			return 0, err
		}
	}
	went := r.upto > r.next
	if len(r.pending) == 0 {
		r.next = r.upto
	}
	if r.unnoted >= noteCount || r.unnoted > 0 && time.Since(r.noted) >= noteEvery {
		if err := r.noteLog(ctx); err != nil {
			return 0, err
		}
	}
	switch {
	case went:
		return 0, nil
	case r.unnoted > 0:
		return noteEvery, nil
	}
	return r.poll(), nil
}

// readLog reads messages. Each carries the number up to which everything was sent before, since a batch does not
// travel in order.
func (r *relay) readLog(ctx context.Context) error {
	if d := logPause - time.Since(r.began); d > 0 && !r.full {
		wait(ctx, d, nil)
	}
	r.began = time.Now()
	msgs, upto, err := r.bus.cfg.Log.After(ctx, r.next, logRows)
	if err != nil {
		return err
	}
	at := r.begin(stampOf(r.bus.cfg.Clock))
	for i := range msgs {
		msgs[i].Relay = Relay{Epoch: r.state.epoch, At: at, Source: r.next}
	}
	r.pending, r.upto, r.full = msgs, upto, len(msgs) >= logRows
	if len(msgs) > 0 {
		r.bus.cfg.Passed("relay.log-read")
	}
	return nil
}

func (r *relay) sendLog(ctx context.Context) error {
	s, ok, err := r.deliver(ctx, r.pending)
	if !ok || err != nil {
		return err
	}
	r.bus.cfg.Passed("relay.log-published")
	r.top.raise(s.top.Seq, s.top.Event)
	r.unnoted += s.count
	r.pending = unacked(r.pending, s.seqs)
	return firstOf(s.unavailable, s.why)
}

// noteLog commits the position, when nothing is pending.
func (r *relay) noteLog(ctx context.Context) error {
	if len(r.pending) > 0 {
		return nil
	}
	if ok, err := r.verifyAfterSend(ctx); !ok || err != nil {
		return err
	}
	m := checkpoint{Seq: r.top.Seq, Event: r.top.Event, At: r.at, Number: r.next}
	next, stmts := r.advance(m, 0)
	if err := r.store(ctx, "bus.relay.note", next, stmts); err != nil {
		return err
	}
	r.top, r.unnoted, r.noted = checkpoint{}, 0, time.Now()
	r.bus.cfg.Passed("relay.log-noted")
	return nil
}
