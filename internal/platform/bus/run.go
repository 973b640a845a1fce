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
	b.keeper = &keeper{bus: b, kick: make(chan struct{}, 1), held: map[post]*holding{}, all: b.posts()}
	return b
}

// Subscribe adds consumers to those of the Config. It comes before Run.
func (b *Bus) Subscribe(consumers ...Consumer) {
	b.cfg.Consumers = slices.Concat(b.cfg.Consumers, consumers)
	b.cfg.mustBeSound()
	b.keeper.all = b.posts()
}

// mustBeSound panics at a mistake in the program: it would make consumers wait for events
// that never come.
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
				panic(fmt.Sprintf("bus: consumer %s asks for events of type %s, which does not exist", consumer.Name, typ))
			}
		}
	}
}

var consumerName = regexp.MustCompile(`^[a-z0-9.-]{1,64}$`)

// posts is all the work that there is.
func (b *Bus) posts() map[post]func(context.Context, lease) error {
	all := map[post]func(context.Context, lease) error{}
	if b.cfg.Apart {
		all[post{homePost, 0}] = func(ctx context.Context, _ lease) error { <-ctx.Done(); return nil }
	}
	for part := range wire.Partitions {
		all[post{relayOutbox, part}] = b.relayOutbox
		for i := range b.cfg.Consumers {
			c := &b.cfg.Consumers[i]
			all[readerPost(c.Name, part)] = func(ctx context.Context, l lease) error { return b.readFor(ctx, c, l) }
		}
	}
	if b.cfg.Log != nil {
		all[post{relayLog, 0}] = b.relayLog
	}
	return all
}

// Run works until ctx ends, then finishes what is under way and gives up its posts.
func (b *Bus) Run(ctx context.Context) error {
	b.prepare(ctx)
	var retain sync.WaitGroup
	retain.Go(func() { b.retain(ctx) })
	b.keeper.run(ctx)
	retain.Wait()
	return nil
}

// Wake tells the relays of this process that something was published here.
func (b *Bus) Wake() {
	b.fresh.lose()
	for part := range wire.Partitions {
		b.wakes.wake(post{relayOutbox, part})
	}
}
