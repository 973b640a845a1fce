package reporting

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
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
	return sqldb.Migration{Name: "reporting", FS: sub}
}

// Config is what the service stands on; all of it must be there, unless it says otherwise.
type Config struct {
	Models    Models
	Visible   Visible
	Records   Records
	Approvals Approvals // nil: they are not counted again

	Engine rebuild.Engine // nil: nothing is rebuilt here
	Worker string         // tells this process from others that rebuild; it may not be empty with Engine
	// KeyRetention is how long the key of a request is remembered; 0: 30 days.
	KeyRetention time.Duration
	Now          func() time.Time // nil: the clock of the database, on SQLite that of the machine
	Log          *slog.Logger     // nil: nowhere
	limits       limits
	fewUnreached int
}

// limits are how much is done at a time.
type limits struct {
	chunk  int // records, or counts, of a rebuild in one transaction
	beside int // see manyBeside; -1: nothing is remembered
}

// Reporting counts the records of all tenants.
type Reporting struct {
	db      *sqldb.DB
	cfg     Config
	runs    *rebuild.Runner[*Rebuild]
	mirrors *mirrors
}

// New is reporting over a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Reporting {
	if cfg.fewUnreached == 0 {
		cfg.fewUnreached = fewUnreached
	}
	if cfg.limits == (limits{}) {
		cfg.limits = limits{chunk: 500, beside: manyBeside}
	}
	s := &Reporting{db: db, cfg: cfg, mirrors: newMirrors()}
	s.runs = rebuild.New(db, rebuild.Config{
		Name: "reporting", Table: "reporting_rebuild", Engine: cfg.Engine, Worker: cfg.Worker, Log: cfg.Log,
		KeyRetention: cfg.KeyRetention,
	}, rebuilder{s})
	return s
}

// now is the time by the clock that all processes share.
func (s *Reporting) now(ctx context.Context, tx *sqldb.Tx) (wire.Stamp, error) {
	if s.cfg.Now != nil {
		return wire.Stamp(s.cfg.Now().UnixMilli()), nil
	}
	ms, err := tx.Now(ctx)
	return wire.Stamp(ms), err
}

func (s *Reporting) write(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return fault.Wrap(op, s.db.Write(ctx, sqldb.Other, fn))
}

// Caller is who wants a report.
type Caller struct {
	Tenant  string
	Subject string // "": the system user
}

// session is one caller's work in one transaction.
type session struct {
	*Reporting
	tx     *sqldb.Tx
	tenant string
	model  *model.Model
	user   string
}

// read runs fn in a transaction that cannot write.
func (s *Reporting) read(ctx context.Context, op string, c *Caller, fn func(ctx context.Context,
	w *session) error,
) error {
	return fault.Wrap(op, s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := s.cfg.Models.Model(ctx, tx, c.Tenant)
		if err != nil {
			return err
		}
		user, err := s.cfg.Models.Who(ctx, tx, c.Tenant, c.Subject)
		if err != nil {
			return err
		}
		return fn(ctx, &session{Reporting: s, tx: tx, tenant: c.Tenant, model: m, user: user.ID})
	}))
}

// The codes of refusals.
const (
	CodeAccessDenied = "ACCESS_DENIED"
	CodeTooLarge     = "REPORT_TOO_LARGE"
)

// needs refuses a caller who may not read an object, or one of its fields.
func (w *session) needs(object string, fields ...string) error {
	if !w.model.Can(w.user, object, model.ReadOp) {
		return fault.New(fault.Forbidden, CodeAccessDenied, "no permission set lets you %s records of %s", model.ReadOp,
			object)
	}
	for _, field := range fields {
		if !w.sees(object, field) {
			return fault.New(fault.Forbidden, CodeAccessDenied,
				"this report stands on %s of %s, which you may not read", field, object).
				With(map[string]string{"field": field})
		}
	}
	return nil
}

// sees reports whether the caller may read a field.
func (w *session) sees(object, field string) bool { return w.model.View(w.user, object).Reads(field) }
