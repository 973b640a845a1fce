package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"
)

// lite is a database in a file: one write connection with its loop, and some for reads.
type lite struct {
	lock    *os.File
	queue   *queue
	conn    *conn // for writes
	readers *readers
	own     *readers // the engine's
	wal     *wal
	stats   *counters
	loop    *loop
	guard   *guard
}

func newSQLite(ctx context.Context, cfg Config, stats *counters) (*lite, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, err
	}
	if cfg.Readers == 0 {
		cfg.Readers = 4
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// Readable by nobody else, whatever the umask; SQLite's other files inherit the mode.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, err
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	if err := lostWAL(path, lock); err != nil {
		_ = lock.Close()
		return nil, err
	}
	note(lock)
	db := &lite{lock: lock, queue: newQueue(cfg.Queue), stats: stats}
	if err := db.open(ctx, path, cfg); err != nil {
		_ = db.close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return db, nil
}

func (db *lite) open(ctx context.Context, path string, cfg Config) error {
	tables, err := sql.Open(string(SQLite), sqliteDSN(path, readCacheKiB, false))
	if err != nil {
		return err
	}
	if err := migrate(ctx, &sqliteDialect, tables, cfg); err != nil {
		return err
	}
	dial := func(cacheKiB int, queryOnly bool) func() (*conn, error) {
		return func() (*conn, error) {
			raw, err := openSQLite(sqliteDSN(path, cacheKiB, queryOnly))
			if err != nil {
				return nil, sqliteDialect.wrap("sqldb.open", err)
			}
			return newConn(raw, queryOnly), nil
		}
	}
	if db.conn, err = dial(writeCacheKiB, false)(); err != nil {
		return err
	}
	if db.guard, err = newGuard(path, db.lock); err != nil {
		return err
	}
	db.readers, db.own = newReaders(cfg.Readers, dial(readCacheKiB, true)), newReaders(1, dial(readCacheKiB, true))
	reads := func() int { return db.readers.busy() + db.own.busy() }
	db.wal = newWAL(path+"-wal", dial(readCacheKiB, false), reads, cfg.Log)
	db.wal.drain, db.wal.look = db.readers.drain, db.queue.wake
	db.loop = &loop{
		since: time.Since,
		conn:  db.conn, queue: db.queue, wal: db.wal, stats: db.stats, watch: cfg.Watch, log: cfg.Log,
		first: func() { note(db.lock, inUse) },
	}
	return nil
}

// write queues a job and waits for it, or does the turn itself if the loop is idle.
func (db *lite) write(ctx context.Context, priority Priority, fn Func) error {
	j := &job{
		priority: priority, key: keyOf(ctx), ctx: context.WithoutCancel(ctx), fn: fn, waits: ctx.Err, put: time.Now(),
		done: make(chan struct{}),
	}
	if err := db.queue.put(j); err != nil {
		return err
	}
	db.loop.help()
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
	}
	if j.state.CompareAndSwap(waiting, left) {
		db.queue.drop(j)
		return sqliteDialect.wrap("sqldb.write", ctx.Err())
	}
	<-j.done
	return j.err
}

// run serves writes, checkpoints and guards the files.
func (db *lite) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	idle, rest := context.WithCancel(context.Background())
	sweeps, guarded := make(chan error, 1), make(chan error, 1)
	go func() {
		defer stop()
		sweeps <- db.wal.run(idle)
	}()
	go func() {
		defer stop()
		err := db.guard.run(idle)
		if err != nil {
			err = db.wal.end("sqldb.guard", err)
		}
		guarded <- err
	}()
	err := db.loop.run(ctx)
	rest()
	lost, swept := <-guarded, <-sweeps
	if err = cmp.Or(err, swept); err != nil && lost == nil {
		if gone := db.guard.check(); gone != nil { // the reason of the first error
			lost = db.wal.end("sqldb.guard", gone)
		}
	}
	return cmp.Or(lost, err)
}

func (db *lite) close() error {
	var first error
	keep := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	db.queue.close(unavailable("sqldb.write", codeStopped, "the database is closed", nil))
	if db.readers != nil {
		keep(db.readers.close())
		keep(db.own.close())
	}
	// After a failed sync the files stay untouched: closing the last connection would write.
	if db.conn != nil && (db.wal == nil || db.wal.broken() == nil) {
		err := db.conn.close()
		keep(err)
		if err == nil && db.lock != nil {
			note(db.lock) // the log is checkpointed
		}
	}
	if db.lock != nil {
		keep(db.lock.Close())
	}
	return first
}

func (db *lite) levels(s *Stats) {
	s.Checkpoints = db.wal.checkpoints.Load()
	s.Blocked = db.wal.blocked.Load()
	s.WAL = db.wal.size()
	for i := range s.Waiting {
		s.Waiting[i] = db.queue.waiting(Priority(i))
	}
}

// Sizes of the file and of the caches, at most 24 MiB of the server's 150 MiB.
const (
	pageSize      = 4096
	writeCacheKiB = 16 << 10
	readCacheKiB  = 2 << 10
	busyTimeout   = 5 * time.Second // for a foreign tool with the write lock
)

func sqliteDSN(path string, cacheKiB int, queryOnly bool) string {
	pragmas := []string{
		"busy_timeout(" + strconv.FormatInt(busyTimeout.Milliseconds(), 10) + ")",
		"page_size(" + strconv.Itoa(pageSize) + ")", // for a new file
		"journal_mode(wal)",
		"synchronous(full)", // sync every commit
		"wal_autocheckpoint(0)",
		"journal_size_limit(" + strconv.Itoa(walReset) + ")",
		"foreign_keys(0)", // a deferred one fails at the commit that all jobs share
		"temp_store(memory)",
		"cache_size(" + strconv.Itoa(-cacheKiB) + ")",
	}
	if queryOnly {
		pragmas = append(pragmas, "query_only(1)")
	}
	q := url.Values{"_pragma": pragmas, "_error_rc": {"1"}, "_dqs": {"0"}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// openSQLite bypasses the pool of database/sql, which costs a fifth of a statement.
func openSQLite(dsn string) (driver.Conn, error) {
	return (&sqlite.Driver{}).Open(dsn)
}
