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

// Config is how a database is opened: SQLite by Path, PostgreSQL by URL. Zero
// values mean what their comments say.
type Config struct {
	Path       string        // of SQLite's file; its folder is made if it is missing
	URL        string        // of PostgreSQL: postgres://user@host/database
	Migrations []Migration   // of every package that has tables
	AsIs       bool          // the tables are left as they are
	Readers    int           // connections for reads; 0: 4 on SQLite, half of Conns on PostgreSQL
	Conns      int           // connections to PostgreSQL in all, at least 4; 0: 16
	Queue      int           // jobs that may wait in each lane; 0: 4096
	Reading    time.Duration // how long a read may last; 0: 5 s. See maxRead
	Watch      func(Commit)  // called after each commit, on PostgreSQL by several goroutines at once; nil: nobody
	Log        *slog.Logger  // nil: nowhere

	// Program is the version of the program whose whole schema Migrations are, SchemaTables
	// among them: a database with a newer schema is refused. "": Migrations are a part, and
	// each package is looked at alone.
	Program string

	// Trace is asked who wants to know of a transaction, with the context of its caller and
	// before it waits; what it gives is called at the end, in the same goroutine. It gives nil
	// where nobody does. nil: nobody ever does, and nothing is measured.
	Trace func(ctx context.Context) func(Transaction)
}

// DB is an open database. Writes are served while Run runs.
type DB struct {
	cfg     Config
	dialect *dialect
	stats   *counters
	base    backend
	trace   func(context.Context) func(Transaction)
	running atomic.Bool
	reading time.Duration
}

// backend is one kind of database. The contracts are those of DB's methods.
type backend interface {
	write(ctx context.Context, lane Lane, fn func(context.Context, *Tx) error) error
	read(ctx context.Context, lane Lane, fn func(context.Context, *Tx) error) error
	run(ctx context.Context) error
	close() error
	levels(s *Stats) // fills in what is no counter
}

// Open brings the tables of a database up to date and opens the connections.
//
// SQLite's file is locked for this process: a second one is refused. Several
// processes may use one PostgreSQL; those that start at once take turns with the
// tables.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	db := New(cfg)
	if err := db.Open(ctx); err != nil {
		return nil, err
	}
	return db, nil
}

// New is a database that is not open yet. It does no I/O.
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

// Open is the function Open for a database of New, with more tables than its Config has.
// Before it nothing can be read or written.
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

// Dialect names the database.
func (db *DB) Dialect() Dialect { return db.dialect.name }

// Write runs fn in a transaction and returns after the commit is on disk. When
// Write fails, nothing that fn wrote remains; an error of fn, or a panic, undoes what
// fn wrote and nothing else. There is one exception: Unavailable with the code
// TIMEOUT says that the answer to a COMMIT was lost and the database could not be
// asked in time what became of it.
//
// fn has a context that keeps the values of ctx and not its end: a job that has
// begun is finished, and its caller learns how. A job that has not begun when ctx
// ends is not run. fn may be run in another goroutine than the caller's. On PostgreSQL a
// deadline of ctx holds for statements too, up to COMMIT, so that a server which hangs does
// not hold a caller for longer than it has: what it ends is undone.
//
// On SQLite jobs share transactions. There fn runs at most once on the lane of the
// engine; on the other it is run again when a job beside it failed. On PostgreSQL it
// has a transaction of its own (READ COMMITTED), and fn is run again, a bounded number
// of times, when that lost against another one or lost its connection before
// anything was committed. So fn must begin from nothing each time: what it leaves
// outside of the transaction is what its last run left.
func (db *DB) Write(ctx context.Context, lane Lane, fn func(context.Context, *Tx) error) error {
	if InJob(ctx) {
		return fault.Wrap("sqldb.write", errText("a job cannot wait for another job"))
	}
	if err := ctx.Err(); err != nil {
		return db.dialect.wrap("sqldb.write", err)
	}
	if told := db.teller(ctx); told != nil {
		return tell(Transaction{Write: true, Lane: lane}, told, fn, func(fn func(context.Context, *Tx) error) error {
			return db.base.write(ctx, lane, fn)
		})
	}
	return db.base.write(ctx, lane, fn)
}

// tenant is the key of a context that says for whom it is.
type tenant struct{}

// For is ctx with the name of whom it is for, a tenant. Tenants that read or write at the same
// time do so in turn, and none has all the connections. What is for nobody is for the process.
func For(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, tenant{}, name)
}

func keyOf(ctx context.Context) string {
	name, _ := ctx.Value(tenant{}).(string)
	return name
}

// inJob marks the context of a job.
type inJob struct{}

// InJob reports whether ctx is that of a job, which waits for nobody.
func InJob(ctx context.Context) bool { return ctx.Value(inJob{}) != nil }

// Read runs fn in a transaction that sees one committed state of the database and
// cannot write. It lasts at most 5 seconds, or as long as Config says. fn runs once, in the caller's goroutine.
// Also with an fn that does nothing it fails when the database does not answer.
func (db *DB) Read(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return db.readIn(ctx, Other, fn)
}

// ReadFirst is Read for what holds up the engine: it does not wait for other readers.
func (db *DB) ReadFirst(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return db.readIn(ctx, Engine, fn)
}

func (db *DB) readIn(ctx context.Context, lane Lane, fn func(context.Context, *Tx) error) error {
	bounded, cancel := context.WithTimeout(ctx, db.reading)
	defer cancel()
	if told := db.teller(ctx); told != nil {
		return tell(Transaction{Lane: lane}, told, fn, func(fn func(context.Context, *Tx) error) error {
			return db.base.read(bounded, lane, fn)
		})
	}
	return db.base.read(bounded, lane, fn)
}

// Run serves writes until ctx ends; then it finishes what was queued before and
// returns nil. An error means that the disk cannot be trusted any more: the process
// must end.
func (db *DB) Run(ctx context.Context) error {
	if db.running.Swap(true) {
		return fault.Wrap("sqldb.run", errText("it runs already"))
	}
	return db.base.run(ctx)
}

// Close closes the connections. It is called after Run has returned, and waits for
// reads that are under way. One that was never open has nothing to close.
func (db *DB) Close() error {
	if db.base == nil {
		return nil
	}
	return db.dialect.wrap("sqldb.close", db.base.close())
}
