// Package memory is a carrier in memory that fails on demand, for tests of relays and readers. It keeps the contract
// of the port, as the suite of bustest shows. It ends with its process, so it cannot replace JetStream.
package memory

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

// Carrier is a bus.Carrier. Its fields are set before use.
type Carrier struct {
	// Fate decides about each published message, in order and without locks; nil: Stored.
	Fate func(m *bus.Message) Fate
	// Acked is called before Publish returns and may wait, like a late ack; if ctx ends meanwhile, the acks are
	// errors.
	Acked func(ctx context.Context, msgs []bus.Message)

	mu          sync.Mutex
	streams     map[events.Stream]*stream
	away        bool
	connections uint64
	created     time.Time     // of the newest stream
	changed     chan struct{} // closed and replaced at every change
}

// Fate is the outcome of publishing a message.
type Fate uint8

const (
	Stored  Fate = iota
	Refused      // not stored, and an error
	Doubted      // stored, but an error as if unknown
)

type stream struct {
	created time.Time
	msgs    []bus.Message // with rising sequences
	first   uint64
	last    uint64
	ids     map[id]uint64 // dedupe window
	cuts    []uint64      // ends after truncations
}

type id struct {
	event string
	epoch int64
}

func New() *Carrier {
	return &Carrier{streams: map[events.Stream]*stream{}, connections: 1, changed: make(chan struct{})}
}

// do runs fn under the lock, unless the carrier is away or ctx has ended.
func (c *Carrier) do(ctx context.Context, fn func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away || ctx.Err() != nil {
		return &fault.Error{
			Kind: fault.Unavailable, Op: "memory", Code: "BUS_UNAVAILABLE", Message: "the carrier is away",
			Err: ctx.Err(),
		}
	}
	return fn()
}

// broadcast wakes Next. The lock is held.
func (c *Carrier) broadcast() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Carrier) Ensure(ctx context.Context, s events.Stream) (info bus.StreamInfo, err error) {
	err = c.do(ctx, func() error {
		st := c.streams[s]
		if st == nil {
			now := time.Now().UTC().Truncate(time.Millisecond)
			if !now.After(c.created) {
				now = c.created.Add(time.Millisecond) // unlike a lost stream
			}
			c.created = now
			st = &stream{created: now, first: 1, ids: map[id]uint64{}}
			c.streams[s] = st
		}
		info = bus.StreamInfo{Created: st.created, First: st.first, Last: st.last}
		return nil
	})
	return info, err
}

func (c *Carrier) Publish(ctx context.Context, msgs []bus.Message) []bus.Ack {
	acks := make([]bus.Ack, len(msgs))
	for i := range msgs {
		fate := Stored
		if c.Fate != nil {
			fate = c.Fate(&msgs[i])
		}
		if acks[i].Err = msgs[i].Check(); acks[i].Err != nil {
			continue
		}
		acks[i].Err = c.do(ctx, func() error {
			if fate == Refused {
				return unavailable("the message was refused")
			}
			st := c.streams[msgs[i].Stream]
			if st == nil {
				return unavailable("there is no stream")
			}
			acks[i].Seq = st.add(&msgs[i])
			c.broadcast()
			if fate == Doubted {
				return unavailable("no acknowledgement came")
			}
			return nil
		})
	}
	if c.Acked != nil {
		c.Acked(ctx, msgs)
	}
	for i := range acks {
		if acks[i].Err == nil && ctx.Err() != nil {
			acks[i].Err = unavailable("no acknowledgement came in time")
		}
		if acks[i].Err != nil {
			acks[i].Seq = 0
		}
	}
	return acks
}

func unavailable(message string) error {
	return fault.Wrap("memory.publish", fault.New(fault.Unavailable, "BUS_UNAVAILABLE", "%s", message))
}

func (st *stream) add(m *bus.Message) uint64 {
	key := id{m.ID, m.Relay.Epoch}
	if seq, ok := st.ids[key]; ok {
		return seq
	}
	st.last++
	kept := *m
	kept.Body, kept.Seq = bytes.Clone(m.Body), st.last
	st.msgs = append(st.msgs, kept)
	st.ids[key] = st.last
	return st.last
}

func (c *Carrier) At(ctx context.Context, s events.Stream, seq uint64) (bus.Message, error) {
	return c.find(ctx, s, func(m *bus.Message) bool { return m.Seq == seq })
}

func (c *Carrier) Last(ctx context.Context, s events.Stream, part int) (bus.Message, error) {
	return c.find(ctx, s, func(m *bus.Message) bool { return m.Part == part })
}

func (c *Carrier) find(ctx context.Context, s events.Stream, fits func(*bus.Message) bool) (m bus.Message, err error) {
	err = c.do(ctx, func() error {
		if st := c.streams[s]; st != nil {
			for i := range slices.Backward(st.msgs) {
				if fits(&st.msgs[i]) {
					m = st.msgs[i]
					return nil
				}
			}
		}
		return fault.New(fault.NotFound, "BUS_MESSAGE_NOT_FOUND", "the stream has no such message")
	})
	return m, err
}

func (c *Carrier) Connections() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connections
}
