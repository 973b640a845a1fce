package bus

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

func Migration() sqldb.Migration { return sqldb.Tables("bus", files) }

// Handler does SQL in the transaction that also marks the event as processed, and nothing else. It may be called
// again when that fails. After an error it is retried, up to Consumer.MaxTries times, unless the error is Permanent.
type Handler func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error

// Permanent marks an error that retries cannot help: the event becomes a dead letter at once.
func Permanent(err error) error { return &permanent{err} }

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

func IsPermanent(err error) bool {
	var p *permanent
	return errors.As(err, &p)
}

// Consumer subscribes to events.
type Consumer struct {
	Name   string // 1..64 of a-z, 0-9, - and .; the key of its position and marks
	Stream events.Stream
	Types  []string // empty: all of the stream
	Handle Handler
	// HandleAll does what Handle would for several events, those of a key in order, with fewer statements. When it or
	// the commit fails, the events are handled one by one. nil: they always are.
	HandleAll func(ctx context.Context, tx *sqldb.Tx, batch []*events.Event) error
	// GivenUp is called for a skipped event in the transaction of the skip. If it fails, the event is not skipped and
	// its dead letter is open again. nil: nothing is done.
	GivenUp Handler
	// Continue lets the events after a dead letter go on; otherwise its key stays blocked until a decision.
	Continue bool
	MaxTries int // per event; 0: MaxTries
	// AutoRedrive is the time after which a dead letter that ran out of tries is redriven once without a decision; 0:
	// never.
	AutoRedrive time.Duration
}

type Clock interface{ Now() time.Time }

// Fields reports which fields of a tenant's objects are of some kind, as the transaction sees them.
type Fields func(ctx context.Context, tx *sqldb.Tx, tenant string) (func(object, field string) bool, error)

// Config configures a bus.
type Config struct {
	Consumers []Consumer
	Log       Source // the engine's log; nil: not published
	Service   string // producer of this process's events; "": renga
	Instance  string // unique name of this process
	// Exclusive: no other process works on this database, so at the start every lease is free.
	Exclusive bool
	// Apart: each process has a carrier of its own, but they share the database; one at a time holds all assignments.
	Apart bool
	// Sensitive fields may not leave their record; nil: none.
	Sensitive Fields
	// Hidden fields are not shown in tails and dead letters, whose readers have unknown permissions; nil: Sensitive.
	Hidden Fields
	// Passed is called at failpoints (Points), for tests that end the process there.
	Passed func(point string)
	// KeyRetention is how long the idempotency key of a decision or replay is kept; 0: 30 days.
	KeyRetention time.Duration
	Lease        time.Duration // without renewal; 0: 10s
	Clock        Clock         // nil: the machine's; PostgreSQL's own clock wins
	Logger       *slog.Logger  // nil: none
}

func (c Config) withDefaults() Config {
	if c.Service == "" {
		c.Service = "renga"
	}
	if c.Hidden == nil {
		c.Hidden = c.Sensitive
	}
	if c.Lease == 0 {
		c.Lease = 10 * time.Second
	}
	if c.Clock == nil {
		c.Clock = wall{}
	}
	if c.Passed == nil {
		c.Passed = func(string) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// Bus is the event backbone over a database and a carrier, safe for concurrent use.
type Bus struct {
	db      *sqldb.DB
	carrier Carrier
	cfg     Config
	log     *slog.Logger

	coordinator *coordinator
	wakes       *wakes
	sharedFeeds sharedFeeds
	recent      recentRows    // rows just committed to the outbox
	gapReports  atomic.Uint64 // gaps that readers found

	replaying sync.Mutex // held during a page of a replay
}

func (b *Bus) now(ctx context.Context, tx *sqldb.Tx) (canonical.Stamp, error) {
	now, err := tx.NowBy(ctx, b.cfg.Clock.Now)
	return canonical.Stamp(now), err
}

func (b *Bus) read(ctx context.Context, op string, fn sqldb.Func) error {
	return fault.Wrap(op, b.db.Read(ctx, fn))
}

// readValue reads one value; without a row, the zero value.
func readValue[T any](ctx context.Context, b *Bus, op, query string, args ...any) (value T, err error) {
	err = b.read(ctx, op, func(ctx context.Context, tx *sqldb.Tx) error {
		var found T
		err := tx.Row(ctx, query, args...).Scan(&found)
		value = found
		return ignoreNoRow(err)
	})
	return value, err
}

// write runs fn at a lower priority than executions. fn may run again, so it sets its results anew.
func (b *Bus) write(ctx context.Context, op string, fn sqldb.Func) error {
	return fault.Wrap(op, b.db.Write(ctx, sqldb.Other, fn))
}

// New does no I/O.
func New(db *sqldb.DB, carrier Carrier, cfg Config) *Bus {
	cfg.mustBeSound()
	b := &Bus{db: db, carrier: carrier, cfg: cfg.withDefaults(), wakes: &wakes{}}
	b.log = b.cfg.Logger
	b.coordinator = &coordinator{
		bus: b, wake: make(chan struct{}, 1), assigned: map[assignment]*assigned{},
		work: b.assignments(),
	}
	return b
}

// Subscribe adds consumers, before Run.
func (b *Bus) Subscribe(consumers ...Consumer) {
	b.cfg.Consumers = slices.Concat(b.cfg.Consumers, consumers)
	b.cfg.mustBeSound()
	b.coordinator.work = b.assignments()
}

// mustBeSound panics at mistakes of the program that would make consumers wait for ever.
func (c *Config) mustBeSound() {
	names := map[string]bool{}
	for i := range c.Consumers {
		consumer := &c.Consumers[i]
		switch {
		case !consumerName.MatchString(consumer.Name):
			panic(fmt.Sprintf("bus: a consumer cannot be named %q", consumer.Name))
		case names[consumer.Name]:
			panic(fmt.Sprintf("bus: two consumers are named %s", consumer.Name))
		case consumer.Handle == nil:
			panic(fmt.Sprintf("bus: consumer %s handles nothing", consumer.Name))
		}
		names[consumer.Name] = true
		for _, typ := range consumer.Types {
			if _, ok := events.EventSchema(typ); !ok {
				panic(fmt.Sprintf("bus: consumer %s asks for events of type %s, which does not exist", consumer.Name,
					typ))
			}
		}
	}
}

var consumerName = regexp.MustCompile(`^[a-z0-9.-]{1,64}$`)

// assignments are the relays of all partitions and of the log, and the readers of all consumers.
func (b *Bus) assignments() map[assignment]func(context.Context, lease) error {
	all := map[assignment]func(context.Context, lease) error{}
	if b.cfg.Apart {
		all[assignment{homeAssignment, 0}] = func(ctx context.Context, _ lease) error { <-ctx.Done(); return nil }
	}
	for part := range events.Partitions {
		all[assignment{relayOutbox, part}] = func(ctx context.Context, l lease) error {
			return runOutboxRelay(ctx, b, l)
		}
		for i := range b.cfg.Consumers {
			c := &b.cfg.Consumers[i]
			all[readerAssignment(c.Name, part)] = func(ctx context.Context, l lease) error {
				return newReader(b, c, l).run(ctx)
			}
		}
	}
	if b.cfg.Log != nil {
		all[assignment{relayLog, 0}] = func(ctx context.Context, l lease) error { return runLogRelay(ctx, b, l) }
	}
	return all
}

// Run works until ctx ends, then finishes and releases its assignments.
func (b *Bus) Run(ctx context.Context) error {
	r := &retention{b}
	r.prepare(ctx)
	var retain sync.WaitGroup
	retain.Go(func() { r.retain(ctx) })
	b.coordinator.run(ctx)
	retain.Wait()
	return nil
}

// once runs a command once per idempotency key and stores the answer in the same transaction. replay: it is a stored
// answer. An error is not stored.
func once[T any](
	ctx context.Context, b *Bus, op, tenant string, key *canonical.IdempotencyKey,
	do func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) (T, error),
) (answer T, replay bool, err error) {
	err = b.write(ctx, op, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := b.now(ctx, tx)
		if err != nil {
			return err
		}
		keys := idempotency.Keys{Service: "bus", Retention: b.cfg.KeyRetention}
		request := idempotency.Request{Tenant: tenant, Key: key, At: now}
		answer, replay, err = idempotency.DoJSON(ctx, tx, keys, request, func() (T, error) { return do(ctx, tx, now) })
		return err
	})
	return answer, replay, err
}

// Points are the failpoints of Config.Passed.
var Points = []string{
	"outbox.committed",
	"outbox.written",
	"reader.before-commit",
	"reader.committed",
	"reader.dead",
	"reader.decided",
	"reader.doubt",
	"reader.handled",
	"reader.received",
	"reader.replay",
	"reader.retry",
	"relay.before-mark",
	"relay.log-noted",
	"relay.log-published",
	"relay.log-read",
	"relay.loss-found",
	"relay.loss-noted",
	"relay.marked",
	"relay.published",
	"relay.read",
	"relay.replay-page",
	"relay.replayed",
	"relay.wave",
	"retain.chunk",
}
