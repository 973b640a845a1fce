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
			if _, ok := wire.EventSchema(typ); !ok {
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

// Wake wakes the relays after something else published.
func (b *Bus) Wake() {
	b.recent.invalidate()
	for part := range wire.Partitions {
		b.wakes.wake(assignment{relayOutbox, part})
	}
}
