package jet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
)

func (f *feed) Next(ctx context.Context, limit int) ([]bus.Message, error) {
	before, safe := f.upto, f.safe
	got, err := f.next(ctx, limit)
	if err == nil && f.upto > before && time.Since(safe) > f.c.surely {
		err = f.verifyPosition(ctx, before)
	}
	if err != nil {
		return nil, unlessEnded(ctx, err)
	}
	return got, nil
}

func (f *feed) next(ctx context.Context, limit int) (got []bus.Message, err error) {
	end := time.Now().Add(idleWait)
	for ctx.Err() == nil {
		if f.broken || f.conns != f.c.Connections() || !f.c.s.conn.IsConnected() {
			if err := f.open(ctx); err != nil {
				return nil, err
			}
		}
		f.ask()
		if got = f.drain(got, limit); len(got) == 0 && !f.broken {
			if !f.await(ctx, end, &got) {
				return nil, nil
			}
			got = f.drain(got, limit)
		}
		if len(got) > 0 {
			f.ask()
			return got, nil
		}
	}
	return nil, nil
}

// unlessEnded drops an error due to the caller's own end.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && fault.KindOf(err) == fault.Unavailable {
		return nil
	}
	return err
}

// ask requests more messages ahead of need, so that they travel while the reader works.
func (f *feed) ask() {
	if f.broken || f.asked > window/2 {
		return
	}
	request := fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"expires":%d,"idle_heartbeat":%d}`,
		window-f.asked, windowBytes, pullExpires.Nanoseconds(), heartbeat.Nanoseconds())
	if err := f.c.s.conn.PublishRequest(f.api("MSG.NEXT"), f.inbox+"."+strconv.Itoa(f.serial), request); err != nil {
		f.broken = true
		return
	}
	f.asked, f.heard = window, time.Now()
}

func (f *feed) drain(got []bus.Message, limit int) []bus.Message {
	for len(got) < limit && !f.broken {
		select {
		case m := <-f.in:
			got = f.accept(m, got)
		default:
			return got
		}
	}
	return got
}

// await waits for a message until end; false: none came. A silent consumer is broken.
func (f *feed) await(ctx context.Context, end time.Time, got *[]bus.Message) bool {
	silent := f.heard.Add(silence)
	wait := time.NewTimer(min(time.Until(end), time.Until(silent)))
	defer wait.Stop()
	select {
	case m := <-f.in:
		*got = f.accept(m, *got)
		return true
	case <-wait.C:
		f.broken = time.Now().After(silent)
		return f.broken
	case <-ctx.Done():
		return false
	}
}

// accept adds a message, or handles a status.
func (f *feed) accept(m *nats.Msg, got []bus.Message) []bus.Message {
	if m.Reply == "" {
		f.handleStatus(m)
		return got
	}
	meta, err := m.Metadata()
	if err != nil || meta.Consumer != f.name {
		return got // of an earlier consumer
	}
	if meta.Sequence.Consumer != f.count+1 || meta.Sequence.Stream <= f.upto {
		f.broken = true
		return got
	}
	f.count++
	f.asked--
	f.heard = time.Now()
	f.upto, f.pending, f.safe = meta.Sequence.Stream, meta.NumPending, meta.Timestamp
	msg, ours := read(f.from.Stream, meta.Sequence.Stream, m.Subject, m.Header, m.Data)
	f.last, f.lastID = msg.Seq, msg.ID
	if !ours {
		f.c.s.log.Warn("a stream has a message that no relay sent; it is passed over", "subject", m.Subject)
		return got
	}
	if len(f.from.Types) > 0 && !slices.Contains(f.from.Types, msg.Type) {
		return got // its subject does not say
	}
	return append(got, msg)
}

// handleStatus handles a heartbeat, the end of a request, or of the consumer.
func (f *feed) handleStatus(m *nats.Msg) {
	if m.Subject != f.inbox+"."+strconv.Itoa(f.serial) {
		return // of an earlier consumer
	}
	f.heard = time.Now()
	number := func(header string) (uint64, bool) {
		n, err := strconv.ParseUint(m.Header.Get(header), 10, 64)
		return n, err == nil
	}
	left, ended := number("Nats-Pending-Messages")
	switch status := m.Header.Get("Status"); {
	case status == "100":
		count, ok1 := number("Nats-Last-Consumer")
		upto, ok2 := number("Nats-Last-Stream")
		if ok1 && ok2 && count == f.count && upto >= f.upto {
			f.upto, f.pending, f.safe = upto, 0, f.heard
		}
	case ended && (status == "408" || status == "409"): // time or size used up
		f.asked -= int(left)
	default: // deleted, moved, or missing
		f.broken = true
	}
}

// verifyPosition verifies, after the feed continued from a position, that nothing in between was dropped.
func (f *feed) verifyPosition(ctx context.Context, place uint64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_, err := f.look(ctx, place)
	return err
}
