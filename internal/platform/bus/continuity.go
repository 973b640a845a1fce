package bus

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// continuityCheck verifies that each message follows its predecessor. A stream that lost its tail and grew again
// looks whole, but every message names one that its relay knew to be there; the check looks that up if the reader did
// not get it, because it is older, of another type, or lost.
//
// So a reader applies nothing that was sent over a gap: an event that overtook a lost one of its key would make it
// stale when it is published again.
type continuityCheck struct {
	carrier   Carrier
	minRelay  int64  // earlier relay epochs are not checked
	delivered uint64 // sequence of the last message
	verified  uint64 // the stream is complete up to here
}

// gap: something before the reader's position was lost.
type gap struct {
	epoch int64 // of the message sent over it; 0: the relay's current one
	cause error
}

func (g *gap) Error() string { return g.cause.Error() }
func (g *gap) Unwrap() error { return g.cause }

func gapOf(err error) *gap {
	var g *gap
	if errors.As(err, &g) {
		return g
	}
	if f, ok := fault.As(err); ok && f.Code == CodeLost {
		return &gap{cause: err}
	}
	return nil
}

// verify returns how many messages follow their predecessors. err, of the next one, is a gap or a failure to look it
// up.
func (c *continuityCheck) verify(ctx context.Context, items []item) (n int, err error) {
	for i := range items {
		m := &items[i].Message
		if m.Relay.Epoch < c.minRelay {
			continue
		}
		if m.Relay.Behind > max(c.delivered, c.verified) && m.Relay.BehindID != "" {
			if err := c.lookup(ctx, m); err != nil {
				return i, err
			}
			c.verified = m.Relay.Behind
		}
		c.delivered = m.Seq
	}
	return len(items), nil
}

func (c *continuityCheck) lookup(ctx context.Context, m *Message) error {
	behind, err := c.carrier.At(ctx, m.Stream, m.Relay.Behind)
	ok, err := found(err)
	if err != nil || ok && behind.ID == m.Relay.BehindID {
		return err
	}
	info, err := c.carrier.Ensure(ctx, m.Stream)
	if err != nil || m.Relay.Behind < info.First {
		return err // expired
	}
	return &gap{m.Relay.Epoch, Lost("message %d was sent when stream %s had another message %d than it has now", m.Seq,
		m.Stream, m.Relay.Behind)}
}

func ignoreNoRow(err error) error {
	if errors.Is(err, sqldb.ErrNoRow) {
		return nil
	}
	return err
}

// reportGap discards what the relay sent in that epoch after a gap and asks it to publish again in a new epoch. It
// returns the gap after the commit.
func (r *reader) reportGap(ctx context.Context, g *gap) error {
	source, of := "outbox", assignment{relayOutbox, r.lease.part}
	if r.consumer.Stream == events.Executions {
		source, of = "log", assignment{relayLog, 0}
	}
	var passed int64
	err := r.bus.write(ctx, "bus.doubt", func(ctx context.Context, tx *sqldb.Tx) error {
		passed = 0
		if _, err := r.bus.fence(ctx, tx, r.lease); err != nil {
			return err
		}
		var epoch int64 // if the relay raises it, this reader's lease ends
		err := tx.Row(ctx, "SELECT epoch FROM bus_relay WHERE source = $1 AND part = $2", source, of.part).Scan(&epoch)
		if err != nil {
			return ignoreNoRow(err)
		}
		if passed = epoch; g.epoch > 0 {
			passed = min(epoch, g.epoch)
		}
		return tx.Batch(ctx,
			sqldb.Stmt{
				Query: "UPDATE bus_reader SET min_relay = $3 WHERE consumer = $1 AND part = $2 AND min_relay < $3",
				Args:  []any{r.consumer.Name, r.lease.part, passed + 1},
			},
			sqldb.Stmt{
				Query: "UPDATE bus_relay SET doubt = 1 WHERE source = $1 AND part = $2 AND epoch = $3",
				Args:  []any{source, of.part, passed},
			})
	})
	if err != nil {
		return err
	}
	if passed == 0 {
		return g // no relay yet
	}
	r.progress.pos.minRelay = max(r.progress.pos.minRelay, passed+1)
	r.reported = r.progress.pos.minRelay + 1
	r.bus.cfg.Passed("reader.doubt")
	r.bus.gapReports.Add(1)
	r.bus.wakes.wake(of)
	return g
}
