package bus

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// LogStatus is how far the engine's log is published.
type LogStatus struct {
	Position int64      // number up to which all of it was acknowledged
	LastSeq  uint64     // the last sequence that was acknowledged
	At       wire.Stamp // when that was sent
	Epoch    int64      // rises when the stream has lost something
}

// LogStatus gives how far the engine's log is published, as last committed. It reads what is stored, so any process can
// be asked.
func (b *Bus) LogStatus(ctx context.Context) (s LogStatus, err error) {
	err = b.read(ctx, "bus.log", func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Batch(ctx, sqldb.Stmt{
			Query: "SELECT position, last_seq, last_at, epoch FROM bus_relay WHERE source = 'log' AND part = 0",
			Row:   func(row *sqldb.Row) error { return row.Scan(&s.Position, &s.LastSeq, &s.At, &s.Epoch) },
		})
	})
	return s, err
}
