package bus

import (
	"context"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Publish writes events to the outbox in the transaction of the change that they announce. They are published when it
// is committed, and never when it is not.
//
// An event without an id, a time or a producer gets them here. Sensitive fields are removed. Then it is validated
// against its schema, strictly: the error says what is wrong and where, and the transaction must fail with it.
//
// The events of one key are published in the order of these calls. So the publisher holds what it changes from before
// its version is taken until the end of the transaction: the record's row, or that of NextVersion.
func (b *Bus) Publish(ctx context.Context, tx *sqldb.Tx, events ...wire.Event) error {
	if len(events) == 0 {
		return nil
	}
	msgs := make([]Message, len(events))
	var parts [wire.Partitions]bool
	masks := mask{fields: b.cfg.Sensitive}
	for i := range events {
		e := events[i] // the caller's stays as it is
		if err := b.complete(ctx, tx, &e, &masks); err != nil {
			return fault.Wrap("bus.publish", err)
		}
		m := &msgs[i]
		*m = Message{
			Stream: wire.Events, ID: e.ID, Tenant: e.Tenant, Part: wire.Partition(e.Key), Type: e.Type, Key: e.Key,
			OccurredAt: e.OccurredAt, Service: e.Producer.Service, Body: e.AppendJSON(nil),
		}
		if err := m.Check(); err != nil {
			return fault.Wrap("bus.publish", err)
		}
		parts[m.Part] = true
	}
	ids, err := queriesIn(tx).insertOutbox(ctx, tx, b.cfg.Clock, msgs)
	if err != nil {
		return fault.Wrap("bus.publish", err)
	}
	b.cfg.Passed("outbox.written")
	tx.OnCommit(func() {
		b.cfg.Passed("outbox.committed")
		if !queriesIn(tx).shared {
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

// complete fills in what the publisher left out of an event, and validates it.
func (b *Bus) complete(ctx context.Context, tx *sqldb.Tx, e *wire.Event, m *mask) (err error) {
	if e.ID == "" {
		e.ID = uuid.Must(uuid.NewV7()).String()
	}
	if e.SchemaVersion == 0 {
		e.SchemaVersion = wire.SchemaVersion
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

// mask takes values of some fields out of events, in one transaction.
type mask struct {
	fields Fields // nil: none
	tenant string // of drop
	drop   func(object, field string) bool
}

// strip takes them out of an event that is to be published.
func (m *mask) strip(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	if m.fields == nil || !e.HasFields() {
		return nil
	}
	if err := m.load(ctx, tx, e.Tenant); err != nil {
		return err
	}
	e.Strip(m.drop)
	return nil
}

// load asks for the fields of a tenant, unless they are known.
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

// NextVersion is the record version of the next change of a key that has no record with a row of its own. It is later
// than the one before, whatever the clock says. On PostgreSQL the key is locked until the end of the transaction: a
// concurrent change waits, and gets a later version.
func (b *Bus) NextVersion(ctx context.Context, tx *sqldb.Tx, key string) (version wire.Stamp, err error) {
	version, err = queriesIn(tx).nextVersion(ctx, tx, b.cfg.Clock, key)
	return version, fault.Wrap("bus.version", err)
}
