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

// The bounds of what is done on PostgreSQL.
const (
	maxWait = 5 * time.Second  // until a connection is free
	maxJob  = 40 * time.Second // what a job does between BEGIN and COMMIT; the server gives up on a statement before

	// One trip: what a server that fell silent, or the network before it, may take before
	// its connection is given up. What the engine does takes milliseconds, and all wait for it.
	shortTrip = 4 * time.Second
	longTrip  = 30 * time.Second

	maxBye = time.Second // to say that a connection is closed

	minConns  = 4
	someConns = 16
)

// postgres is a database on a PostgreSQL server. A write is a transaction of its
// own on one connection of the pool.
type postgres struct {
	pool  *pgxpool.Pool
	stats *counters
	watch func(Commit)
	log   *slog.Logger

	// Who may use connections: reads and other writes never have all of them, so the
	// engine's writes find some.
	readers *fair.Places
	others  *fair.Places
	queue   int
	doubt   time.Duration // maxDoubt
	waiting [lanes]atomic.Int64

	mu     sync.Mutex
	closed error          // why nothing is taken in any more
	under  sync.WaitGroup // writes under way; added to under mu
	shut   atomic.Bool    // reads are refused too
}

// newPostgres looks at the server, brings the tables up to date and opens the pool.
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
	// A tenant writes through all of these but one, and the process itself through half.
	db.others = fair.NewPlaces(fair.Config{
		Places: conns / 4, Each: max(1, conns/4-1), Own: max(1, conns/8), WaitKey: part(cfg.Queue),
	})
	if db.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), pool); err != nil {
		return nil, err
	}
	return db, nil
}

// run waits for ctx to end, and then for the writes that are under way.
func (db *postgres) run(ctx context.Context) error {
	<-ctx.Done()
	db.refuse(unavailable("sqldb.write", codeStopped, "the server is stopping", nil))
	return nil
}

// refuse takes nothing in any more and waits for what is under way.
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

// read runs fn in a transaction that cannot write.
func (db *postgres) read(ctx context.Context, lane Lane, fn func(context.Context, *Tx) error) error {
	if db.shut.Load() {
		return unavailable("sqldb.read", codeStopped, "the database is closed", nil)
	}
	if lane != Engine {
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
	return tx.Row(ctx, "SELECT 1").Scan(new(int)) // who asks for nothing asks whether the server answers
}

// place waits for a place among those who use connections for the same. Its error is
// fair.ErrTooMany when too many of a tenant wait already; the process itself always may.
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

// begin takes a connection for a transaction. The server hears of it with the first
// statement.
func (db *postgres) begin(ctx context.Context, how string) (*session, error) {
	conn, err := db.acquire(ctx)
	if err != nil {
		return nil, err
	}
	l := linkOf(conn)
	return &session{pg: db, conn: conn, link: l, ahead: l.begin(how), reads: how == beginRead, within: shortTrip}, nil
}

// acquire takes a connection out of the pool, or makes one. It waits for a while.
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
	return nil, lost{err} // the pool has no other errors than those of connections
}

// enter lets a write in, or says why not. leave is called when it has ended.
func (db *postgres) enter(ctx context.Context, lane Lane) (leave func(), err error) {
	db.mu.Lock()
	if db.closed != nil {
		defer db.mu.Unlock()
		return nil, db.closed
	}
	db.under.Add(1)
	db.mu.Unlock()
	if lane == Engine {
		return db.under.Done, nil
	}
	if db.waiting[lane].Add(1) > int64(db.queue) {
		err = errQueueFull
	} else if err = place(ctx, db.others); errors.Is(err, fair.ErrTooMany) {
		err = crowded(db.queue)
	}
	db.waiting[lane].Add(-1)
	if err != nil {
		db.under.Done()
		return nil, err
	}
	return func() {
		db.others.Leave(keyOf(ctx))
		db.under.Done()
	}, nil
}
