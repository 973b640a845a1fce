package bus

import (
	"context"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Publish writes events to the outbox, in the transaction of their change: they are published if and only if it
// commits.
//
// Missing ids, times and producers are added and sensitive fields removed. Then the event is validated strictly
// against its schema; the transaction must fail with the error.
//
// The events of a key are published in the order of these calls. So the publisher must lock what it changes, the
// record's row or NextVersion's, from before it takes the version until the end of the transaction.
func (b *Bus) Publish(ctx context.Context, tx *sqldb.Tx, batch ...events.Event) error {
	if len(batch) == 0 {
		return nil
	}
	msgs := make([]Message, len(batch))
	var parts [events.Partitions]bool
	masks := mask{fields: b.cfg.Sensitive}
	for i := range batch {
		e := batch[i] // a copy
		if err := b.complete(ctx, tx, &e, &masks); err != nil {
			return fault.Wrap("bus.publish", err)
		}
		m := &msgs[i]
		*m = Message{
			Stream: events.Events, ID: e.ID, Tenant: e.Tenant, Part: events.Partition(e.Key), Type: e.Type, Key: e.Key,
			OccurredAt: e.OccurredAt, Service: e.Producer.Service, Body: e.AppendJSON(nil),
		}
		if err := m.Check(); err != nil {
			return fault.Wrap("bus.publish", err)
		}
		parts[m.Part] = true
	}
	ids, err := queriesOf(tx).insertOutbox(ctx, tx, b.cfg.Clock, msgs)
	if err != nil {
		return fault.Wrap("bus.publish", err)
	}
	b.cfg.Passed("outbox.written")
	tx.OnCommit(func() {
		b.cfg.Passed("outbox.committed")
		if !queriesOf(tx).shared {
			b.recent.append(ids, msgs)
		}
		for part, has := range parts {
			if has {
				b.wakes.wake(assignment{relayOutbox, part})
			}
		}
	})
	return nil
}

// complete fills in missing members and validates.
func (b *Bus) complete(ctx context.Context, tx *sqldb.Tx, e *events.Event, m *mask) (err error) {
	if e.ID == "" {
		e.ID = uuid.Must(uuid.NewV7()).String()
	}
	if e.SchemaVersion == 0 {
		e.SchemaVersion = events.SchemaVersion
	}
	if e.Producer.Service == "" {
		e.Producer.Service = b.cfg.Service
	}
	if e.Producer.Instance == "" {
		e.Producer.Instance = b.cfg.Instance
	}
	if e.OccurredAt == 0 {
		if e.OccurredAt, err = b.now(ctx, tx); err != nil {
			return err
		}
	}
	if err := m.strip(ctx, tx, e); err != nil {
		return err
	}
	return e.CheckPublished()
}

// mask removes fields from the events of a transaction.
type mask struct {
	fields Fields // nil: none
	tenant string // of drop
	drop   func(object, field string) bool
}

func (m *mask) strip(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
	if m.fields == nil || !e.HasFields() {
		return nil
	}
	if err := m.load(ctx, tx, e.Tenant); err != nil {
		return err
	}
	e.Strip(m.drop)
	return nil
}

// load loads the fields of a tenant once.
func (m *mask) load(ctx context.Context, tx *sqldb.Tx, tenant string) (err error) {
	if m.drop != nil && m.tenant == tenant {
		return nil
	}
	if m.drop, err = m.fields(ctx, tx, tenant); err != nil {
		return err
	}
	m.tenant = tenant
	return nil
}

// NextVersion is the version of the next change of a key without a record row. It always rises. On PostgreSQL it
// locks the key until the end of the transaction, so a concurrent change gets a later one.
func (b *Bus) NextVersion(ctx context.Context, tx *sqldb.Tx, key string) (version canonical.Stamp, err error) {
	version, err = queriesOf(tx).nextVersion(ctx, tx, b.cfg.Clock, key)
	return version, fault.Wrap("bus.version", err)
}
