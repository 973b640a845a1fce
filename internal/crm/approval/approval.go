package approval

import (
	"context"
	"embed"
	"log/slog"
	"time"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/runs"
)

//go:embed migrations
var files embed.FS

func Migration() sqldb.Migration { return sqldb.Tables(ConsumerName, files) }

// Core is where records are seen, in the transaction of the one who asks.
type Core interface {
	// Find is a living record that a user sees, and whether the user may edit it; else
	// fault.NotFound. With hold nobody changes it until the transaction ends.
	Find(ctx context.Context, tx *sqldb.Tx, who model.Viewer, object, id string, hold bool) (
		r model.Record, edit bool, err error)
	// Seen is a condition in SQL that is true when two columns, object and id, name a living
	// record that a user sees.
	Seen(ctx context.Context, tx *sqldb.Tx, who model.Viewer, object, id string, binds *sqldb.Binds) (string, error)
}

// Locks is where core keeps fields as they are. Lock and Unlock write a row of records in the
// transaction of the approval, an exception of docs/architecture.md: by an event the fields
// would be locked a moment after the submission was answered.
type Locks interface {
	// Lock keeps fields of a record as they are until Unlock.
	Lock(ctx context.Context, tx *sqldb.Tx, tenant string, l model.FieldLock) error
	Unlock(ctx context.Context, tx *sqldb.Tx, tenant, approval string) error
	// Walk gives the locks of a tenant by approval, behind one.
	Walk(ctx context.Context, tx *sqldb.Tx, tenant, after string, limit int) ([]model.FieldLock, error)
	// Held is an approval that keeps fields of a record as they are; "": none does.
	Held(ctx context.Context, tx *sqldb.Tx, tenant, object, record string) (approval string, err error)
	// Settled is what became of the outcome of an approval; ok says that something did.
	Settled(ctx context.Context, tx *sqldb.Tx, tenant, approval string) (got model.Settled, ok bool, err error)
}

// Publisher publishes events in the transaction of their change.
type Publisher interface {
	Publish(ctx context.Context, tx *sqldb.Tx, batch ...events.Event) error
}

// Engine is the engine, as far as approvals need it.
type Engine interface {
	// Do runs SQL and commands in one transaction; Before and After may run again.
	Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error)
	// PutGraph stores a version of a graph unless the newest one says the same.
	PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
	// Execution is an execution as it is committed.
	Execution(ctx context.Context, tenant string, id flow.ID, at uint64) (engine.View, error)
}

// Config is what the service stands on. Zero values mean what their comments say; what
// has none must be there.
type Config struct {
	Models       kit.Models
	Core         Core
	Records      kit.Records
	Locks        Locks
	Publisher    Publisher
	Engine       Engine
	KeyRetention time.Duration    // how long an idempotency key is remembered; 0: 30 days
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
}

// Approvals are the approvals of all tenants.
type Approvals struct {
	kit.Service
	*runs.Ends
	cfg    Config
	keys   idempotency.Keys
	sql    *dialect
	graphs runs.Graphs
}

// New is the approvals in a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Approvals {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Approvals{
		Service: kit.Service{ServiceName: ConsumerName, DB: db, Clock: cfg.Now}, cfg: cfg,
		keys: idempotency.Keys{Service: ConsumerName, Retention: cfg.KeyRetention},
		Ends: runs.NewEnds(GraphPrefix, endedTable), sql: dialectOf(db.Dialect()),
	}
}

// Caller is who wants something.
type Caller = kit.Caller

// session is one caller's work in one transaction.
type session struct {
	*Approvals
	kit.Session
	now canonical.Stamp
}

// begin finds out who is calling, as the transaction sees it.
func (s *Approvals) begin(ctx context.Context, tx *sqldb.Tx, c Caller) (*session, error) {
	who, err := kit.Begin(ctx, tx, s.cfg.Models, c)
	if err != nil {
		return nil, err
	}
	now, err := s.Now(ctx, tx)
	return &session{s, who, now}, err
}

// read runs fn in a transaction that cannot write.
func (s *Approvals) read(ctx context.Context, op string, c Caller, fn func(context.Context, *session) error) error {
	return s.Read(ctx, op, func(ctx context.Context, tx *sqldb.Tx) error {
		w, err := s.begin(ctx, tx, c)
		if err != nil {
			return err
		}
		return fn(ctx, w)
	})
}

// viewer is the caller as core knows it.
func (w *session) viewer() model.Viewer { return model.Viewer{Tenant: w.Caller.Tenant, User: w.User} }

// dialect is the SQL that differs between the databases: how a SELECT holds its rows.
type dialect struct{ forUpdate, forShare string }

func dialectOf(d sqldb.Dialect) *dialect {
	if d == sqldb.Postgres {
		return &postgres
	}
	return &sqlite
}
