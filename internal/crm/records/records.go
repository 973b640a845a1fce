package records

import (
	"context"
	"embed"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

func Migration() sqldb.Migration { return sqldb.Tables("records", files) }

// Config is what the service stands on. Zero values mean what their comments say; what
// has none must be there.
type Config struct {
	Models       kit.Models
	Visible      Visible
	Publisher    Publisher
	Territories  Territories      // nil: there are none
	Rules        Rules            // nil: nothing is done before a save
	KeyRetention time.Duration    // how long an idempotency key is remembered; 0: 30 days
	Now          func() time.Time // nil: the machine's clock
}

// Records keeps the records of all tenants.
type Records struct {
	kit.Service
	cfg  Config
	keys idempotency.Keys
	sql  *dialect

	compacted atomic.Int64 // changes of counts that PostgreSQL has not vacuumed yet
}

// New is the records in a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Records {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Records{
		Service: kit.Service{ServiceName: "records", DB: db, Clock: cfg.Now}, cfg: cfg, sql: dialectOf(db.Dialect()),
		keys: idempotency.Keys{Service: "records", Retention: cfg.KeyRetention},
	}
}

// Caller is who wants something.
type Caller = kit.Caller

// session is one caller's work in one transaction.
type session struct {
	*Records
	kit.Session
	now   canonical.Stamp
	judge *model.Judge
}

// begin finds out who is calling, as the transaction sees it.
func (s *Records) begin(ctx context.Context, tx *sqldb.Tx, c Caller) (*session, error) {
	who, err := kit.Begin(ctx, tx, s.cfg.Models, c)
	return &session{s, who, canonical.Stamp(s.cfg.Now().UnixMilli()), kit.JudgeOf(tx)}, err
}

// as is fn with the session of a caller.
func (s *Records) as(c Caller, fn func(context.Context, *session) error) func(context.Context, *sqldb.Tx) error {
	return func(ctx context.Context, tx *sqldb.Tx) error {
		w, err := s.begin(ctx, tx, c)
		if err != nil {
			return err
		}
		return fn(ctx, w)
	}
}

// viewOf is what the caller may do with the fields of an object, if it may do something
// with its records at all.
func (w *session) viewOf(object string, op model.Op) (view, error) {
	if _, err := w.Object(object); err != nil {
		return view{}, err
	}
	return view{w.Model.View(w.User, object)}, w.Allow(object, op)
}

// notFound says that there is no such record, or none that the caller may know of.
func notFound(object, id string) error {
	return fault.New(fault.NotFound, CodeRecordNotFound, "there is no %s %q", object, id)
}

// notEdited says that the caller sees a record and may not change it.
func notEdited(object, id string) error {
	return fault.New(fault.Forbidden, CodeAccessDenied, "you may read the %s %s, but not edit it", object, id)
}

// idempotent executes a request, or gives the stored answer of its key.
func (w *session) idempotent(
	ctx context.Context, key *canonical.IdempotencyKey, do func() ([]byte, error),
) (answer []byte, replay bool, err error) {
	return w.keys.Do(ctx, w.Tx, idempotency.Request{Tenant: w.Caller.Tenant, Key: key, At: w.now}, do)
}
