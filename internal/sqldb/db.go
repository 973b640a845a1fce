package sqldb

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"renga.dev/renga/internal/fault"
)

// Config is how a database is opened. Zero values mean what their comments say.
type Config struct {
	Path       string       // the database file; its folder is made if it is missing
	Migrations []Migration  // of every package that has tables
	Readers    int          // connections for reads; 0: 4
	Queue      int          // jobs that may wait in each lane; 0: 4096
	Watch      func(Commit) // called by the loop after each commit; nil: nobody
	Log        *slog.Logger // nil: nowhere
}

// DB is an open database. Writes are served while Run runs.
type DB struct {
	dialect *dialect
	lock    *os.File
	queue   *queue
	write   *conn
	readers *readers
	wal     *wal
	stats   counters
	loop    *loop
	running atomic.Bool
}

// Open locks the database for this process, brings its tables up to date and
// opens the connections. A second process on the same file is refused.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fault.Wrap("sqldb.open", err)
	}
	if cfg.Readers == 0 {
		cfg.Readers = 4
	}
	if cfg.Queue == 0 {
		cfg.Queue = 4096
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fault.Wrap("sqldb.open", err)
	}
	// Nobody else's to read, whatever the umask; SQLite gives its other files the same mode.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, fault.Wrap("sqldb.open", err)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fault.Wrap("sqldb.open", err)
	}
	db := &DB{dialect: &sqliteDialect, lock: lock, queue: newQueue(cfg.Queue)}
	if err := db.open(ctx, path, cfg); err != nil {
		_ = db.Close()
		return nil, fault.Wrap("sqldb.open", fmt.Errorf("%s: %w", path, err))
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, path string, cfg Config) error {
	if err := migrate(ctx, db.dialect, sqliteDSN(path, readCacheKiB, false), cfg.Migrations); err != nil {
		return err
	}
	dial := func(cacheKiB int, queryOnly bool) func() (*conn, error) {
		return func() (*conn, error) {
			raw, err := openSQLite(sqliteDSN(path, cacheKiB, queryOnly))
			if err != nil {
				return nil, db.dialect.wrap("sqldb.open", err)
			}
			return newConn(db.dialect, raw, queryOnly), nil
		}
	}
	var err error
	if db.write, err = dial(writeCacheKiB, false)(); err != nil {
		return err
	}
	db.readers = newReaders(cfg.Readers, dial(readCacheKiB, true))
	db.wal = newWAL(path+"-wal", dial(readCacheKiB, false), cfg.Log)
	db.loop = &loop{conn: db.write, queue: db.queue, wal: db.wal, stats: &db.stats, watch: cfg.Watch}
	return nil
}

// Dialect names the database.
func (db *DB) Dialect() Dialect { return db.dialect.name }

// Run serves writes and keeps the write-ahead log short until ctx ends; then it
// finishes what was queued before and returns nil. An error means that the disk
// cannot be trusted any more: the process must end.
func (db *DB) Run(ctx context.Context) error {
	if db.running.Swap(true) {
		return fault.Wrap("sqldb.run", errText("the loop runs already"))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	idle, rest := context.WithCancel(context.Background())
	swept := make(chan error, 1)
	go func() {
		defer stop()
		swept <- db.wal.run(idle)
	}()
	err := db.loop.run(ctx)
	rest()
	if late := <-swept; err == nil {
		err = late
	}
	return err
}

// Close closes the connections and unlocks the database. It is called after Run
// has returned, and waits for reads that are under way.
func (db *DB) Close() error {
	var first error
	keep := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	db.queue.close(unavailable("sqldb.write", codeStopped, "the database is closed", nil))
	if db.readers != nil {
		keep(db.readers.close())
	}
	// After a failed sync nothing touches the files again: closing the last
	// connection would write to them.
	if db.write != nil && (db.wal == nil || db.wal.broken() == nil) {
		keep(db.write.close())
	}
	if db.lock != nil {
		keep(db.lock.Close())
	}
	return db.dialect.wrap("sqldb.close", first)
}
