package sqldb

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// Config opens a database: SQLite by Path, PostgreSQL by URL.
type Config struct {
	Path       string        // of SQLite's file; its folder is created
	URL        string        // postgres://user@host/database
	Migrations []Migration   // of all packages with tables
	AsIs       bool          // leave the tables as they are
	Readers    int           // connections for reads; 0: 4 on SQLite, half of Conns on PostgreSQL
	Conns      int           // connections to PostgreSQL in all, at least 4; 0: 16
	Queue      int           // waiting jobs of each priority; 0: 4096
	Reading    time.Duration // limit of a read; 0: maxRead
	Watch      func(Commit)  // called after each commit, on PostgreSQL concurrently; nil: nothing
	Log        *slog.Logger  // nil: none

	// Program is the version of the program if Migrations are its whole schema, SchemaTables included: a database
	// with a newer schema is refused. "": each package is checked alone.
	Program string

	// Trace is called with the caller's context before a transaction waits; the function that it returns is called at
	// the end, in the same goroutine. nil, either one: nothing is measured.
	Trace func(ctx context.Context) func(Transaction)
}

// DB is an open database. It serves writes while Run runs.
type DB struct {
	cfg     Config
	dialect *dialect
	stats   *counters
	base    backend
	trace   func(context.Context) func(Transaction)
	running atomic.Bool
	reading time.Duration
}

// backend is a kind of database, with the contracts of DB's methods.
type backend interface {
	write(ctx context.Context, priority Priority, fn Func) error
	read(ctx context.Context, priority Priority, fn Func) error
	run(ctx context.Context) error
	close() error
	levels(s *Stats) // fills in what is not a counter
}

// Open migrates a database and opens its connections.
//
// SQLite's file is locked for this process. Several processes may use one PostgreSQL and take turns at migrating.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	db := New(cfg)
	if err := db.Open(ctx); err != nil {
		return nil, err
	}
	return db, nil
}

// New does no I/O.
func New(cfg Config) *DB {
	if cfg.Queue == 0 {
		cfg.Queue = 4096
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Watch == nil {
		cfg.Watch = func(Commit) {}
	}
	db := &DB{
		cfg: cfg, dialect: &sqliteDialect, stats: &counters{}, trace: cfg.Trace, reading: cmp.Or(cfg.Reading, maxRead),
	}
	if cfg.URL != "" {
		db.dialect = &postgresDialect
	}
	return db
}

// Open opens a database of New, with more tables than its Config has.
func (db *DB) Open(ctx context.Context, tables ...Migration) (err error) {
	cfg := db.cfg
	cfg.Migrations = slices.Concat(cfg.Migrations, tables)
	switch {
	case (cfg.Path == "") == (cfg.URL == ""):
		err = errText("a database has either a path or a URL")
	case cfg.URL == "":
		db.base, err = newSQLite(ctx, cfg, db.stats)
	default:
		db.base, err = newPostgres(ctx, cfg, db.stats)
	}
	if err != nil {
		db.base = nil
		return fault.Wrap("sqldb.open", err)
	}
	return nil
}

func (db *DB) Dialect() Dialect { return db.dialect.name }

// Write runs fn in a transaction and returns after the commit is on disk. When Write or fn fails, or fn panics,
// nothing that fn wrote remains, with one exception: Unavailable with the code TIMEOUT means that the answer to a
// COMMIT was lost and its outcome could not be asked for in time.
//
// The context of fn has the values of ctx but does not end with it: a job that has begun is finished, and its caller
// learns the outcome; one that has not is dropped. fn may run in another goroutine. On PostgreSQL a deadline of ctx
// bounds the statements up to COMMIT, so that a hanging server does not hold the caller longer; what it ends is
// undone.
//
// fn must start from nothing each time, since it may run again: on SQLite, where jobs share transactions, in the
// other priority (never the engine's) when a job beside it failed; on PostgreSQL, where it has a READ COMMITTED
// transaction of its own, a limited number of times after a conflict or a connection lost before the commit.
func (db *DB) Write(ctx context.Context, priority Priority, fn Func) error {
	if InJob(ctx) {
		return fault.Wrap("sqldb.write", errText("a job cannot wait for another job"))
	}
	if err := ctx.Err(); err != nil {
		return db.dialect.wrap("sqldb.write", err)
	}
	return db.traced(ctx, Transaction{Write: true, Priority: priority}, fn, func(fn Func) error {
		return db.base.write(ctx, priority, fn)
	})
}

type tenant struct{}

// For marks ctx with its tenant. Concurrent tenants take turns, and none gets all connections. Without it, ctx is of
// the process itself.
func For(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, tenant{}, name)
}

func keyOf(ctx context.Context) string {
	name, _ := ctx.Value(tenant{}).(string)
	return name
}

type inJob struct{}

// InJob reports whether ctx is that of a job, which must not wait.
func InJob(ctx context.Context) bool { return ctx.Value(inJob{}) != nil }

// Read runs fn once, in the caller's goroutine, in a read-only transaction over one committed state, for at most
// Config.Reading. Even an empty fn fails when the database does not answer.
func (db *DB) Read(ctx context.Context, fn Func) error {
	return db.readIn(ctx, Other, fn)
}

// ReadFirst is Read for the engine: it does not queue behind other readers.
func (db *DB) ReadFirst(ctx context.Context, fn Func) error {
	return db.readIn(ctx, Engine, fn)
}

func (db *DB) readIn(ctx context.Context, priority Priority, fn Func) error {
	bounded, cancel := context.WithTimeout(ctx, db.reading)
	defer cancel()
	return db.traced(ctx, Transaction{Priority: priority}, fn, func(fn Func) error {
		return db.base.read(bounded, priority, fn)
	})
}

// Run serves writes until ctx ends and the queue is done. After an error the disk cannot be trusted and the process
// must end.
func (db *DB) Run(ctx context.Context) error {
	if db.running.Swap(true) {
		return fault.Wrap("sqldb.run", errText("it runs already"))
	}
	return db.base.run(ctx)
}

// Close closes the connections, after Run has returned and the running reads have ended.
func (db *DB) Close() error {
	if db.base == nil {
		return nil
	}
	return db.dialect.wrap("sqldb.close", db.base.close())
}
