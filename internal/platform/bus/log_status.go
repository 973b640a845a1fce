package bus

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

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
