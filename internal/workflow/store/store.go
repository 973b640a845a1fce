package store

import (
	"context"
	"embed"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

//go:embed migrations
var files embed.FS

// Migration is the engine's tables, for sqldb.Config.
func Migration() sqldb.Migration { return sqldb.Tables("engine", files) }

// Config is how a store behaves.
type Config struct {
	// KeyRetention is the engine's: a key older than this may be used anew. Default 30 days.
	KeyRetention time.Duration
	// Silent says that nothing that is written will ever be published.
	Silent bool
	// Canceled gives the statements that note elsewhere what a batch has canceled; they
	// share its transaction. nil: it is noted nowhere.
	Canceled func([]engine.Canceled) ([]sqldb.Stmt, error)
	// Late gives the statement that hands a late result to whoever cleans up, in the same transaction, and what to
	// call after the commit. nil: nobody gets it.
	Late func(*engine.Late) (stmt sqldb.Stmt, committed func(), err error)
	// Ended gives the statement that notes elsewhere that an execution has ended, in the
	// transaction that ends it; false: this one is not noted. nil: none is.
	Ended func(*engine.Head) (sqldb.Stmt, bool)
	// Awaits is called after a commit for each wait in it that asks for a message; it must only notify. nil: nobody is
	// notified.
	Awaits func(tenant string, of flow.Awaited)
	// Waiting gives the statement that notes elsewhere that a node waits, or that there was a reminder of it, in the
	// transaction that says so; false: this one is not noted. nil: none is.
	Waiting func(*engine.WaitRow) (sqldb.Stmt, bool)
}

// Store is the engine's store on a database. engine.Store and engine.Tx say what the methods promise that
// have no comment of their own.
type Store struct {
	db         *sqldb.DB
	dialect    sqldb.Dialect
	pg         bool // it is PostgreSQL
	retention  flow.Time
	numbers    numbers // of PostgreSQL's sequence
	patience   time.Duration
	silent     bool
	canceled   func([]engine.Canceled) ([]sqldb.Stmt, error)
	late       func(*engine.Late) (sqldb.Stmt, func(), error)
	ended      func(*engine.Head) (sqldb.Stmt, bool)
	awaits     func(tenant string, of flow.Awaited)
	waiting    func(*engine.WaitRow) (sqldb.Stmt, bool)
	publishing publishing
	tail       tail       // on SQLite
	recent     recentRows // on PostgreSQL

	// On SQLite, of the write loop alone: the last execution number given out, and the last
	// publication number, -1 before the first transaction has looked.
	last, number int64
}

// publishing is what a store knows of its source and of publish policies.
type publishing struct {
	wake atomic.Pointer[func()] // wakes the source; nil: there is none
	// policies are those of tenants that are not the default: on SQLite the current ones (nil: look),
	// on PostgreSQL what a source of this process saw last (nil: there is none).
	policies atomic.Pointer[map[string]engine.PublishPolicy]
}

// wakeSource wakes the source after a commit that is to be published.
func (n *publishing) wakeSource() {
	if wake := n.wake.Load(); wake != nil {
		(*wake)()
	}
}

var _ engine.Store = (*Store)(nil)

// patience is how long a commit waits for executions that others hold: longer than PostgreSQL lets a
// process hang in a transaction (5 s), and shorter than callers wait.
const patience = 6 * time.Second

// New makes a store of a database that has its tables (Migration).
func New(db *sqldb.DB, cfg Config) *Store {
	if cfg.KeyRetention == 0 {
		cfg.KeyRetention = 30 * 24 * time.Hour
	}
	dialect := db.Dialect()
	return &Store{
		db: db, dialect: dialect, pg: dialect == sqldb.Postgres, retention: flow.Time(cfg.KeyRetention.Milliseconds()),
		last: -1, number: -1, patience: patience, silent: cfg.Silent, canceled: cfg.Canceled, ended: cfg.Ended,
		late: cfg.Late, awaits: cfg.Awaits, waiting: cfg.Waiting,
	}
}

// notes are the statements that are the same on both databases: waits, and those of the hooks, which are told what a
// batch has canceled and what has ended in it.
func (s *Store) notes(sql *sqldb.Tx, b *engine.Batch) (stmts []sqldb.Stmt, err error) {
	stmts = waits(b)
	s.notifyAwaits(sql, b)
	for i := range b.Waits {
		if s.waiting == nil || b.Waits[i].Event.IsZero() {
			continue
		}
		if stmt, ok := s.waiting(&b.Waits[i]); ok {
			stmts = append(stmts, stmt)
		}
	}
	if s.canceled != nil && len(b.Canceled) > 0 {
		more, err := s.canceled(b.Canceled)
		if err != nil {
			return nil, fault.Wrap("store.canceled", err)
		}
		stmts = append(stmts, more...)
	}
	for i := range b.Late {
		if s.late == nil {
			break
		}
		stmt, committed, err := s.late(&b.Late[i])
		if err != nil {
			return nil, fault.Wrap("store.late", err)
		}
		stmts = append(stmts, stmt)
		sql.OnCommit(committed)
	}
	if s.ended == nil {
		return stmts, nil
	}
	note := func(h *engine.Head) {
		if stmt, ok := s.ended(h); ok {
			stmts = append(stmts, stmt)
		}
	}
	for i := range b.Create {
		if h := &b.Create[i]; h.Status.Terminal() {
			note(h)
		}
	}
	for i := range b.Update {
		if u := &b.Update[i]; u.Status.Terminal() && !u.Was.Terminal() {
			note(&u.Head)
		}
	}
	return stmts, nil
}

// Commit runs fn in a transaction that, on SQLite, it may share with others, and returns after it is
// durable. On PostgreSQL fn is run again when the transaction lost against another one; executions
// that others do not let go are left out in the end.
func (s *Store) Commit(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	if !s.pg {
		return s.commit(ctx, fn)
	}
	var last *pgTx
	began := time.Now()
	err := s.db.Write(ctx, sqldb.Engine, func(ctx context.Context, sql *sqldb.Tx) error {
		last = &pgTx{store: s, shared: shared{sql}, hurry: last != nil && time.Since(began) > s.patience}
		return fn(ctx, last)
	})
	if err == nil {
		s.numbers.release(last.spare)
		s.recent.add(last.publications)
		if last.publishes {
			s.publishing.wakeSource()
		}
	}
	return err
}

func (s *Store) commit(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	t := tx{store: s}
	err := s.db.Write(ctx, sqldb.Engine, func(ctx context.Context, sql *sqldb.Tx) error {
		t.shared = shared{sql}
		return fn(ctx, &t)
	})
	if t.inFlight == nil {
		return err
	}
	if err != nil {
		t.inFlight.publications = nil
	}
	published := len(t.inFlight.publications) > 0
	s.tail.end(t.inFlight)
	if published {
		s.publishing.wakeSource()
	}
	return err
}

// Exists reports whether a database has the engine's tables.
func Exists(ctx context.Context, db *sqldb.DB) (found bool, err error) {
	query := "SELECT count(*) > 0 FROM sqlite_master WHERE name = 'engine_log'"
	if db.Dialect() == sqldb.Postgres {
		query = "SELECT to_regclass('engine_log') IS NOT NULL"
	}
	err = db.Read(ctx, func(ctx context.Context, sql *sqldb.Tx) error { return sql.Row(ctx, query).Scan(&found) })
	return found, fault.Wrap("store.exists", err)
}

// Check reports whether this process may write, without writing anything.
func (s *Store) Check(ctx context.Context) error {
	return fault.Wrap("store.check", s.db.Write(ctx, sqldb.Engine, func(ctx context.Context, sql *sqldb.Tx) error {
		_, err := sql.Exec(ctx, "DELETE FROM engine_ready WHERE tenant = $1 AND tenant <> $1", "")
		return err
	}))
}

func (s *Store) read(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return fault.Wrap(op, s.db.Read(ctx, fn))
}
