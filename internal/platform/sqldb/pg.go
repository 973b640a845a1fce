package sqldb

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"renga.dev/renga/internal/platform/fair"
)

const (
	maxWait = 5 * time.Second  // for a free connection
	maxJob  = 40 * time.Second // from BEGIN to COMMIT; the server cancels a statement sooner

	// A round trip, before a silent server or network is given up. The engine takes milliseconds, and everything
	// waits for it.
	shortTrip = 4 * time.Second
	longTrip  = 30 * time.Second

	maxBye = time.Second // to close a connection

	minConns  = 4
	someConns = 16
)

// postgres is a database on a server. A write is a transaction on a pooled connection.
type postgres struct {
	pool  *pgxpool.Pool
	stats *counters
	watch func(Commit)
	log   *slog.Logger

	// Places on connections. Reads and other writes never have all, so the engine finds some.
	readers *fair.Places
	others  *fair.Places
	queue   int
	doubt   time.Duration // maxDoubt
	waiting [priorities]atomic.Int64

	mu     sync.Mutex
	closed error          // why writes are refused
	under  sync.WaitGroup // running writes; added to under mu
	shut   atomic.Bool    // reads are refused
}

func newPostgres(ctx context.Context, cfg Config, stats *counters) (*postgres, error) {
	pool, err := pgConfig(cfg)
	if err != nil {
		return nil, err
	}
	if err := pgPrepare(ctx, pool.ConnConfig, cfg); err != nil {
		return nil, postgresDialect.wrap("sqldb.open", err)
	}
	maps.Copy(pool.ConnConfig.RuntimeParams, settings)
	conns := int(pool.MaxConns)
	db := &postgres{stats: stats, watch: cfg.Watch, log: cfg.Log, queue: cfg.Queue, doubt: maxDoubt}
	if cfg.Readers == 0 {
		cfg.Readers = conns / 2
	}
	db.readers = halves(min(cfg.Readers, conns/2))
	// A tenant gets all of these but one, the process itself half.
	db.others = fair.NewPlaces(fair.Config{
		Places: conns / 4, Each: max(1, conns/4-1), Own: max(1, conns/8), WaitKey: part(cfg.Queue),
	})
	if db.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), pool); err != nil {
		return nil, err
	}
	return db, nil
}

func (db *postgres) run(ctx context.Context) error {
	<-ctx.Done()
	db.refuse(unavailable("sqldb.write", codeStopped, "the server is stopping", nil))
	return nil
}

// refuse refuses new writes and waits for the running ones.
func (db *postgres) refuse(why error) {
	db.mu.Lock()
	if db.closed == nil {
		db.closed = why
	}
	db.mu.Unlock()
	db.under.Wait()
}

func (db *postgres) close() error {
	db.shut.Store(true)
	db.refuse(unavailable("sqldb.write", codeStopped, "the database is closed", nil))
	db.pool.Close()
	return nil
}

func (db *postgres) levels(s *Stats) {
	for i := range s.Waiting {
		s.Waiting[i] = int(db.waiting[i].Load())
	}
}

func (db *postgres) read(ctx context.Context, priority Priority, fn Func) error {
	if db.shut.Load() {
		return unavailable("sqldb.read", codeStopped, "the database is closed", nil)
	}
	if priority != Engine {
		if err := place(ctx, db.readers); err != nil {
			return err
		}
		defer db.readers.Leave(keyOf(ctx))
	}
	s, err := db.begin(ctx, beginRead)
	if err != nil {
		return postgresDialect.wrap("sqldb.read", err)
	}
	tx := &Tx{pg: s, reads: true}
	defer func() {
		tx.over = true
		s.end()
	}()
	db.stats.reads.Add(1)
	if err := fn(ctx, tx); err != nil || s.begun {
		return err
	}
	return tx.Row(ctx, "SELECT 1").Scan(new(int)) // an empty read asks whether the server answers
}

// place waits for a place, or returns fair.ErrTooMany if too many of the tenant wait. The process itself always may.
func place(ctx context.Context, places *fair.Places) error {
	wait, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	enter, key := places.Enter, keyOf(ctx)
	if key == "" {
		enter = places.Await
	}
	err := enter(wait, key)
	switch {
	case err == nil || errors.Is(err, fair.ErrTooMany):
		return err
	case ctx.Err() != nil:
		return postgresDialect.wrap("sqldb.wait", ctx.Err())
	}
	return errNoPlace
}

var errNoPlace = unavailable("sqldb.wait", codeBusy, "the database is busy; nothing was done; try again", nil)

// begin takes a connection. BEGIN travels with the first statement.
func (db *postgres) begin(ctx context.Context, how string) (*session, error) {
	conn, err := db.acquire(ctx)
	if err != nil {
		return nil, err
	}
	l := linkOf(conn)
	return &session{pg: db, conn: conn, link: l, ahead: l.begin(how), reads: how == beginRead, within: shortTrip}, nil
}

func (db *postgres) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	conn, err := db.pool.Acquire(wait)
	if err == nil {
		return conn, nil
	}
	if _, known := postgresDialect.judge(err); known {
		return nil, err
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case wait.Err() != nil:
		return nil, errNoPlace
	}
	return nil, lost{err} // the pool has only errors of connections
}

// enter admits a write; leave ends it.
func (db *postgres) enter(ctx context.Context, priority Priority) (leave func(), err error) {
	db.mu.Lock()
	if db.closed != nil {
		defer db.mu.Unlock()
		return nil, db.closed
	}
	db.under.Add(1)
	db.mu.Unlock()
	if priority == Engine {
		return db.under.Done, nil
	}
	if db.waiting[priority].Add(1) > int64(db.queue) {
		err = errQueueFull
	} else if err = place(ctx, db.others); errors.Is(err, fair.ErrTooMany) {
		err = crowded(db.queue)
	}
	db.waiting[priority].Add(-1)
	if err != nil {
		db.under.Done()
		return nil, err
	}
	return func() {
		db.others.Leave(keyOf(ctx))
		db.under.Done()
	}, nil
}
