package bus

import (
	"context"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// pgNow is the time in milliseconds by PostgreSQL's clock.
const pgNow = "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)"

// Rows of the outbox. On SQLite the clock of this process says when they were written.
var (
	insertOutbox = sqldb.NewInsert("outbox_events (created_at, occurred_at, part, event_id, tenant_id, event_type, partition_key, service, body)", "",
		"bigint", "bigint", "bigint", "text", "text", "text", "text", "text", "bytea")
	insertOutboxPG = sqldb.NewInsertSelect("outbox_events (created_at, occurred_at, part, event_id, tenant_id, event_type, partition_key, service, body)",
		pgNow+", *", "", "bigint", "bigint", "text", "text", "text", "text", "text", "bytea")
)

// Publish announces events in the transaction of the change that they tell of. They
// go out when it is committed, and never when it is not.
//
// An event without an id, a time or a producer gets them here. Fields that may not
// leave their record are taken out. Then it is held against its schema, strictly: an
// error says what is wrong and where, and the transaction must fail with it.
//
// The events of one key go out in the order in which they are published here. So
// whoever publishes holds what it changes from before its version is taken until the
// end of the transaction: the record's row, or that of NextVersion.
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
	ids, err := b.insertOutbox(ctx, tx, msgs)
	if err != nil {
		return fault.Wrap("bus.publish", err)
	}
	b.cfg.Passed("outbox.written")
	tx.OnCommit(func() {
		b.cfg.Passed("outbox.committed")
		if tx.Dialect() == sqldb.SQLite {
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

// complete gives an event what its publisher left to the bus, and checks it.
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

// insertOutbox stores events in their order, and on SQLite gives the ids of their rows.
func (b *Bus) insertOutbox(ctx context.Context, tx *sqldb.Tx, msgs []Message) (ids []int64, err error) {
	values := make([]any, 0, 9*len(msgs))
	lite, now := tx.Dialect() == sqldb.SQLite, b.cfg.Clock.Now().UnixMilli()
	for i := range msgs {
		m := &msgs[i]
		if lite {
			values = append(values, now)
		}
		values = append(values, m.OccurredAt, m.Part, m.ID, m.Tenant, m.Type, m.Key, m.Service, m.Body)
	}
	if !lite {
		return nil, tx.Batch(ctx, insertOutboxPG.Stmts(sqldb.Postgres, values)...)
	}
	stmts := insertOutbox.Stmts(sqldb.SQLite, values)
	last, rows := make([]int64, len(stmts)), make([]int64, len(stmts))
	for i := range stmts {
		stmts[i].Inserted, stmts[i].Changed = &last[i], &rows[i]
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return nil, err
	}
	for i := range stmts { // the ids of one statement follow on each other
		for id := last[i] - rows[i] + 1; id <= last[i]; id++ {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// A key's next version is the time, unless that has not passed since its last.
const (
	nextVersion = `INSERT INTO bus_key (partition_key, version) VALUES ($1, $2)
		ON CONFLICT (partition_key) DO UPDATE SET version =
			CASE WHEN excluded.version > bus_key.version THEN excluded.version ELSE bus_key.version + 1 END
		RETURNING version`
	nextVersionPG = `INSERT INTO bus_key (partition_key, version) VALUES ($1, ` + pgNow + `)
		ON CONFLICT (partition_key) DO UPDATE SET version = greatest(excluded.version, bus_key.version + 1)
		RETURNING version`
)

// NextVersion is the record version of the next change of a key that has no record
// with a row of its own. It is later than the one before, whatever the clock says. On
// PostgreSQL the key is held until the end of the transaction: who changes it at the
// same time waits, and gets a later version.
func (b *Bus) NextVersion(ctx context.Context, tx *sqldb.Tx, key string) (version wire.Stamp, err error) {
	if tx.Dialect() == sqldb.Postgres {
		err = tx.Row(ctx, nextVersionPG, key).Scan(&version)
	} else {
		err = tx.Row(ctx, nextVersion, key, b.cfg.Clock.Now().UnixMilli()).Scan(&version)
	}
	return version, fault.Wrap("bus.version", err)
}
