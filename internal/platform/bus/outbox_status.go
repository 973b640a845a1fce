package bus

import (
	"context"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// MaxCounted is how many unpublished events of a partition are counted.
const MaxCounted = 10_000

// OutboxState is the progress of publishing, for all tenants.
type OutboxState struct {
	Unpublished int // at most MaxCounted of each partition
	Parts       []OutboxPart
}

type OutboxPart struct {
	Part        int
	Holder      string          // process that publishes; "": none
	LeaseUntil  canonical.Stamp // 0: as long as that process lives
	Unpublished int
	Oldest      canonical.Stamp // time of writing; 0: none waits
	LastSeq     uint64          // last acknowledged sequence
	Epoch       int64           // rises with every loss of the stream
	Replay      *Replaying      // nil: none
}

// Replaying is the progress of publishing again what a stream may have lost.
type Replaying struct {
	Since canonical.Stamp // of publication
	Done  int64           // ids examined
	Total int64
}

// Outbox reads the committed state, so any process can answer.
func (b *Bus) Outbox(ctx context.Context) (s OutboxState, err error) {
	err = b.read(ctx, "bus.outbox", func(ctx context.Context, tx *sqldb.Tx) error {
		s = OutboxState{Parts: make([]OutboxPart, events.Partitions)}
		now, err := b.now(ctx, tx)
		if err != nil {
			return err
		}
		for part := range s.Parts {
			p := &s.Parts[part]
			p.Part = part
			if err := p.read(ctx, tx); err != nil {
				return err
			}
			p.Holder, p.LeaseUntil = holderOf(p.Holder, p.LeaseUntil, now, b.cfg.Exclusive)
			s.Unpublished += p.Unpublished
		}
		return nil
	})
	return s, err
}

func (p *OutboxPart) read(ctx context.Context, tx *sqldb.Tx) error {
	var w window
	err := tx.Batch(ctx,
		sqldb.Stmt{
			Query: `SELECT count(*) FROM (SELECT id FROM outbox_events
				WHERE part = $1 AND published_at IS NULL LIMIT $2) AS waiting`,
			Args: []any{p.Part, MaxCounted},
			Row:  func(row *sqldb.Row) error { return row.Scan(&p.Unpublished) },
		},
		sqldb.Stmt{
			Query: "SELECT created_at FROM outbox_events WHERE part = $1 AND published_at IS NULL ORDER BY id LIMIT 1",
			Args:  []any{p.Part},
			Row:   func(row *sqldb.Row) error { return row.Scan(&p.Oldest) },
		},
		sqldb.Stmt{
			Query: `SELECT epoch, last_seq, replay_pos, replay_to, replay_since FROM bus_relay
				WHERE source = 'outbox' AND part = $1`,
			Args: []any{p.Part},
			Row: func(row *sqldb.Row) error {
				return row.Scan(&p.Epoch, &p.LastSeq, &w.pos, &w.to, &w.since)
			},
		},
		sqldb.Stmt{
			Query: "SELECT holder, until FROM bus_lease WHERE name = $1 AND part = $2",
			Args:  []any{relayOutbox, p.Part},
			Row:   func(row *sqldb.Row) error { return row.Scan(&p.Holder, &p.LeaseUntil) },
		})
	if w.pos < w.to {
		p.Replay = &Replaying{Since: w.since, Done: w.pos, Total: w.to}
	}
	return err
}

// LogPosition is the number up to which the engine's log was acknowledged, as committed by any process.
func (b *Bus) LogPosition(ctx context.Context) (int64, error) {
	return readValue[int64](ctx, b, "bus.log", "SELECT position FROM bus_relay WHERE source = 'log' AND part = 0")
}
