package bus

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// MaxCounted is how many unpublished events of a partition are counted.
const MaxCounted = 10_000

type OutboxStatus struct {
	Unpublished int           // at most MaxCounted of each partition
	More        bool          // than were counted
	Oldest      time.Duration // waiting time
	Parts       []OutboxPart
}

type OutboxPart struct {
	Part        int
	Unpublished int
	Oldest      wire.Stamp // time of writing; 0: none waits
	LastSeq     uint64     // last acknowledged sequence
	Epoch       int64      // rises with every loss of the stream
	Replay      *Replaying // nil: none
}

// Replaying is the progress of publishing again what a stream may have lost.
type Replaying struct {
	Since wire.Stamp // of publication
	Done  int64      // ids examined
	Total int64
}

// OutboxStatus reads the committed state, so any process can answer.
func (b *Bus) OutboxStatus(ctx context.Context) (s OutboxStatus, err error) {
	err = b.read(ctx, "bus.outbox", func(ctx context.Context, tx *sqldb.Tx) error {
		s = OutboxStatus{}
		now, err := b.now(ctx, tx)
		if err != nil {
			return err
		}
		for part := range wire.Partitions {
			p, more, err := outboxPart(ctx, tx, part)
			if err != nil {
				return err
			}
			s.Parts = append(s.Parts, p)
			s.Unpublished += p.Unpublished
			s.More = s.More || more
			if p.Oldest > 0 {
				s.Oldest = max(s.Oldest, time.Duration(now-p.Oldest)*time.Millisecond)
			}
		}
		return nil
	})
	return s, err
}

func outboxPart(ctx context.Context, tx *sqldb.Tx, part int) (p OutboxPart, more bool, err error) {
	p.Part = part
	var w window
	err = tx.Batch(ctx,
		sqldb.Stmt{
			Query: `SELECT count(*) FROM (SELECT id FROM outbox_events
				WHERE part = $1 AND published_at IS NULL LIMIT $2) AS waiting`,
			Args: []any{part, MaxCounted + 1},
			Row:  func(row *sqldb.Row) error { return row.Scan(&p.Unpublished) },
		},
		sqldb.Stmt{
			Query: "SELECT created_at FROM outbox_events WHERE part = $1 AND published_at IS NULL ORDER BY id LIMIT 1",
			Args:  []any{part},
			Row:   func(row *sqldb.Row) error { return row.Scan(&p.Oldest) },
		},
		sqldb.Stmt{
			Query: `SELECT epoch, last_seq, replay_pos, replay_to, replay_since FROM bus_relay
				WHERE source = 'outbox' AND part = $1`,
			Args: []any{part},
			Row: func(row *sqldb.Row) error {
				return row.Scan(&p.Epoch, &p.LastSeq, &w.pos, &w.to, &w.since)
			},
		})
	if p.Unpublished > MaxCounted {
		p.Unpublished, more = MaxCounted, true
	}
	if w.pos < w.to {
		p.Replay = &Replaying{Since: w.since, Done: w.pos, Total: w.to}
	}
	return p, more, err
}

// LogStatus is how far the engine's log is published.
type LogStatus struct {
	Position int64      // everything up to this number was acknowledged
	LastSeq  uint64     // last acknowledged sequence
	At       wire.Stamp // of its publication
	Epoch    int64      // rises with every loss of the stream
}

// LogStatus reads the committed state, so any process can answer.
func (b *Bus) LogStatus(ctx context.Context) (s LogStatus, err error) {
	err = b.read(ctx, "bus.log", func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Batch(ctx, sqldb.Stmt{
			Query: "SELECT position, last_seq, last_at, epoch FROM bus_relay WHERE source = 'log' AND part = 0",
			Row:   func(row *sqldb.Row) error { return row.Scan(&s.Position, &s.LastSeq, &s.At, &s.Epoch) },
		})
	})
	return s, err
}
