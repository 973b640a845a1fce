package bus

import (
	"context"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// Uncommitted is the end of a partition that the database never committed. An event is committed before it is
// published, so the database was restored from a backup or lost its write-ahead log.
type Uncommitted struct {
	Stream     events.Stream
	Part       int
	EventID    string
	OccurredAt canonical.Stamp
}

// Uncommitted compares the partitions' ends with the database, before Run. What a relay recorded as published may
// have expired since; anything else must be there.
func (b *Bus) Uncommitted(ctx context.Context) (ends []Uncommitted, err error) {
	for _, s := range []events.Stream{events.Events, events.Executions} {
		if s == events.Executions && b.cfg.Log == nil {
			continue
		}
		info, err := b.carrier.Ensure(ctx, s)
		if err != nil {
			return nil, err
		}
		for part := range events.Partitions {
			m, err := b.carrier.Last(ctx, s, part)
			if ok, err := found(err); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
			known, err := b.committed(ctx, info, &m)
			if err != nil {
				return nil, err
			}
			if !known {
				ends = append(ends, Uncommitted{s, part, m.ID, m.OccurredAt})
			}
		}
	}
	return ends, nil
}

// committed reports whether the database committed a message; of another stream than its last it knows nothing.
func (b *Bus) committed(ctx context.Context, info StreamInfo, m *Message) (known bool, err error) {
	source, part := "outbox", m.Part
	if m.Stream == events.Executions {
		source, part = "log", 0
	}
	var streamAt int64
	var noted uint64
	err = b.read(ctx, "bus.uncommitted", func(ctx context.Context, tx *sqldb.Tx) error {
		err := tx.Row(ctx, "SELECT stream_at, last_seq FROM bus_relay WHERE source = $1 AND part = $2",
			source, part).Scan(&streamAt, &noted)
		if err := ignoreNoRow(err); err != nil {
			return err
		}
		if known = streamAt != 0 && (streamAt != created(info) || m.Seq <= noted); known ||
			m.Stream == events.Executions {
			return nil
		}
		var id string
		err = tx.Row(ctx, "SELECT event_id FROM outbox_events WHERE id = $1 AND tenant_id = $2",
			m.Relay.Source, m.Tenant).Scan(&id)
		known = err == nil && id == m.ID
		return ignoreNoRow(err)
	})
	if err != nil || known || m.Stream == events.Events {
		return known, err
	}
	// It was read with the rows after the number that it carries.
	msgs, _, err := b.cfg.Log.After(ctx, m.Relay.Source, logRows)
	return slices.ContainsFunc(msgs, func(row Message) bool { return row.ID == m.ID }), err
}
