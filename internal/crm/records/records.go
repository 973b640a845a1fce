package records

import (
	"context"
	"embed"
	"io/fs"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
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
	return sqldb.Migration{Name: "records", FS: sub}
}

// Config is what the service stands on. Zero values mean what their comments say; what
// has none must be there.
type Config struct {
	Models       Models
	Visible      Visible
	Publisher    Publisher
	Rules        Rules            // nil: nothing is done before a save
	KeyRetention time.Duration    // how long an idempotency key is remembered; 0: 30 days
	Now          func() time.Time // nil: the machine's clock
	// Open reports whether an approval is pending, and holds it so until the transaction
	// ends. nil: what ApprovalSubmitted says is believed.
	Open func(ctx context.Context, tx *sqldb.Tx, tenant, approval string) (bool, error)
	// Outcome is what an approval that has ended writes into its record. nil: nothing is.
	Outcome func(ctx context.Context, tx *sqldb.Tx, tenant, approval string) (model.Outcome, error)
	// Refused tells those whom it concerns that a record did not take the outcome of the
	// approval that an event is about. nil: they have to look.
	Refused func(ctx context.Context, tx *sqldb.Tx, e *wire.Event, o model.Outcome) error
	// Regrouped is told of events that say that a group has other members: approvals may wait
	// for nobody any more, and the document lists these events for core alone. nil: nobody is.
	Regrouped func(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error
}

// Records keeps the records of all tenants.
type Records struct {
	db   *sqldb.DB
	cfg  Config
	keys idempotency.Keys

	folded atomic.Int64 // changes of counts that PostgreSQL has not forgotten yet
}

// New is the records in a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Records {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Records{
		db: db, cfg: cfg, keys: idempotency.Keys{Service: "records", Retention: cfg.KeyRetention},
	}
}

// Caller is who wants something.
type Caller struct {
	Tenant        string
	Subject       string // "": the system user
	CorrelationID string // for the events that follow
}

// session is one caller's work in one transaction.
type session struct {
	*Records
	tx     *sqldb.Tx
	caller *Caller
	model  *model.Model
	user   string
	now    wire.Stamp
	judge  *model.Judge
}

// begin finds out who is calling, as the transaction sees it.
func (s *Records) begin(ctx context.Context, tx *sqldb.Tx, c *Caller) (*session, error) {
	m, err := s.cfg.Models.Model(ctx, tx, c.Tenant)
	if err != nil {
		return nil, err
	}
	user, err := s.cfg.Models.Who(ctx, tx, c.Tenant, c.Subject)
	if err != nil {
		return nil, err
	}
	return &session{
		Records: s, tx: tx, caller: c, model: m, user: user.ID, now: wire.Stamp(s.cfg.Now().UnixMilli()),
		judge: sqldb.Own(tx, func() *model.Judge { return model.NewJudge(tx.Waits) }),
	}, nil
}

// read runs fn in a transaction that cannot write.
func (s *Records) read(ctx context.Context, op string, c *Caller, fn func(ctx context.Context,
	w *session) error,
) error {
	return fault.Wrap(op, s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		w, err := s.begin(ctx, tx, c)
		if err != nil {
			return err
		}
		return fn(ctx, w)
	}))
}

// write runs fn in a transaction; it may run more than once.
func (s *Records) write(ctx context.Context, op string, c *Caller, fn func(ctx context.Context,
	w *session) error,
) error {
	return fault.Wrap(op, s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		w, err := s.begin(ctx, tx, c)
		if err != nil {
			return err
		}
		return fn(ctx, w)
	}))
}

// viewOf is what the caller may do with the fields of an object, if it may do something
// with its records at all.
func (w *session) viewOf(object string, op model.Op) (view, error) {
	if w.model.Object(object) == nil {
		return view{}, w.noObject(object)
	}
	if !w.model.Can(w.user, object, op) {
		return view{}, fault.New(fault.Forbidden, CodeAccessDenied, "no permission set lets you %s records of %s", op,
			object)
	}
	return view{w.model.View(w.user, object)}, nil
}

func (w *session) noObject(name string) error {
	return fault.New(fault.NotFound, CodeObjectUnknown, "there is no object %.80q; the objects are %s", name,
		w.model.ObjectNames())
}

// notFound says that there is no such record, or none that the caller may know of.
func notFound(object, id string) error {
	return fault.New(fault.NotFound, CodeRecordNotFound, "there is no %s %q", object, id)
}

// idempotent executes a request, or gives the stored answer of its key.
func (w *session) idempotent(
	ctx context.Context, key *wire.Once, do func() ([]byte, error),
) (answer []byte, replay bool, err error) {
	return w.keys.Do(ctx, w.tx, idempotency.Request{Tenant: w.caller.Tenant, Key: key, At: w.now}, do)
}
