package bus

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of the bus, for sqldb.Config.
func Migration() sqldb.Migration { return sqldb.Tables("bus", files) }

// Handler is what a consumer does with an event: SQL in the transaction that also marks the event as processed, and
// nothing else. It may be called again for an event whose transaction failed. An error makes it be called again later,
// up to Consumer.MaxTries times, unless it is Permanent.
type Handler func(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error

// Permanent says that a retry cannot help: the event becomes a dead letter at once.
func Permanent(err error) error { return &permanent{err} }

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

// IsPermanent reports whether an error was marked by Permanent.
func IsPermanent(err error) bool {
	var p *permanent
	return errors.As(err, &p)
}

// Consumer is a subscriber to events.
type Consumer struct {
	Name   string // 1..64 of a-z, 0-9, - and .; its position and marks are stored under it
	Stream wire.Stream
	Types  []string // of events that it gets; empty: all of the stream
	Handle Handler
	// HandleAll does what Handle would do for each of some events, of different keys or in
	// the order of theirs, with fewer statements. When it fails, or its work cannot be
	// committed, all of it is undone and they are handled one by one. nil: they always are.
	HandleAll func(ctx context.Context, tx *sqldb.Tx, events []*wire.Event) error
	// GivenUp is called for an event that an operator skips, in the transaction in
	// which that happens: it never comes again. nil: nothing is to be done about it. When it
	// fails, the event is not skipped, and its dead letter is open again with the error.
	GivenUp Handler
	// Continue lets the events after a dead letter go on. The default is that its key
	// stays blocked until a decision about it.
	Continue bool
	MaxTries int // of one event; 0: 10
	// AutoRedrive is how long after its death a dead letter that ran out of tries is redriven
	// once, without an operator's decision; 0: never.
	AutoRedrive time.Duration
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Fields says which fields of a tenant's objects are of some sort, as a transaction sees it.
type Fields func(ctx context.Context, tx *sqldb.Tx, tenant string) (func(object, field string) bool, error)

// Config is how a bus works. Zero values mean what their comments say.
type Config struct {
	Consumers []Consumer
	Log       Source // the engine's log; nil: its events are not published
	Service   string // names this process's events; "": renga
	Instance  string // distinguishes this process from others; it may not be empty
	// Exclusive says that no other process works on this database, so a lease that is
	// found at the start is of a process that has ended.
	Exclusive bool
	// Apart says that the carrier is this process's own while the database is shared: one
	// process at a time then holds all assignments.
	Apart bool
	// Sensitive says which fields of a tenant's objects may not leave their record, as the
	// transaction sees it; nil: none are marked.
	Sensitive Fields
	// Hidden says which fields are not shown to those who look at events from outside, in a
	// tail or in a dead letter: it is not known which fields they may read. nil: as Sensitive.
	Hidden Fields
	// Passed is called at failpoints, in order (Points), for tests that end the
	// process there; nil: it is not.
	Passed func(point string)
	// KeyRetention is how long the key of a decision or a replay is remembered; 0: 30 days.
	KeyRetention time.Duration
	Lease        time.Duration // how long a process holds its assignments without a sign of life; 0: 10s
	Clock        Clock         // nil: the machine's. With PostgreSQL its clock counts, not this one.
	Logger       *slog.Logger  // nil: nowhere
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

// Now is the machine's time.
func (wall) Now() time.Time { return time.Now() }

// Bus is the event backbone over a database and a carrier. Its methods may be called
// from anywhere.
type Bus struct {
	db      *sqldb.DB
	carrier Carrier
	cfg     Config
	log     *slog.Logger

	coordinator *coordinator
	wakes       *wakes
	sharedFeeds sharedFeeds   // what readers of this process read together
	recent      recentRows    // what was just committed to the outbox
	gapReports  atomic.Uint64 // counts gaps that readers found

	replaying sync.Mutex // held while a page of a replay is done
}

// now is the time in milliseconds by the clock that all processes share.
func (b *Bus) now(ctx context.Context, tx *sqldb.Tx) (now wire.Stamp, err error) {
	return queriesIn(tx).now(ctx, tx, b.cfg.Clock)
}

// read runs fn in a read transaction and names the operation in its errors.
func (b *Bus) read(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return fault.Wrap(op, b.db.Read(ctx, fn))
}

// write runs fn in a transaction, at a lower priority than executions. It may run more than once, so fn sets everything
// that it returns anew.
func (b *Bus) write(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return fault.Wrap(op, b.db.Write(ctx, sqldb.Other, fn))
}
