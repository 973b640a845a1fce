package bus

import (
	"context"
	"fmt"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// chain makes sure that what a feed gives follows on what it gave before. A stream that
// lost its end and grew again looks whole from the outside. But every message names one
// that its relay knew to be there; a reader that was not given that one, because it
// came before, is of a type that it does not want, or was lost, looks for it.
//
// So a reader takes nothing that was sent over a gap: an event that overtook a lost one
// of its key would make that one stale when it is published again.
type chain struct {
	carrier  Carrier
	minRelay int64  // messages of earlier relays are not looked at
	given    uint64 // place of the last message
	sure     uint64 // place up to which the stream is known to be whole
}

// brokenChain says that a message was sent over a gap.
type brokenChain struct {
	seq, behind uint64
	epoch       int64
}

func (b *brokenChain) Error() string {
	return fmt.Sprintf("message %d was sent when the stream had a message %d that it has no more", b.seq, b.behind)
}

// follow gives how many messages follow on what came before. If not all of them do, the
// error of the next is a brokenChain, or that it cannot be found out.
func (c *chain) follow(ctx context.Context, msgs []Message) (n int, err error) {
	for i := range msgs {
		m := &msgs[i]
		if m.Relay.Epoch < c.minRelay {
			continue
		}
		if m.Relay.Behind > max(c.given, c.sure) && m.Relay.BehindID != "" {
			if err := c.look(ctx, m); err != nil {
				return i, err
			}
			c.sure = m.Relay.Behind
		}
		c.given = m.Seq
	}
	return len(msgs), nil
}

// look asks for the message behind another.
func (c *chain) look(ctx context.Context, m *Message) error {
	behind, err := c.carrier.At(ctx, m.Stream, m.Relay.Behind)
	ok, err := found(err)
	if err != nil || ok && behind.ID == m.Relay.BehindID {
		return err
	}
	info, err := c.carrier.Ensure(ctx, m.Stream)
	if err != nil || m.Relay.Behind < info.First {
		return err // it is gone for its age
	}
	return &brokenChain{seq: m.Seq, behind: m.Relay.Behind, epoch: m.Relay.Epoch}
}

// doubt passes over everything that was sent behind a gap by the relay of the same
// epoch, and tells that relay, which then publishes it again in a new one.
func (r *reader) doubt(ctx context.Context, gap *brokenChain) error {
	source, part, post := "outbox", r.lease.part, post{relayOutbox, r.lease.part}
	if r.consumer.Stream == wire.Executions {
		source, part, post.name, post.part = "log", 0, relayLog, 0
	}
	err := r.bus.write(ctx, "bus.doubt", func(ctx context.Context, tx *sqldb.Tx) error {
		if _, err := r.bus.fence(ctx, tx, r.lease); err != nil {
			return err
		}
		return tx.Batch(ctx,
			sqldb.Stmt{
				Query: "UPDATE bus_reader SET min_relay = $3 WHERE consumer = $1 AND part = $2 AND min_relay < $3",
				Args:  []any{r.consumer.Name, r.lease.part, gap.epoch + 1},
			},
			sqldb.Stmt{
				Query: "UPDATE bus_relay SET doubt = 1 WHERE source = $1 AND part = $2 AND epoch = $3",
				Args:  []any{source, part, gap.epoch},
			})
	})
	if err != nil {
		return err
	}
	r.bus.log.Warn("a reader found a gap in its stream", "consumer", r.consumer.Name, "partition", r.lease.part, "error", gap)
	r.at.minRelay = max(r.at.minRelay, gap.epoch+1)
	r.bus.doubts.Add(1)
	r.bus.wakes.wake(post)
	return nil
}
