package bus

import (
	"context"
	"strings"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

type Inspection struct {
	Foreseen
	Failures []Failure
	Event    *events.Event // without hidden values; nil: the body is no event of the tenant
	// Withheld: there is no event, or its payload breaks the schema, so that sensitive fields cannot be found in it.
	Withheld bool
	Waiting  int            // parked events of its key, up to MaxWaiting
	First    []WaitingEvent // of them
}

type WaitingEvent struct {
	EventID   string          `json:"eventId"`
	EventType string          `json:"eventType"`
	Version   canonical.Stamp `json:"recordVersion,omitzero"`
	Index     int             `json:"index"`
	At        canonical.Stamp `json:"waitingSince"`
}

const (
	MaxWaiting     = 10_000 // counted
	maxParkedShown = 100    // shown
)

// InspectDead returns everything known about a dead letter.
func (b *Bus) InspectDead(ctx context.Context, tenant, id string) (out Inspection, err error) {
	err = b.read(ctx, "bus.inspect", func(ctx context.Context, tx *sqldb.Tx) error {
		out = Inspection{}
		l, body, err := findDead(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		seen, err := foresee(ctx, tx, tenant, nil, []string{l.ID}, false)
		if err != nil {
			return err
		}
		out.Foreseen, out.Failures = seen[0], body.failures
		if out.Event, out.Withheld, err = (&mask{fields: b.cfg.Hidden}).redact(ctx, tx, tenant, body.body); err != nil {
			return err
		}
		out.Waiting, out.First, err = parkedBehind(ctx, tx, &l)
		return err
	})
	return out, err
}

// redact hides fields of an event. They may have been marked after it was published.
func (m *mask) redact(
	ctx context.Context, tx *sqldb.Tx, tenant string, body []byte,
) (e *events.Event, withheld bool, err error) {
	parsed, err := events.ParseEvent(body)
	switch {
	case err != nil || parsed.Tenant != tenant:
		return nil, true, nil
	case m.fields == nil:
		return &parsed, false, nil
	case parsed.CheckReceived() != nil:
		parsed.Payload = nil
		return &parsed, true, nil
	}
	if err := m.load(ctx, tx, tenant); err != nil {
		return nil, true, err
	}
	parsed.Hide(m.drop)
	return &parsed, false, nil
}

// parkedBehind counts the events parked after a dead letter and returns the first. One that is being redriven is
// parked too, but not counted.
func parkedBehind(ctx context.Context, tx *sqldb.Tx, l *DeadLetter) (n int, first []WaitingEvent, err error) {
	if owner := strings.Split(l.Key, ":"); len(owner) != 3 || owner[1] != l.Tenant {
		return 0, nil, nil // of another tenant
	}
	err = tx.Row(ctx, `SELECT count(*) FROM (SELECT 1 AS one FROM bus_parked WHERE consumer = $1 AND partition_key = $2
		AND dead = 0 LIMIT $3) AS counted`, l.Consumer, l.Key, MaxWaiting).Scan(&n)
	if err != nil {
		return 0, nil, err
	}
	first, err = sqldb.Collect(ctx, tx, func(row *sqldb.Row) (w WaitingEvent, err error) {
		err = row.Scan(&w.EventID, &w.EventType, &w.Version, &w.Index, &w.At)
		return w, err
	}, `SELECT event_id, event_type, version, idx, at FROM bus_parked
		WHERE consumer = $1 AND partition_key = $2 AND dead = 0 ORDER BY n LIMIT $3`, l.Consumer, l.Key, maxParkedShown)
	return n, first, err
}
