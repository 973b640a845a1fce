package bus

import (
	"context"
	"sync"

	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// New makes a bus over a database that has its tables (Migration). It does no I/O.
func New(db *sqldb.DB, carrier Carrier, cfg Config) *Bus {
	b := &Bus{db: db, carrier: carrier, cfg: cfg.withDefaults(), wakes: &wakes{}}
	b.log = b.cfg.Logger
	b.keeper = &keeper{bus: b, kick: make(chan struct{}, 1), held: map[post]*holding{}, all: b.posts()}
	return b
}

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
