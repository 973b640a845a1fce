package bus

import (
	"context"
	"time"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// Tail follows the events of a tenant in the outbox, in the order of their places. It
// is used by one goroutine.
//
// On PostgreSQL a transaction can take a place and commit after one with a later place
// has. The tail waits at such a hole until nobody can fill it any more, so whoever goes
// on from a place later has missed nothing.
type Tail struct {
	bus    *Bus
	filter EventFilter
	from   wire.Stamp // older events are passed over
	place  int64
	filled int64 // up to here holes stay holes
	mark   holeMark
}

// holeMark remembers when places up to one had been taken.
type holeMark struct {
	upto int64
	xmax int64 // the transaction that had not begun then
	at   time.Time
}

// holeAge is how old a mark is at least before it counts: a transaction takes a place
// a moment before it has a number.
const holeAge = time.Second

// tailWindow is how many events of all tenants one read looks at.
const tailWindow = 2000

// TailEvent is an event that a tail came by.
type TailEvent struct {
	ID        int64 // its place in the outbox
	EventType string
	Body      []byte // the envelope, without the values of sensitive fields
}

// TailFrom is where a tail begins: behind a place, or where events are as young as an
// instant; when neither is given, behind all that there is.
type TailFrom struct {
	Place *int64
	At    wire.Stamp
}

// Tail begins to follow.
func (b *Bus) Tail(ctx context.Context, f EventFilter, from TailFrom) (*Tail, error) {
	t := &Tail{bus: b, filter: f, from: from.At}
	if from.Place != nil {
		t.place = *from.Place
		return t, nil
	}
	err := b.read(ctx, "bus.tail", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if from.At == 0 && tx.Dialect() == sqldb.SQLite {
			return tx.Row(ctx, "SELECT COALESCE(max(id), 0) FROM outbox_events").Scan(&t.place)
		}
		if from.At == 0 { // what is under way now may take a place before the last one
			if t.from, err = b.now(ctx, tx); err != nil {
				return err
			}
		}
		t.place, err = placeAt(ctx, tx, t.from)
		return err
	})
	return t, err
}

// Place is where to go on: everything up to it was given or is not wanted.
func (t *Tail) Place() int64 { return t.place }

// Next gives the next events, and whether there may be more at once.
func (t *Tail) Next(ctx context.Context) (events []TailEvent, more bool, err error) {
	place := t.place
	err = t.bus.read(ctx, "bus.tail", func(ctx context.Context, tx *sqldb.Tx) error {
		if err := t.settle(ctx, tx); err != nil {
			return err
		}
		n := 0
		for row, err := range tx.Query(ctx, `SELECT id, event_type,
			CASE WHEN tenant_id = $2 AND created_at >= $3 AND ($4 = '' OR event_type = $4) AND ($5 = '' OR partition_key = $5) THEN body END
			FROM outbox_events WHERE id > $1 ORDER BY id LIMIT $6`,
			t.place, t.filter.Tenant, t.from, t.filter.EventType, t.filter.Key, tailWindow) {
			if err != nil {
				return err
			}
			var e TailEvent
			if err := row.Scan(&e.ID, &e.EventType, &e.Body); err != nil {
				return err
			}
			n++
			if e.ID > place+1 && e.ID > t.filled+1 {
				return nil // a hole; it may still be filled
			}
			place = e.ID
			if e.Body != nil {
				events = append(events, e)
			}
		}
		more = n == tailWindow
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	t.place = place
	for i := range events {
		events[i].Body = t.bus.shown(t.filter.Tenant, events[i].Body)
	}
	return events, more, nil
}

// settle finds out up to where no place can be filled any more: up to the last one that
// had been taken when the oldest transaction of now had not begun.
func (t *Tail) settle(ctx context.Context, tx *sqldb.Tx) error {
	if tx.Dialect() == sqldb.SQLite { // one writer: places are in the order of commits
		t.filled = 1<<63 - 2
		return nil
	}
	var xmin, xmax, last int64
	err := tx.Row(ctx, `SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint),
		CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint), (SELECT COALESCE(max(id), 0) FROM outbox_events)`).
		Scan(&xmin, &xmax, &last)
	if err != nil {
		return err
	}
	if t.mark.upto > 0 && xmin >= t.mark.xmax && time.Since(t.mark.at) >= holeAge {
		t.filled, t.mark = t.mark.upto, holeMark{}
	}
	if t.mark.upto == 0 && last > t.filled {
		t.mark = holeMark{last, xmax, time.Now()}
	}
	return nil
}

// shown is an envelope as its tenant may see it.
func (b *Bus) shown(tenant string, body []byte) []byte {
	if b.cfg.Sensitive == nil {
		return body
	}
	e, _ := b.redact(tenant, body)
	if e == nil {
		return []byte("{}") // the outbox has none such
	}
	if e.Payload == nil {
		e.Payload = []byte("{}")
	}
	return e.AppendJSON(nil)
}
