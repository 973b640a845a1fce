package automation

import (
	"context"
	"embed"
	"log/slog"
	"time"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of this package, for sqldb.Config.
func Migration() sqldb.Migration { return sqldb.Tables("automation", files) }

// Records reads records, whoever may see them, in the transaction of the caller.
type Records interface {
	// Get is a record, also a deleted one; ok says that it exists.
	Get(ctx context.Context, tx *sqldb.Tx, tenant, object, id string) (r model.Record, ok bool, err error)
	// At is a record as the change to a version left it and as it was before, and who made
	// that change.
	At(
		ctx context.Context,
		tx *sqldb.Tx,
		tenant string,
		o *model.Object,
		id string,
		version canonical.Stamp,
	) (d model.Draft,
		by string, ok bool, err error)
	// Walk gives the living records of an object by id, after one.
	Walk(ctx context.Context, tx *sqldb.Tx, tenant, object, afterID string, limit int) ([]model.Record, error)
}

// Writer changes records.
type Writer interface {
	// Set writes fields of some different records as the server itself, in the transaction
	// of the caller, and publishes that. What is refused is an error of its Changed and
	// leaves the others alone.
	Set(
		ctx context.Context,
		tx *sqldb.Tx,
		tenant, correlation, object string,
		changes []model.Change,
	) ([]model.Changed,
		error)
}

// Engine starts executions.
type Engine interface {
	Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error)
}

// Config is what automation works with. Zero values mean what their comments say; what has
// none must be there.
type Config struct {
	Models  kit.Models
	Records Records
	Writer  Writer
	Engine  Engine // nil: no graphs are started here, and no jobs are fired (Run does nothing)
	// Approvers are the users who may decide an approval now; nil: nobody is notified.
	Approvers func(ctx context.Context, tx *sqldb.Tx, tenant, approvalID string) ([]string, error)
	Retention time.Duration    // of runs and causes; 0: 30 days
	Now       func() time.Time // nil: the machine's clock
	Log       *slog.Logger     // nil: nowhere
	chunk     int              // records of a job in one transaction
}

// Automation carries out rules and jobs.
type Automation struct {
	kit.Service
	cfg     Config
	wakeups chan struct{} // holds a token when Run may have something to do
}

// New is automation over a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Automation {
	if cfg.Retention == 0 {
		cfg.Retention = 30 * 24 * time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.chunk == 0 {
		cfg.chunk = 200
	}
	return &Automation{kit.Service{ServiceName: "automation", DB: db, Clock: cfg.Now}, cfg, make(chan struct{}, 1)}
}

func (s *Automation) now() canonical.Stamp { return canonical.Stamp(s.cfg.Now().UnixMilli()) }

// wake lets Run look at once.
func (s *Automation) wake() {
	select {
	case s.wakeups <- struct{}{}:
	default:
	}
}
