package test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// busHouse is a bus in this process, over a real database and a NATS server inside.
type busHouse struct {
	testing.TB
	db   *sqldb.DB
	nats *jet.Server
	bus  *bus.Bus

	mu        sync.Mutex
	announced map[string]time.Time // when events were announced
	taken     map[string]time.Time // when consumer c had taken them
	poison    map[string]error     // why events of a key fail
	grown     chan struct{}        // holds a token after an event was taken
}

// openBusHouse opens a house with two consumers of everything, c and d, that note what they take.
func openBusHouse(t testing.TB, cfg bus.Config) *busHouse {
	t.Helper()
	dir := t.TempDir()
	at := busSetup{Dir: dir}
	if postgres() {
		at.Database = pgtest.New(t)
	}
	h := &busHouse{
		TB: t, announced: map[string]time.Time{}, taken: map[string]time.Time{}, poison: map[string]error{},
		grown: make(chan struct{}, 1),
	}
	var err error
	if h.db, err = at.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h.nats, err = jet.Open(t.Context(), jet.Config{Dir: filepath.Join(dir, app.NATSFolder)}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c", "d"} {
		cfg.Consumers = append(cfg.Consumers, bus.Consumer{Name: name, Handle: h.handle(name)})
	}
	cfg.Instance, cfg.Exclusive = uuid.NewString(), at.Database == ""
	h.bus = bus.New(h.db, h.nats.Carrier(), cfg)
	serving, stop := context.WithCancel(context.Background())
	working, rest := context.WithCancel(context.Background())
	database, work := make(chan error, 1), make(chan error, 1)
	go func() { database <- h.db.Run(serving) }()
	go func() { work <- h.bus.Run(working) }()
	t.Cleanup(func() {
		rest()
		h.must(<-work)
		stop()
		h.must(<-database)
		h.nats.Close()
		h.must(h.db.Close())
	})
	return h
}

func (h *busHouse) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// handle notes an effect and when it was committed.
func (h *busHouse) handle(consumer string) bus.Handler {
	return func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
		h.mu.Lock()
		err := h.poison[e.Key]
		h.mu.Unlock()
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx,
			`INSERT INTO test_effect (consumer, key, event_id, version, idx, instance, holder, part, epoch)
			VALUES ($1, $2, $3, $4, $5, '', '', 0, 0)`, consumer, e.Key, e.ID, e.Version, e.Index); err != nil {
			return err
		}
		if consumer != "c" {
			return nil
		}
		id := e.ID
		tx.OnCommit(func() {
			h.mu.Lock()
			h.taken[id] = time.Now()
			h.mu.Unlock()
			select {
			case h.grown <- struct{}{}:
			default:
			}
		})
		return nil
	}
}

// refuse makes all consumers fail with a record's events.
func (h *busHouse) refuse(record string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.poison[houseKey(record)] = err
}

func houseID(record string) string { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(record)).String() }

func houseKey(record string) string { return events.RecordKey("Account", busTenant, houseID(record)) }

// change makes the events of one change of a record, n of them.
func change(record string, version canonical.Stamp, n int) (all []events.Event, err error) {
	for i := range n {
		e := events.Event{
			ID: uuid.Must(uuid.NewV7()).String(), Tenant: busTenant, CorrelationID: "c", Key: houseKey(record),
			Version: version, Index: i,
		}
		if e.Type, e.Payload, err = payload(i, houseID(record), version); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// announce announces a change of every record, in one transaction, with n events each.
func (h *busHouse) announce(ctx context.Context, n int, records ...string) (all []events.Event, err error) {
	err = h.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		all = nil
		for _, record := range records {
			version, err := h.bus.NextVersion(ctx, tx, houseKey(record))
			if err != nil {
				return err
			}
			batch, err := change(record, version, n)
			if err != nil {
				return err
			}
			all = append(all, batch...)
		}
		return h.bus.Publish(ctx, tx, all...)
	})
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range all {
		h.announced[all[i].ID] = now
	}
	return all, err
}

// send puts events on the stream that no outbox has, or that it has sent before; of does
// what it likes with each message.
func (h *busHouse) send(of func(*bus.Message), batch ...events.Event) {
	h.Helper()
	for i := range batch {
		e := &batch[i]
		m := bus.Message{
			ID: e.ID, Tenant: e.Tenant, Part: events.Partition(e.Key),
			Type: e.Type, Key: e.Key, OccurredAt: e.OccurredAt,
			Service: "test",
			Body:    e.AppendJSON(nil), Relay: bus.Relay{Epoch: 1 << 20, At: canonical.Stamp(time.Now().UnixMilli())},
		}
		if of != nil {
			of(&m)
		}
		if ack := h.nats.Carrier().Publish(h.Context(), []bus.Message{m}); ack[0].Err != nil {
			h.Fatal(ack[0].Err)
		}
	}
}

// count runs a query that gives one number.
func (h *busHouse) count(query string, args ...any) (n int) {
	h.Helper()
	h.must(h.db.Read(h.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, query,
			args...).Scan(&n)
	}))
	return n
}

// text runs a query that gives one text.
func (h *busHouse) text(query string, args ...any) (text string) {
	h.Helper()
	h.must(h.db.Read(h.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, query,
			args...).Scan(&text)
	}))
	return text
}

// await waits until a query gives a number.
func (h *busHouse) await(want int, query string, args ...any) {
	h.Helper()
	late, tick := time.After(maxWait), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		got := h.count(query, args...)
		if got == want {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			h.Fatalf("%s: %d, want %d", query, got, want)
		}
	}
}

// awaitTaken waits until consumer c has taken events, and gives how long after they were
// announced that was.
func (h *busHouse) awaitTaken(batch []events.Event) (delays spans) {
	h.Helper()
	end := time.After(maxWait)
	for i := 0; i < len(batch); {
		h.mu.Lock()
		for ; i < len(batch) && !h.taken[batch[i].ID].IsZero(); i++ {
			delays = append(delays, max(0, h.taken[batch[i].ID].Sub(h.announced[batch[i].ID])))
		}
		h.mu.Unlock()
		if i == len(batch) {
			break
		}
		select {
		case <-h.grown:
		case <-end:
			h.Fatalf("%d of %d events were taken within %v", i, len(batch), maxWait)
		}
	}
	return delays
}

// places are the places of a record's effects, in order, as text.
func (h *busHouse) places(consumer, record string) (all []string) {
	h.Helper()
	h.must(h.db.Read(h.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx,
			"SELECT version, idx FROM test_effect WHERE consumer = $1 AND key = $2 ORDER BY n", consumer,
			houseKey(record)) {
			var version, idx int64
			if err == nil {
				err = row.Scan(&version, &idx)
			}
			if err != nil {
				return err
			}
			all = append(all, fmt.Sprintf("%d.%d", version, idx))
		}
		return nil
	}))
	return slices.Clip(all)
}
