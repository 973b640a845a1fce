package jet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"renga.dev/renga/internal/bus"
	"renga.dev/renga/internal/fault"
)

// Next gives messages.
func (f *feed) Next(ctx context.Context, limit int) ([]bus.Message, error) {
	before, safe, end := f.upto, f.safe, time.Now().Add(idleWait)
	for ctx.Err() == nil {
		if f.broken || f.conns != f.c.Connections() || !f.c.s.conn.IsConnected() {
			if err := f.open(ctx); err != nil {
				return nil, unlessEnded(ctx, err)
			}
		}
		f.ask()
		got := f.drain(nil, limit)
		if len(got) == 0 && !f.broken {
			if !f.await(ctx, end, &got) {
				return nil, unlessEnded(ctx, f.rest(ctx))
			}
			got = f.drain(got, limit)
		}
		if len(got) > 0 {
			f.ask()
			if time.Since(safe) > surely {
				if err := f.vouch(ctx, before); err != nil {
					return nil, err
				}
			}
			return got, nil
		}
	}
	return nil, nil
}

// unlessEnded drops an error that comes of the caller's own end.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && fault.KindOf(err) == fault.Unavailable {
		return nil
	}
	return err
}

// ask asks for more messages when few are on their way, so that they travel while
// the reader works.
func (f *feed) ask() {
	if f.broken || f.asked > window/2 {
		return
	}
	request := fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"expires":%d}`, window-f.asked, windowBytes, pullExpires.Nanoseconds())
	if err := f.c.s.conn.PublishRequest(f.api("MSG.NEXT"), f.inbox+"."+strconv.Itoa(f.serial), request); err != nil {
		f.broken = true
		return
	}
	f.asked, f.until = window, time.Now().Add(pullExpires)
}

// drain adds what has come in to got.
func (f *feed) drain(got []bus.Message, limit int) []bus.Message {
	for len(got) < limit && !f.broken {
		select {
		case m := <-f.in:
			got = f.take(m, got)
		default:
			return got
		}
	}
	return got
}

// await waits for something to come in and takes it. It reports false when nothing
// did until end or ctx ended. Silence beyond the end of a request breaks the consumer.
func (f *feed) await(ctx context.Context, end time.Time, got *[]bus.Message) bool {
	lost := f.until.Add(pullGrace)
	wait := time.NewTimer(min(time.Until(end), time.Until(lost)))
	defer wait.Stop()
	select {
	case m := <-f.in:
		*got = f.take(m, *got)
		return true
	case <-wait.C:
		f.broken = time.Now().After(lost)
		return f.broken
	case <-ctx.Done():
		return false
	}
}

// take adds a message to got, or acts on what the server says instead of one.
func (f *feed) take(m *nats.Msg, got []bus.Message) []bus.Message {
	if m.Reply == "" {
		f.heed(m)
		return got
	}
	meta, err := m.Metadata()
	if err != nil || meta.Consumer != f.name {
		return got // of the consumer before
	}
	if meta.Sequence.Consumer != f.count+1 || meta.Sequence.Stream <= f.upto {
		f.broken = true
		return got
	}
	f.count++
	f.asked--
	f.upto, f.pending, f.safe = meta.Sequence.Stream, meta.NumPending, meta.Timestamp
	msg, ours := read(f.from.Stream, meta.Sequence.Stream, m.Subject, m.Header, m.Data)
	if !ours {
		f.c.s.log.Warn("a stream has a message that no relay sent; it is passed over", "subject", m.Subject)
		return got
	}
	if len(f.from.Types) > 0 && !slices.Contains(f.from.Types, msg.Type) {
		return got // its subject does not tell
	}
	return append(got, msg)
}

// heed acts on a status: the end of a request, mostly, or of the consumer.
func (f *feed) heed(m *nats.Msg) {
	if m.Subject != f.inbox+"."+strconv.Itoa(f.serial) {
		return // of the consumer before
	}
	left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if status := m.Header.Get("Status"); err != nil || status != "408" && status != "409" {
		f.broken = true // deleted, moved, or not there
		return
	}
	f.asked -= left
}

// vouch asks, with messages in hand that follow a place, whether any between was dropped:
// not if the stream still begins at or before the place.
func (f *feed) vouch(ctx context.Context, place uint64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_, err := f.look(ctx, place)
	return err
}

// rest is what a feed does without messages: now and then it finds out that there are
// none up to the end of the stream.
func (f *feed) rest(ctx context.Context) error {
	now := time.Now()
	if ctx.Err() != nil || now.Sub(f.looked) < lookEvery {
		return nil
	}
	f.looked = now
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	last, err := f.look(ctx, f.upto)
	if err != nil {
		return err
	}
	info, err := f.consumer.Info(ctx)
	if err != nil {
		f.broken = true
		return nil
	}
	if info.NumPending == 0 && info.Delivered.Consumer == f.count && len(f.in) == 0 {
		f.upto, f.pending, f.safe = max(f.upto, last), 0, now
	}
	return nil
}
