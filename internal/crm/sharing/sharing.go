package sharing

import (
	"context"
	"embed"
	"log/slog"
	"time"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

// Migration is the tables of this package, for sqldb.Config.
func Migration() sqldb.Migration { return sqldb.Tables("sharing", files) }

// Records reads records, in the caller's transaction.
type Records interface {
	// Get is a record, also one that was deleted; ok says that it exists.
	Get(ctx context.Context, tx *sqldb.Tx, tenant, object, id string) (r model.Record, ok bool, err error)
	// Some gives those of some records that exist, deleted ones too, by id.
	Some(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (map[string]model.Record, error)
	// Walk gives the living records of an object by id, after one.
	Walk(ctx context.Context, tx *sqldb.Tx, tenant, object, afterID string, limit int) ([]model.Record, error)
	// TeamsAmong are the teams of some records, each by user.
	TeamsAmong(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (map[string][]model.TeamMember,
		error)
	// Count is how many living records an object has.
	Count(ctx context.Context, tx *sqldb.Tx, tenant, object string) (int, error)
	// Living and Counts are what follows FROM where a statement looks at the living records of an object,
	// or at how many each owner has: a table under an alias, WHERE, and a condition that AND may follow.
	Living(alias, tenant, object string) string
	Counts(alias, tenant, object string) string
}

// Bus publishes changes, in the transaction that makes them.
type Bus interface {
	Publish(ctx context.Context, tx *sqldb.Tx, batch ...events.Event) error
	NextVersion(ctx context.Context, tx *sqldb.Tx, key string) (canonical.Stamp, error)
}

// Config is what sharing works with.
type Config struct {
	Models  kit.Models
	Records Records
	Bus     Bus            // nil: nothing is changed or handled here
	Engine  rebuild.Engine // nil: nothing is rebuilt here (Run does nothing)
	Worker  string         // tells this process from others that rebuild; it may not be empty with Engine
	// KeyRetention is how long the key of a request is remembered; 0: 30 days.
	KeyRetention time.Duration
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
	limits       limits
}

// limits are how much is done in one transaction.
type limits struct {
	chunk int // records of a rebuild
	sweep int // rows of a model that is not used any more

	few       int // see fewRecords; -1: never look records up
	unreached int // see fewUnreached
}

// Sharing decides who may see what.
type Sharing struct {
	*service
	Visible
	Territories *Territories
	runs        *rebuild.Runner[*Model]
}

// New is sharing over a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Sharing {
	if cfg.limits == (limits{}) {
		cfg.limits = limits{chunk: 500, sweep: 2000, few: fewRecords, unreached: fewUnreached}
	}
	of := &service{kit.Service{ServiceName: "sharing", DB: db, Clock: cfg.Now}, cfg}
	s := &Sharing{
		service: of, Territories: &Territories{of},
		Visible: Visible{models: cfg.Models, records: cfg.Records, limits: cfg.limits},
	}
	s.runs = rebuild.New(db, rebuild.Config{
		Name: "sharing", Table: "sharing_model", Engine: cfg.Engine, Worker: cfg.Worker, Log: cfg.Log,
		KeyRetention: cfg.KeyRetention,
	}, rebuilder{s})
	return s
}

// service is what the parts of sharing have in common.
type service struct {
	kit.Service
	cfg Config
}

// publish publishes an event about something, with the next version of its key, which it gives.
func (s *service) publish(
	ctx context.Context,
	tx *sqldb.Tx,
	call kit.Caller,
	kind, id string,
	payload func(at canonical.Stamp) events.Payload,
) (canonical.Stamp, error) {
	key := events.RecordKey(kind, call.Tenant, id)
	version, err := s.cfg.Bus.NextVersion(ctx, tx, key)
	if err != nil {
		return 0, err
	}
	at, err := s.Now(ctx, tx)
	if err != nil {
		return 0, err
	}
	p := payload(at)
	body, err := events.NewPayload(p)
	if err != nil {
		return 0, err
	}
	return version, s.cfg.Bus.Publish(ctx, tx, events.Event{
		Type: p.EventType(), Tenant: call.Tenant, Producer: events.Producer{Service: "sharing-service"},
		CorrelationID: call.CorrelationID, Key: key, Version: version, Payload: body,
	})
}
