package search

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

// service is the name of search: of its tables, its consumer and its errors.
const service = "search"

// Migration is the tables of this package, for sqldb.Config.
func Migration() sqldb.Migration { return sqldb.Tables(service, files) }

// Records is where records are read, in the caller's transaction.
type Records interface {
	kit.Records
	// Pick gives those of some living records that a condition over their row r is true of.
	Pick(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string, where func(*sqldb.Binds) (string,
		error)) ([]model.Record, error)
	// CampaignsAmong are those that some leads or contacts are in; CampaignsOf those of all
	// after one id and up to another.
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
	kit.Visible
	// See is how many records of an object somebody has access to, and which, when they are
	// few; else ids is nil.
	See(
		ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	) (total int, ids []string, err error)
}

// Config is what search works with.
type Config struct {
	Models  kit.Models
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
	kit.Service
	cfg   Config
	index index
	runs  *rebuild.Resource
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
	s := &Search{
		Service: kit.Service{ServiceName: service, DB: db, Clock: cfg.Now}, cfg: cfg,
		turns: newTurns(max(runtime.GOMAXPROCS(0)/2, 1)), numbers: map[string]int64{},
	}
	s.index = postgresIndex{s}
	if db.Dialect() == sqldb.SQLite {
		s.index = sqliteIndex{s}
	}
	s.runs = rebuild.NewResource(&s.Service, rebuild.Config{
		Name: service, Table: "search_rebuild", Engine: cfg.Engine, Worker: cfg.Worker, Log: cfg.Log,
		KeyRetention: cfg.KeyRetention,
	}, rebuild.Work{
		Scope: [2]string{"object", "cause"}, Position: [2]string{"place_object", "place_id"},
		Chunk: s.chunk, Sweep: s.index.sweep,
	})
	return s
}

// Run runs rebuilds, and deletes tokens that are no longer used, until ctx ends; running rebuilds
// continue at the next start.
func (s *Search) Run(ctx context.Context) { s.runs.Run(ctx) }

// index is how a database stores tokens and finds records by them.
type index interface {
	// write stores what has changed of some records; replace stores all of them anew, in the order
	// of what is cheap for many.
	write(ctx context.Context, w *writer, all []change) error
	replace(ctx context.Context, w *writer, all []change) error
	// next gives the next candidates of a relevance. gather gives all of all relevances when they are few.
	next(ctx context.Context, s *source) ([]candidate, error)
	gather(ctx context.Context, s *source) (all []candidate, few bool, err error)
	// sweep deletes tokens that are no longer used and reports whether there may be more.
	sweep(ctx context.Context) (more bool, err error)
	// recount compares the stored tokens of some records with those of their texts; recountRest
	// compares what is left when all have been read.
	recount(ctx context.Context, tx *sqldb.Tx, r *recount, p chunk) error
	recountRest(ctx context.Context, r *recount) error
}

// tokens makes tokens of a tenant by its number, which give assigns when it has none.
func (s *Search) tokens(ctx context.Context, tx *sqldb.Tx, tenant string, give bool) (t tokens, ok bool, err error) {
	s.mu.Lock()
	n := s.numbers[tenant]
	s.mu.Unlock()
	if n != 0 {
		return tokensOf(n), true, nil
	}
	remember := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.numbers[tenant] = n
	}
	if give {
		const insert = "INSERT INTO search_tenant (tenant_id) VALUES ($1) ON CONFLICT (tenant_id) DO NOTHING"
		if _, err := tx.Exec(ctx, insert, tenant); err != nil {
			return t, false, err
		}
	}
	err = tx.Row(ctx, "SELECT num FROM search_tenant WHERE tenant_id = $1", tenant).Scan(&n)
	switch {
	case errors.Is(err, sqldb.ErrNoRow):
		return t, false, nil
	case err != nil:
		return t, false, err
	case give:
		tx.OnCommit(remember)
	default:
		remember()
	}
	return tokensOf(n), true, nil
}
