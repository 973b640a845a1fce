package reporting

import (
	"context"
	"embed"
	"log/slog"
	"sync"
	"time"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

// service is the name of reporting: of its tables, its consumer and its errors.
const service = "reporting"

func Migration() sqldb.Migration { return sqldb.Tables(service, files) }

// Config is what the service stands on; all of it must be there, unless it says otherwise.
type Config struct {
	Models    kit.Models
	Visible   Visible
	Records   Records
	Approvals Approvals // nil: they are not counted again

	Engine rebuild.Engine // nil: nothing is rebuilt here
	Worker string         // tells this process from others that rebuild; it may not be empty with Engine
	// KeyRetention is how long the key of a request is cached; 0: 30 days.
	KeyRetention time.Duration
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
	limits       limits
	fewUnreached int
}

// limits are how much is done at a time.
type limits struct {
	chunk     int // records, or counts, of a rebuild in one transaction
	cacheFrom int // see cacheFrom; -1: nothing is cached
}

// Reporting counts the records of all tenants.
type Reporting struct {
	kit.Service
	cfg    Config
	runs   *rebuild.Resource
	caches *caches
}

// New is reporting over a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Reporting {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.fewUnreached == 0 {
		cfg.fewUnreached = fewUnreached
	}
	if cfg.limits == (limits{}) {
		cfg.limits = limits{chunk: 500, cacheFrom: cacheFrom}
	}
	s := &Reporting{Service: kit.Service{ServiceName: service, DB: db, Clock: cfg.Now}, cfg: cfg}
	s.caches = newCaches(s)
	s.runs = rebuild.NewResource(&s.Service, rebuild.Config{
		Name: service, Table: "reporting_rebuild", Engine: cfg.Engine, Worker: cfg.Worker, Log: cfg.Log,
		KeyRetention: cfg.KeyRetention,
	}, rebuild.Work{Position: [2]string{"part", "place"}, Chunk: s.chunk})
	return s
}

// Run runs rebuilds, and keeps caches current, until ctx ends; running rebuilds continue at the next
// start.
func (s *Reporting) Run(ctx context.Context) {
	var background sync.WaitGroup
	background.Go(func() { s.caches.run(ctx) })
	s.runs.Run(ctx)
	background.Wait()
}

// session is one caller's work in one transaction.
type session struct {
	*Reporting
	kit.Session
}

// CodeTooLarge is the code of a report that would have too many rows.
const CodeTooLarge = "REPORT_TOO_LARGE"

// needs refuses a caller who may not read an object, or one of its fields.
func (w *session) needs(object string, fields ...string) error {
	if err := w.Allow(object, model.ReadOp); err != nil {
		return err
	}
	for _, field := range fields {
		if !w.sees(object, field) {
			return fault.New(fault.Forbidden, kit.CodeAccessDenied,
				"this report stands on %s of %s, which you may not read", field, object).
				With(map[string]string{"field": field})
		}
	}
	return nil
}

// sees reports whether the caller may read a field.
func (w *session) sees(object, field string) bool { return w.Model.View(w.User, object).Reads(field) }
