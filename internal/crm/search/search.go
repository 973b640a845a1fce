package search

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of this package, for sqldb.Config.
func Migration() sqldb.Migration {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sqldb.Migration{Name: "search", FS: sub}
}

// Models hands out what is defined in a tenant, as a transaction sees it.
type Models interface {
	Model(ctx context.Context, tx *sqldb.Tx, tenant string) (*model.Model, error)
	// Who is the user that a caller's subject names; nobody is fault.Forbidden.
	Who(ctx context.Context, tx *sqldb.Tx, tenant, subject string) (*model.User, error)
}

// Records is where records are read, in the caller's transaction.
type Records interface {
	// Get is a record, also one that was deleted; ok says that it exists.
	Get(ctx context.Context, tx *sqldb.Tx, tenant, object, id string) (r model.Record, ok bool, err error)
	// Some gives those of some records that exist, deleted ones too, by id.
	Some(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (map[string]model.Record, error)
	// Walk gives the living records of an object by id, behind one.
	Walk(ctx context.Context, tx *sqldb.Tx, tenant, object, afterID string, limit int) ([]model.Record, error)
	Count(ctx context.Context, tx *sqldb.Tx, tenant, object string) (int, error)
	// Pick gives those of some living records that a condition over their row r is true of.
	Pick(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string, where func(*sqldb.Binds) (string,
		error)) ([]model.Record, error)
	// CampaignsAmong are those that some leads or contacts are in; CampaignsOf those of all
	// behind one id and up to another.
	CampaignsAmong(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (map[string][]string, error)
	CampaignsOf(ctx context.Context, tx *sqldb.Tx, tenant, object, afterID, lastID string) (map[string][]string, error)
	// MembersAmong says which of some leads or contacts are in a campaign, LockedAmong of
	// which records an approval is open.
	MembersAmong(ctx context.Context, tx *sqldb.Tx, tenant, campaign, object string, ids []string) (map[string]bool,
		error)
	LockedAmong(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (map[string]bool, error)
}

// Visible says which records somebody has access to.
type Visible interface {
	// Where is a condition in SQL over the row r of a record, for statements that look at
	// many; WhereOne is the same for statements that name few.
	Where(
		ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access, binds *sqldb.Binds,
	) (string, error)
	// See is how many records of an object somebody has access to, and which, when they are
	// few; else ids is nil.
	See(
		ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	) (total int, ids []string, err error)
	WhereOne(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access, binds *sqldb.Binds) (
		string, error)
}

// Config is what search works with.
type Config struct {
	Models  Models
	Records Records
	Visible Visible
	Engine  rebuild.Engine // nil: nothing is rebuilt here (Run does nothing)
	Worker  string         // tells this process from others that rebuild; it may not be empty with Engine
	// KeyRetention is how long the key of a request is remembered; 0: 30 days.
	KeyRetention time.Duration
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
	limits       limits
}

// limits are how much is done at a time.
type limits struct {
	chunk int // records of a rebuild in one transaction
	sweep int // places that are taken out of the index in one transaction
	first int // candidates that are looked at first
	look  int // candidates that a search looks at before others come in between
	deep  int // candidates that it looks at in a transaction from then on, at most
	own   int // records that somebody sees, up to which all of them are looked at in place of candidates
	few   int // candidates that are sorted; more are read in their order (PostgreSQL)
	pass  int // records that are looked through before the tokens are looked up (PostgreSQL)
	forms int // tokens that begin alike and are named; more are not looked at (SQLite)
	named int // the same from the second transaction on
}

// Search finds records.
type Search struct {
	db    *sqldb.DB
	cfg   Config
	runs  *rebuild.Runner[*Rebuild]
	turns *turns

	mu      sync.Mutex
	numbers map[string]int64 // of tenants, which never change
}

// New is search over a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Search {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.limits == (limits{}) {
		cfg.limits = limits{
			chunk: 500, sweep: 500, first: 64, look: 500, deep: 5000, own: 2000, few: 1000, pass: 512, forms: 40,
			named: 1000,
		}
	}
	s := &Search{db: db, cfg: cfg, turns: newTurns(max(runtime.GOMAXPROCS(0)/2, 1)), numbers: map[string]int64{}}
	s.runs = rebuild.New(db, rebuild.Config{
		Name: "search", Table: "search_rebuild", Engine: cfg.Engine, Worker: cfg.Worker, Log: cfg.Log,
		KeyRetention: cfg.KeyRetention,
	}, rebuilder{s})
	return s
}

// now is the time by the clock that all processes share.
func (s *Search) now(ctx context.Context, tx *sqldb.Tx) (wire.Stamp, error) {
	if s.cfg.Now != nil {
		return wire.Stamp(s.cfg.Now().UnixMilli()), nil
	}
	ms, err := tx.Now(ctx)
	return wire.Stamp(ms), err
}

func (s *Search) read(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return fault.Wrap(op, s.db.Read(ctx, fn))
}

func (s *Search) write(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return fault.Wrap(op, s.db.Write(ctx, sqldb.Other, fn))
}

// tokens makes tokens of a tenant, whose number is given out with its first one.
func (s *Search) tokens(ctx context.Context, tx *sqldb.Tx, tenant string, give bool) (t tokens, ok bool, err error) {
	s.mu.Lock()
	n := s.numbers[tenant]
	s.mu.Unlock()
	if n != 0 {
		return tokensOf(n), true, nil
	}
	if give {
		if _, err := tx.Exec(ctx,
			"INSERT INTO search_tenant (tenant_id) VALUES ($1) ON CONFLICT (tenant_id) DO NOTHING", tenant); err != nil {
			return t, false, err
		}
	}
	for row, err := range tx.Query(ctx, "SELECT num FROM search_tenant WHERE tenant_id = $1", tenant) {
		if err == nil {
			err = row.Scan(&n)
		}
		if err != nil {
			return t, false, err
		}
	}
	if n == 0 {
		return t, false, nil
	}
	remember := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.numbers[tenant] = n
	}
	if give {
		tx.OnCommit(remember)
	} else {
		remember()
	}
	return tokensOf(n), true, nil
}
