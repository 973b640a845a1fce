package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/bus"
	"renga.dev/renga/internal/bus/memory"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// own is the tenant of requests that name none, other is another.
const (
	own   = "00000000-0000-0000-0000-000000000000"
	other = "11111111-1111-1111-1111-111111111111"
)

// mail is what goes over the bus in tests: events of records, and a handler that fails
// for the records that a test says.
type mail struct {
	carrier *memory.Carrier
	mu      sync.Mutex
	fails   map[string]error // by partition key
	version wire.Stamp
	source  int64
	ahead   time.Duration // of what is announced
}

var errAway = errors.New("the index is away")

// openBus puts a bus over the server's database and a carrier in memory.
func (s *server) openBus(o options) {
	s.t.Helper()
	s.mail = &mail{carrier: memory.New(), fails: map[string]error{}, version: wire.Stamp(time.Now().UnixMilli())}
	for i := range o.consumers {
		o.consumers[i].Handle = s.mail.handle
	}
	s.bus = bus.New(s.db, s.mail.carrier, bus.Config{Consumers: o.consumers, Instance: "p1", Exclusive: true, Clock: s.clock})
}

func (m *mail) handle(_ context.Context, _ *sqldb.Tx, e *wire.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fails[e.Key]
}

// fail lets the events of a key fail for good; heal lets them succeed.
func (m *mail) fail(key string) { m.set(key, bus.Permanent(errAway)) }
func (m *mail) heal(key string) { m.set(key, nil) }

func (m *mail) set(key string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails[key] = err
}

// deleted is an event of a record of a tenant.
func (s *server) deleted(tenant, record string) wire.Event {
	s.t.Helper()
	if uuid.Validate(record) != nil {
		record = uuid.NewSHA1(uuid.NameSpaceURL, []byte(record)).String()
	}
	s.mail.version++
	v := s.mail.version
	payload, err := wire.NewPayload(wire.RecordDeleted{ObjectName: "Account", RecordID: record, Deleted: true, RecordVersion: v})
	if err != nil {
		s.t.Fatal(err)
	}
	return wire.Event{
		ID: uuid.Must(uuid.NewV7()).String(), SchemaVersion: 1, Type: "RecordDeleted", OccurredAt: v, Tenant: tenant,
		Producer: wire.Producer{Service: "core-platform", Instance: "p1"}, CorrelationID: "merge-7", Key: wire.RecordKey("Account", tenant, record),
		Version: v, Payload: payload,
	}
}

// deliver puts events on the stream.
func (s *server) deliver(events ...wire.Event) {
	s.t.Helper()
	if _, err := s.mail.carrier.Ensure(context.Background(), wire.Events); err != nil {
		s.t.Fatal(err)
	}
	for i := range events {
		e := &events[i]
		s.mail.source++
		ack := s.mail.carrier.Publish(context.Background(), []bus.Message{{
			ID: e.ID, Tenant: e.Tenant, Part: wire.Partition(e.Key), Type: e.Type, Key: e.Key, OccurredAt: e.OccurredAt, Service: e.Producer.Service,
			Body: e.AppendJSON(nil), Relay: bus.Relay{Epoch: 1, At: wire.Stamp(time.Now().UnixMilli()), Source: s.mail.source},
		}})
		if ack[0].Err != nil {
			s.t.Fatal(ack[0].Err)
		}
	}
}

// announce puts events into the outbox, as published a while ago.
func (s *server) announce(events ...wire.Event) {
	s.t.Helper()
	at := s.clock.Now().Add(s.mail.ahead - time.Minute).UnixMilli()
	err := s.db.Write(context.Background(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		for i := range events {
			e := &events[i]
			_, err := tx.Exec(ctx, `INSERT INTO outbox_events (published_at, created_at, occurred_at, part, event_id, tenant_id, event_type, partition_key, service, body)
				VALUES ($1, $1, $2, $3, $4, $5, $6, $7, 'x', $8)`, at, e.OccurredAt, wire.Partition(e.Key), e.ID, e.Tenant, e.Type, e.Key, e.AppendJSON(nil))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// bury delivers events that fail for good and gives their dead letters.
func (s *server) bury(consumer string, events ...wire.Event) (ids []string) {
	s.t.Helper()
	for i := range events {
		s.mail.fail(events[i].Key)
	}
	s.deliver(events...)
	for i := range events {
		e := &events[i]
		s.eventually(func() bool {
			f := bus.DeadFilter{Consumer: consumer, Key: e.Key}
			page, _, err := s.bus.DeadLetters(context.Background(), e.Tenant, f, 0, 100)
			for _, l := range page {
				if l.EventID == e.ID {
					ids = append(ids, l.ID)
					return true
				}
			}
			return err != nil
		})
	}
	for i := range events {
		s.mail.heal(events[i].Key)
	}
	return ids
}

// eventually waits until something holds.
func (s *server) eventually(holds func() bool) {
	s.t.Helper()
	for began := time.Now(); !holds(); {
		if time.Since(began) > patience {
			s.t.Fatal("it did not come to pass")
		}
	}
}

// dead waits for the status of a dead letter.
func (s *server) dead(id, status string) reply {
	s.t.Helper()
	var r reply
	s.eventually(func() bool { r = s.get("/events/dlq/" + id).is(200); return r.text("status") == status })
	return r
}

// newStoryServer is a server on which the contract's examples can happen: two records of
// which the consumer search could not take the first event.
func newStoryServer(t *testing.T) *server {
	t.Helper()
	s := newServerWith(t, options{consumers: []bus.Consumer{{Name: "search"}}})
	const first, second = "0199c1a3-aaaa-7000-8000-000000000001", "0199c1a3-aaaa-7000-8000-000000000002"
	events := []wire.Event{s.deleted(own, first), s.deleted(own, first), s.deleted(own, second)}
	for i := range events {
		events[i].ID = "0199c1a3-0010-7000-8000-00000000000" + string(rune('1'+i))
	}
	s.announce(events[0], events[2])
	s.mail.fail(events[0].Key)
	s.mail.fail(events[2].Key)
	for i, dead := range []int{1, 1, 2} {
		s.deliver(events[i])
		s.eventually(func() bool {
			_, total, err := s.bus.DeadLetters(context.Background(), own, bus.DeadFilter{}, 0, 10)
			return err == nil && total == dead
		})
	}
	s.eventually(func() bool {
		page, _, _ := s.bus.DeadLetters(context.Background(), own, bus.DeadFilter{Key: events[0].Key}, 0, 10)
		seen, err := s.bus.InspectDead(context.Background(), own, page[0].ID)
		return err == nil && seen.Waiting == 1
	})
	s.mail.heal(events[0].Key)
	s.mail.heal(events[2].Key)
	return s
}

// frames reads so many frames of a stream and leaves it.
func (s *server) frames(n int, path string, header ...string) reply {
	s.t.Helper()
	return s.framesOf(n, path, func() {}, header...)
}

// framesOf is frames, and does something once the first has come.
func (s *server) framesOf(n int, path string, begun func(), header ...string) reply {
	s.t.Helper()
	ctx, leave := context.WithTimeout(context.Background(), patience)
	defer leave()
	resp, err := s.client.Do(s.request(ctx, "GET", path, "", header...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	r := reply{s.t, "GET " + path, resp.StatusCode, resp.Header, nil}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		r.body, _ = io.ReadAll(resp.Body)
		return r
	}
	lines := bufio.NewReader(resp.Body)
	for n > 0 {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.t.Fatalf("%s: %v after %s", r.asked, err, r.body)
		}
		r.body = append(r.body, line...)
		if len(line) == 1 {
			n--
			begun()
			begun = func() {}
		}
	}
	return r
}
