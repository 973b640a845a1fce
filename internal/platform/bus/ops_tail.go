package bus

import (
	"context"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// Tail follows the outbox events of a tenant in order. It is used by one goroutine.
//
// On PostgreSQL a transaction can take a position and commit after one with a later position. The tail waits at such
// a hole until nobody can fill it, so resuming from a position misses nothing.
type Tail struct {
	bus    *Bus
	filter EventFilter
	from   canonical.Stamp // older events are skipped
	place  int64
	holes  *sqldb.Holes
	held   bool // see Held
}

// tailWindow is how many events of all tenants a read looks at, returning up to relayBytes.
const tailWindow = 2000

type TailEvent struct {
	ID        int64 // position
	EventType string
	Body      []byte // envelope without hidden values
}

// TailFrom is a position, or an instant from which events are young enough; with neither, the end.
type TailFrom struct {
	Place *int64
	At    canonical.Stamp
}

func (b *Bus) Tail(ctx context.Context, f EventFilter, from TailFrom) (*Tail, error) {
	t := &Tail{bus: b, filter: f, from: from.At, holes: sqldb.NewHoles(b.db, "outbox_events")}
	if from.Place != nil {
		t.place = *from.Place
		return t, b.read(ctx, "bus.tail", func(ctx context.Context, tx *sqldb.Tx) error {
			return checkPosition(ctx, tx, t.place)
		})
	}
	err := b.read(ctx, "bus.tail", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if from.At == 0 && !queriesOf(tx).shared {
			return tx.Row(ctx, "SELECT COALESCE(max(id), 0) FROM outbox_events").Scan(&t.place)
		}
		if from.At == 0 { // running transactions may have earlier positions
			if t.from, err = b.now(ctx, tx); err != nil {
				return err
			}
		}
		t.place, err = positionAt(ctx, tx, t.from)
		return err
	})
	return t, err
}

// Place is where to resume: everything up to it was delivered or is not wanted.
func (t *Tail) Place() int64 { return t.place }

// Held reports whether the last Next stopped at a hole: there are more events, which it gives later.
func (t *Tail) Held() bool { return t.held }

// Next returns the next events; more: there may be more at once.
func (t *Tail) Next(ctx context.Context) (list []TailEvent, more bool, err error) {
	var rows []TailEvent
	n, err := t.holes.Pass(ctx, t.place, func(ctx context.Context) (places []int64, err error) {
		if rows, more, err = t.readRows(ctx); err != nil {
			return nil, err
		}
		for i := range rows {
			places = append(places, rows[i].ID)
		}
		return places, nil
	})
	if err != nil {
		return nil, false, err
	}
	t.held = n < len(rows)
	more = more && !t.held
	for _, e := range rows[:n] {
		t.place = e.ID
		if e.Body != nil {
			list = append(list, e)
		}
	}
	return list, more, nil
}

// readRows reads rows after the position, wanted ones with bodies; full: there may be more.
func (t *Tail) readRows(ctx context.Context) (rows []TailEvent, full bool, err error) {
	err = t.bus.read(ctx, "bus.tail", func(ctx context.Context, tx *sqldb.Tx) error {
		q := queriesOf(tx)
		args := q.page(t.place, t.filter.Tenant, t.from, t.filter.EventType, t.filter.Key, tailWindow)
		size := 0
		for row, err := range tx.Query(ctx, q.tail, args...) {
			var e TailEvent
			if err == nil {
				err = row.Scan(&e.ID, &e.EventType, &e.Body)
			}
			if err != nil {
				return err
			}
			rows = append(rows, e)
			if size += len(e.Body); size > relayBytes-events.MaxEvent {
				break
			}
		}
		full = len(rows) == tailWindow || size > relayBytes-events.MaxEvent
		return t.bus.show(ctx, tx, t.filter.Tenant, rows)
	})
	return rows, full, err
}

// show hides fields in envelopes.
func (b *Bus) show(ctx context.Context, tx *sqldb.Tx, tenant string, rows []TailEvent) error {
	if b.cfg.Hidden == nil {
		return nil
	}
	masks := mask{fields: b.cfg.Hidden}
	for i := range rows {
		if rows[i].Body == nil {
			continue
		}
		e, _, err := masks.redact(ctx, tx, tenant, rows[i].Body)
		switch {
		case err != nil:
			return err
		case e == nil:
			rows[i].Body = []byte("{}") // cannot be in the outbox
			continue
		case e.Payload == nil:
			e.Payload = []byte("{}")
		}
		rows[i].Body = e.AppendJSON(nil)
	}
	return nil
}
