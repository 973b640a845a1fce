package approval

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

//go:embed migrations
var files embed.FS

func Migration() sqldb.Migration { return sqldb.Tables("approval", files) }

// Models hands out the model of a tenant as the transaction sees it.
type Models interface {
	Model(ctx context.Context, tx *sqldb.Tx, tenant string) (*model.Model, error)
	// Who is the active user that a caller's subject names; nobody is fault.Forbidden.
	Who(ctx context.Context, tx *sqldb.Tx, tenant, subject string) (*model.User, error)
}

// Core is where records are seen, in the transaction of the one who asks.
type Core interface {
	// Find is a living record that a user sees, and whether the user may edit it; else
	// fault.NotFound. With hold nobody changes it until the transaction ends.
	Find(
		ctx context.Context,
		tx *sqldb.Tx,
		who model.Viewer,
		object, id string,
		hold bool,
	) (r model.Record, edit bool,
		err error)
	// Seen is a condition in SQL that is true when two columns, object and id, name a living
	// record that a user sees.
	Seen(ctx context.Context, tx *sqldb.Tx, who model.Viewer, object, id string, binds *sqldb.Binds) (string, error)
}

// Records is where records are read, whoever asks.
type Records interface {
	// Get is a record, also a deleted one; ok says that it exists.
	Get(ctx context.Context, tx *sqldb.Tx, tenant, object, id string) (r model.Record, ok bool, err error)
}

// Locks is where core keeps fields as they are. Lock and Unlock write a row of records in the
// transaction of the approval: the exception that design §1 names. By an event the fields
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

// Publisher announces events in the transaction of the change that they tell of.
type Publisher interface {
	Publish(ctx context.Context, tx *sqldb.Tx, events ...wire.Event) error
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
	Models       Models
	Core         Core
	Records      Records
	Locks        Locks
	Publisher    Publisher
	Engine       Engine
	KeyRetention time.Duration    // how long an idempotency key is remembered; 0: 30 days
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
}

// Approvals are the approvals of all tenants.
type Approvals struct {
	db     *sqldb.DB
	cfg    Config
	keys   idempotency.Keys
	sql    *dialect
	graphs graphs
	ended  atomic.Bool   // an execution has ended in a commit that is not known to be durable
	kick   chan struct{} // holds a token when there may be something to look at
}

// New is the approvals in a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Approvals {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Approvals{
		db: db, cfg: cfg, keys: idempotency.Keys{Service: "approval", Retention: cfg.KeyRetention},
		graphs: graphs{version: map[graphKey]int{}}, sql: dialectOf(db.Dialect()), kick: make(chan struct{}, 1),
	}
}

// Caller is who wants something.
type Caller struct {
	Tenant        string
	Subject       string // "": the system user
	CorrelationID string // for the events that follow
}

func (c *Caller) actor() flow.Actor { return flow.Actor{Kind: flow.KindUser, ID: c.Subject} }

// session is one caller's work in one transaction.
type session struct {
	*Approvals
	tx            *sqldb.Tx
	tenant        string
	correlationID string
	model         *model.Model
	user          string
	now           wire.Stamp
}

// begin finds out who is calling, as the transaction sees it.
func (s *Approvals) begin(ctx context.Context, tx *sqldb.Tx, c *Caller) (*session, error) {
	m, err := s.cfg.Models.Model(ctx, tx, c.Tenant)
	if err != nil {
		return nil, err
	}
	user, err := s.cfg.Models.Who(ctx, tx, c.Tenant, c.Subject)
	if err != nil {
		return nil, err
	}
	now, err := s.now(ctx, tx)
	return &session{
		Approvals: s, tx: tx, tenant: c.Tenant, correlationID: c.CorrelationID, model: m, user: user.ID,
		now: now,
	}, err
}

// viewer is the caller as core knows it.
func (w *session) viewer() model.Viewer { return model.Viewer{Tenant: w.tenant, User: w.user} }

// read runs fn in a transaction that cannot write.
func (s *Approvals) read(
	ctx context.Context, op string, c *Caller, fn func(ctx context.Context, w *session) error,
) error {
	return fault.Wrap(op, s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		w, err := s.begin(ctx, tx, c)
		if err != nil {
			return err
		}
		return fn(ctx, w)
	}))
}

// now is the time by the clock that all processes share.
func (s *Approvals) now(ctx context.Context, tx *sqldb.Tx) (wire.Stamp, error) {
	if s.cfg.Now != nil {
		return wire.Stamp(s.cfg.Now().UnixMilli()), nil
	}
	ms, err := tx.Now(ctx)
	return wire.Stamp(ms), err
}

// maxLooks is how often a request is planned anew because something changed between its
// plan and its transaction.
const maxLooks = 16

// errMoved says that what a request was planned on is not as it was.
var errMoved = errors.New("approval: it has moved on")

// errKnown says that the key of a request has an answer.
var errKnown = errors.New("approval: the key has an answer")

// request is something that a caller wants done once, however often it is planned.
type request struct {
	*Approvals
	call Caller
	key  *wire.Once // nil: it may not be repeated

	answer []byte
}

// do looks, in a transaction that cannot write, at what the request is about, makes the
// unit that does it and runs that, until nothing came in between.
func (r *request) do(
	ctx context.Context, op string, look func(ctx context.Context, w *session) error, unit func(ctx context.Context) (
		engine.Unit, error),
) ([]byte, bool, error) {
	for range maxLooks {
		err := r.read(ctx, op, &r.call, func(ctx context.Context, w *session) error {
			if err := r.recall(ctx, w); err != nil {
				return err
			}
			return look(ctx, w)
		})
		if err == nil {
			err = r.run(ctx, unit)
		}
		switch {
		case errors.Is(err, errMoved):
			continue
		case errors.Is(err, errKnown):
			answer, err := r.again(ctx, op)
			return answer, true, err
		case err != nil:
			return nil, false, fault.Wrap(op, err)
		}
		return r.answer, false, nil
	}
	return nil, false, fault.Wrap(op, fault.New(fault.Unavailable, "STORAGE_BUSY",
		"the approval changed all the time; nothing was done, send it again"))
}

// run does what was planned: through the engine if there is a command. Its answer is
// waited for: what began may have happened.
func (r *request) run(ctx context.Context, make func(ctx context.Context) (engine.Unit, error)) error {
	unit, err := make(ctx)
	if err != nil {
		return err
	}
	return r.perform(context.WithoutCancel(ctx), unit)
}

// perform does a unit: through the engine if it has a command.
func (s *Approvals) perform(ctx context.Context, unit engine.Unit) error {
	if len(unit.Commands) > 0 {
		_, err := s.cfg.Engine.Do(ctx, unit)
		return err
	}
	return s.db.Write(
		ctx,
		sqldb.Other,
		func(ctx context.Context, tx *sqldb.Tx) error { return unit.After(ctx, tx, nil) },
	)
}

// recall looks the key up before anything is done for it; errKnown when it has an answer.
func (r *request) recall(ctx context.Context, w *session) (err error) {
	if r.answer, err = r.keys.Recall(ctx, w.tx, r.repeatable(w)); err == nil && r.answer != nil {
		err = errKnown
	}
	return err
}

// repeatable is the request as the keys know it.
func (r *request) repeatable(w *session) idempotency.Request {
	return idempotency.Request{Tenant: r.call.Tenant, Key: r.key, At: w.now}
}

// idempotent does the work of the request in its transaction and stores its answer; errKnown
// when the key has one, so that nothing else of the transaction happens.
func (r *request) idempotent(ctx context.Context, tx *sqldb.Tx, work func(w *session) ([]byte, error)) error {
	w, err := r.begin(ctx, tx, &r.call)
	if err != nil {
		return err
	}
	var known bool
	r.answer, known, err = r.keys.Do(ctx, tx, r.repeatable(w), func() ([]byte, error) { return work(w) })
	if err == nil && known {
		err = errKnown
	}
	return err
}

// dialect is the SQL that differs between the databases: how a SELECT holds its rows.
type dialect struct{ forUpdate, forShare string }

func dialectOf(d sqldb.Dialect) *dialect {
	if d == sqldb.Postgres {
		return &postgres
	}
	return &sqlite
}
