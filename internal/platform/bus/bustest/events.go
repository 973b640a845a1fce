package bustest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Events are events of records for tests of what is built around a bus, and a handler that fails for the keys that a
// test says. Bus and DB are set before anything is published.
type Events struct {
	Bus *bus.Bus
	DB  *sqldb.DB

	t       testing.TB
	now     func() time.Time
	mu      sync.Mutex
	fails   map[string]bool // by partition key
	version canonical.Stamp
}

// ErrAway is why the handler fails.
var ErrAway error = away{}

type away struct{}

func (away) Error() string { return "the index is away" }

// Unwrap says that it is an outage.
func (away) Unwrap() error { return fault.New(fault.Unavailable, "", "the index is away") }

// NewEvents makes events by a clock: their versions are its time, and count up while that stands still.
func NewEvents(t testing.TB, now func() time.Time) *Events {
	return &Events{t: t, now: now, fails: map[string]bool{}}
}

// Handle is the handler of a consumer: it does nothing, or fails for good.
func (m *Events) Handle(_ context.Context, _ *sqldb.Tx, e *events.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails[e.Key] {
		return bus.Permanent(ErrAway)
	}
	return nil
}

// Fail lets the events of a key fail, Recover lets them succeed.
func (m *Events) Fail(key string) { m.set(key, true) }

// Recover lets the events of a key succeed.
func (m *Events) Recover(key string) { m.set(key, false) }

func (m *Events) set(key string, fails bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails[key] = fails
}

// Deleted is an event of a record of a tenant; a name makes always the same record.
func (m *Events) Deleted(tenant, record string) events.Event {
	m.t.Helper()
	id, version := m.next(record)
	return m.event(tenant, id, version, events.RecordDeleted{
		ObjectName: "Account", RecordID: id, Deleted: true,
		RecordVersion: version,
	})
}

// OwnerChanged is another event of a record of a tenant.
func (m *Events) OwnerChanged(tenant, record string) events.Event {
	m.t.Helper()
	id, version := m.next(record)
	return m.event(tenant, id, version, events.OwnerChanged{
		ObjectName: "Account", RecordID: id, OldOwnerID: id,
		NewOwnerID: id, RecordVersion: version,
	})
}

func (m *Events) next(record string) (id string, version canonical.Stamp) {
	if uuid.Validate(record) != nil {
		record = uuid.NewSHA1(uuid.NameSpaceURL, []byte(record)).String()
	}
	m.version = canonical.NextStamp(m.version, canonical.Stamp(m.now().UnixMilli()))
	return record, m.version
}

func (m *Events) event(tenant, record string, version canonical.Stamp, p events.Payload) events.Event {
	m.t.Helper()
	payload, err := events.NewPayload(p)
	e := events.Event{
		ID: uuid.Must(uuid.NewV7()).String(), SchemaVersion: events.SchemaVersion, Type: p.EventType(),
		OccurredAt: version,
		Tenant:     tenant,
		Producer:   events.Producer{Service: "core-platform", Instance: "p1"}, CorrelationID: "merge-7",
		Key: events.RecordKey("Account", tenant, record), Version: version, Payload: payload,
	}
	if err == nil {
		err = e.CheckPublished()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return e
}

// Publish publishes events, each in a transaction of its own.
func (m *Events) Publish(batch ...events.Event) {
	m.t.Helper()
	for _, e := range batch {
		err := m.DB.Write(context.Background(), sqldb.Other,
			func(ctx context.Context, tx *sqldb.Tx) error { return m.Bus.Publish(ctx, tx, e) })
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// Published waits until nothing waits to be published. An event can be consumed before it is marked as published.
func (m *Events) Published() {
	m.t.Helper()
	for began := time.Now(); ; {
		s, err := m.Bus.Outbox(context.Background())
		if err != nil || time.Since(began) > deadWithin {
			m.t.Fatalf("something waits to be published: %+v %v", s, err)
		}
		if s.Unpublished == 0 {
			return
		}
	}
}

// Kill publishes events that fail, and gives their dead letters, of one consumer, in the order of the events. Their
// keys recover afterwards.
func (m *Events) Kill(consumer string, batch ...events.Event) []bus.DeadLetter {
	m.t.Helper()
	for i := range batch {
		m.Fail(batch[i].Key)
	}
	m.Publish(batch...)
	letters := make([]bus.DeadLetter, len(batch))
	for i := range batch {
		for began := time.Now(); letters[i].ID == ""; {
			letters[i] = m.find(consumer, &batch[i])
			if time.Since(began) > deadWithin {
				m.t.Fatalf("event %d is no dead letter of %s", i, consumer)
			}
		}
	}
	for i := range batch {
		m.Recover(batch[i].Key)
	}
	return letters
}

// deadWithin is how long an event may take to become a dead letter.
const deadWithin = 20 * time.Second

func (m *Events) find(consumer string, e *events.Event) bus.DeadLetter {
	m.t.Helper()
	page, _, err := m.Bus.DeadLetters(context.Background(), e.Tenant, bus.DeadFilter{Consumer: consumer, Key: e.Key}, 0,
		1000)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, l := range page {
		if l.EventID == e.ID {
			return l
		}
	}
	return bus.DeadLetter{}
}
