package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// What the benchmark of the bus does.
const (
	busKeys      = 1000
	busProducers = 64          // each commits one change at a time; their commits are grouped
	busTurns     = 5           // that a round with and without many published events is divided into
	busSteady    = 100         // events a second, of which the delay is measured
	busSamples   = 1000        // of that delay
	busLate      = time.Minute // for events that do not come
	busTenantID  = "7b0f4a10-1111-4222-8333-444455556666"
)

// events measures the bus inside this process: from the commit of a change, with its event,
// to that of a consumer's effect, with dedupe and version guard.
func (c *Command) events(ctx context.Context, dir string) error {
	var rates []float64
	var delays spans
	var bare float64
	var used sqldb.Stats
	err := withBus(ctx, filepath.Join(dir, "bus"), func(b *busBench) (err error) {
		if rates, err = b.rounds(ctx, c.Rounds, c.Events); err != nil {
			return err
		}
		used = b.db.Stats()
		if delays, err = b.steady(ctx, min(busSamples, c.Events/5)); err != nil {
			return err
		}
		bare, err = b.bare(ctx, c.Events)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("events            %8.0f events/s end to end, %d keys   (best %.0f, aim 15000, floor 5000)\n",
		median(rates), busKeys, slices.Max(rates))
	jobs := used.Jobs[sqldb.Engine] + used.Jobs[sqldb.Other]
	fmt.Printf("  commits         %8d, of %.0f jobs; %v each, %v of it the disk's\n", used.Commits,
		float64(jobs)/float64(used.Commits),
		round(used.CommitTime/time.Duration(used.Commits)), round(used.SyncTime/time.Duration(used.Commits)))
	fmt.Printf("  bare inserts    %8.0f events/s   the same rows (outbox, processed, effect), %d events a commit; "+
		"ratio %.2f\n",
		bare, barePerCommit, median(rates)/bare)
	fmt.Printf("  delay           %8v p50, %v p99 at %d events/s (limit 5ms p50)\n", round(delays.at(50)),
		round(delays.at(99)), busSteady)
	if c.Published == 0 {
		return nil
	}
	return c.eventsBehindMany(ctx, filepath.Join(dir, "bus-stored"))
}

// eventsBehindMany measures with and without many published events in the outbox, on
// databases of their own. Bursts are short and take turns, and who goes first does too,
// so that both meet the same noise: the machine's speed changes by more within a minute
// than what is looked for.
func (c *Command) eventsBehindMany(ctx context.Context, dir string) error {
	var ratios, rates []float64
	err := withBus(ctx, filepath.Join(dir, "few"), func(few *busBench) error {
		return withBus(ctx, filepath.Join(dir, "many"), func(many *busBench) error {
			// Relays know what they have published before there is more, and the write-ahead
			// log of both has grown to its full length: until then a sync costs more.
			for _, b := range []*busBench{few, many} {
				if _, err := b.burst(ctx, c.Events); err != nil {
					return err
				}
			}
			if err := many.fill(ctx, c.Published); err != nil {
				return err
			}
			for turn := range busTurns * c.Rounds {
				pair, rate := [2]*busBench{few, many}, [2]float64{}
				for i := range pair {
					who := (turn + i) % 2
					var err error
					if rate[who], err = pair[who].burst(ctx, max(1, c.Events/busTurns)); err != nil {
						return err
					}
				}
				rates, ratios = append(rates, rate[1]), append(ratios, rate[1]/rate[0])
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	slices.Sort(ratios)
	fmt.Printf("  with %d published events in the outbox %.0f events/s; ratio to an empty one %.2f (limit 0.90; %d "+
		"pairs, half of them %.2f to %.2f)\n",
		c.Published, median(rates), median(ratios), len(ratios), ratios[len(ratios)/4], ratios[len(ratios)*3/4])
	return nil
}

// busBench is a bus with one consumer whose effect is one row for every event.
type busBench struct {
	db  *sqldb.DB
	bus *bus.Bus

	mu    sync.Mutex
	left  int                  // events to be taken until done
	done  chan struct{}        // closed when none is left
	taken map[string]time.Time // nil: nobody asks
}

// withBus runs a bus, with a NATS server inside, while f runs.
func withBus(ctx context.Context, dir string, f func(*busBench) error) error {
	return app.WithDB(ctx, app.Place{DataDir: dir}, func(db *sqldb.DB) (err error) {
		b := &busBench{db: db}
		err = db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "CREATE TABLE bench_effect (key TEXT PRIMARY KEY, version INTEGER NOT NULL, "+
				"events INTEGER NOT NULL) WITHOUT ROWID")
			return err
		})
		if err != nil {
			return err
		}
		nats, err := jet.Open(ctx, jet.Config{Dir: filepath.Join(dir, app.NATSFolder)})
		if err != nil {
			return err
		}
		defer nats.Close()
		b.bus = bus.New(db, nats.Carrier(), bus.Config{
			Instance: "bench", Exclusive: true, Consumers: []bus.Consumer{{Name: "bench", Handle: b.consume}},
		})
		working, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- b.bus.Run(working) }()
		err = f(b)
		stop()
		return errors.Join(err, <-ended)
	})
}

// consume is the consumer.
func (b *busBench) consume(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
	if _, err := tx.Exec(ctx, effectSQL, e.Key, e.Version); err != nil {
		return err
	}
	id := e.ID
	tx.OnCommit(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.taken != nil {
			b.taken[id] = time.Now()
		}
		if b.left--; b.left == 0 {
			close(b.done)
		}
	})
	return nil
}

const effectSQL = `INSERT INTO bench_effect (key, version, events) VALUES ($1, $2, 1)
	ON CONFLICT (key) DO UPDATE SET version = excluded.version, events = bench_effect.events + 1`

// expect lets done be closed when n events were taken.
func (b *busBench) expect(n int, taken map[string]time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.done, b.taken = n, make(chan struct{}), taken
}

// await waits for what is expected.
func (b *busBench) await(ctx context.Context) error {
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(busLate):
		b.mu.Lock()
		defer b.mu.Unlock()
		return fmt.Errorf("%d events were not taken within %v", b.left, busLate)
	}
}

// change commits a change of a record with its event, and gives the event's id.
func (b *busBench) change(ctx context.Context, n int) (string, error) {
	record := recordOf(n)
	id := uuid.Must(uuid.NewV7()).String()
	return id, b.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		key := events.RecordKey("Account", busTenantID, record)
		version, err := b.bus.NextVersion(ctx, tx, key)
		if err != nil {
			return err
		}
		e, err := eventOf(id, key, record, version)
		if err != nil {
			return err
		}
		return b.bus.Publish(ctx, tx, e)
	})
}

// recordOf is the id of a record.
func recordOf(n int) string {
	return fmt.Sprintf("018f3f9e-0000-7000-8000-%012x", n%busKeys)
}

// eventOf is an event as a service makes it.
func eventOf(id, key, record string, version canonical.Stamp) (events.Event, error) {
	payload, err := events.NewPayload(events.RecordUpdated{
		ObjectName: "Account", RecordID: record, OwnerID: busTenantID, ChangedFields: []string{"Name", "Phone"},
		RecordVersion: version,
		FieldChanges: map[string]events.FieldChange{
			"Name":  {Old: []byte(`"Acme"`), New: []byte(`"Acme Corporation"`)},
			"Phone": {Old: []byte(`null`), New: []byte(`"+81-3-0000-0000"`)},
		},
	})
	return events.Event{
		ID: id, SchemaVersion: events.SchemaVersion, Type: "RecordUpdated", OccurredAt: version, Tenant: busTenantID,
		CorrelationID: "bench",
		Producer:      events.Producer{Service: "records", Instance: "bench"}, Key: key, Version: version,
		Payload: payload,
	}, err
}

func (b *busBench) rounds(ctx context.Context, rounds, count int) (rates []float64, err error) {
	for range rounds {
		rate, err := b.burst(ctx, count)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// burst commits changes as fast as it goes and gives how many a second have taken effect.
func (b *busBench) burst(ctx context.Context, count int) (float64, error) {
	b.expect(count, nil)
	began := time.Now()
	errs := make(chan error, busProducers)
	for p := range busProducers {
		go func() {
			for n := p; n < count; n += busProducers {
				if _, err := b.change(ctx, n); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range busProducers {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	if err := b.await(ctx); err != nil {
		return 0, err
	}
	return float64(count) / time.Since(began).Seconds(), nil
}

// steady commits changes at a steady rate and gives how long after its commit each has
// taken effect.
func (b *busBench) steady(ctx context.Context, samples int) (delays spans, err error) {
	taken := map[string]time.Time{}
	b.expect(samples, taken)
	seen := make(map[string]time.Time, samples)
	tick := time.NewTicker(time.Second / busSteady)
	defer tick.Stop()
	for n := range samples {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		id, err := b.change(ctx, n)
		if err != nil {
			return nil, err
		}
		seen[id] = time.Now()
	}
	if err := b.await(ctx); err != nil {
		return nil, err
	}
	for id, at := range seen {
		delays = append(delays, max(0, taken[id].Sub(at)))
	}
	return delays, nil
}
