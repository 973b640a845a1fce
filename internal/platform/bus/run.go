package bus

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// New makes a bus over a database that has its tables (Migration). It does no I/O.
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

// Subscribe adds consumers to those of the Config. It comes before Run.
func (b *Bus) Subscribe(consumers ...Consumer) {
	b.cfg.Consumers = slices.Concat(b.cfg.Consumers, consumers)
	b.cfg.mustBeSound()
	b.coordinator.work = b.assignments()
}

// mustBeSound panics at a mistake in the program, which would make consumers wait for events that never come.
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
			if _, ok := wire.EventSchema(typ); !ok {
				panic(fmt.Sprintf("bus: consumer %s asks for events of type %s, which does not exist", consumer.Name,
					typ))
			}
		}
	}
}

var consumerName = regexp.MustCompile(`^[a-z0-9.-]{1,64}$`)

// assignments are all that can be assigned: the relay of each partition, the readers of each consumer, the relay of the
// log.
func (b *Bus) assignments() map[assignment]func(context.Context, lease) error {
	all := map[assignment]func(context.Context, lease) error{}
	if b.cfg.Apart {
		all[assignment{homeAssignment, 0}] = func(ctx context.Context, _ lease) error { <-ctx.Done(); return nil }
	}
	for part := range wire.Partitions {
		all[assignment{relayOutbox, part}] = func(ctx context.Context, l lease) error {
			return runOutboxRelay(ctx, b,
				l)
		}
		for i := range b.cfg.Consumers {
			c := &b.cfg.Consumers[i]
			all[readerAssignment(c.Name, part)] = func(ctx context.Context, l lease) error {
				return newReader(b, c,
					l).run(ctx)
			}
		}
	}
	if b.cfg.Log != nil {
		all[assignment{relayLog, 0}] = func(ctx context.Context, l lease) error { return runLogRelay(ctx, b, l) }
	}
	return all
}

// Run works until ctx ends, then finishes what is in progress and releases its assignments.
func (b *Bus) Run(ctx context.Context) error {
	r := &retention{b}
	r.prepare(ctx)
	var retain sync.WaitGroup
	retain.Go(func() { r.retain(ctx) })
	b.coordinator.run(ctx)
	retain.Wait()
	return nil
}

// Wake wakes the relays of this process: something was published here.
func (b *Bus) Wake() {
	b.recent.invalidate()
	for part := range wire.Partitions {
		b.wakes.wake(assignment{relayOutbox, part})
	}
}
