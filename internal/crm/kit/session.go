package kit

import (
	"context"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
)

// The codes of refusals that services share.
const (
	CodeAccessDenied  = "ACCESS_DENIED"
	CodeObjectUnknown = "OBJECT_UNKNOWN"
)

// Models hands out the model of a tenant as a transaction sees it.
type Models interface {
	// Model is never nil without an error and may not be changed.
	Model(ctx context.Context, tx *sqldb.Tx, tenant string) (*model.Model, error)
	// Who is the active user that a caller's subject names; "" is the system user. Nobody is
	// fault.Forbidden.
	Who(ctx context.Context, tx *sqldb.Tx, tenant, subject string) (*model.User, error)
}

// Caller is who wants something.
type Caller struct {
	Tenant        string
	Subject       string // "": the system user
	CorrelationID string // for the events that follow
}

// CallerOf is who makes a call.
func CallerOf(c *gate.Call) Caller {
	return Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, CorrelationID: c.CorrelationID}
}

// Session is one caller's work in one transaction.
type Session struct {
	Tx     *sqldb.Tx
	Caller Caller
	Model  *model.Model
	User   string // id
}

// Begin finds out who is calling, as the transaction sees it.
func Begin(ctx context.Context, tx *sqldb.Tx, models Models, c Caller) (Session, error) {
	m, err := models.Model(ctx, tx, c.Tenant)
	if err != nil {
		return Session{}, err
	}
	user, err := models.Who(ctx, tx, c.Tenant, c.Subject)
	if err != nil {
		return Session{}, err
	}
	return Session{Tx: tx, Caller: c, Model: m, User: user.ID}, nil
}

// Object is an object of the model by its name; else fault.NotFound.
func (s *Session) Object(name string) (*model.Object, error) {
	if o := s.Model.Object(name); o != nil {
		return o, nil
	}
	return nil, UnknownObject(s.Model, name)
}

// Allow refuses a caller whom no permission set lets do something with records of an object.
func (s *Session) Allow(object string, op model.Op) error {
	if s.Model.Can(s.User, object, op) {
		return nil
	}
	return fault.New(fault.Forbidden, CodeAccessDenied, "no permission set lets you %s records of %s", op, object)
}

// UnknownObject says that a model has no object of this name.
func UnknownObject(m *model.Model, name string) error {
	return fault.New(fault.NotFound, CodeObjectUnknown, "there is no object %.80q; the objects are %s", name,
		m.ObjectNames())
}

// JudgeOf evaluates the conditions of a transaction, within its budget of steps.
func JudgeOf(tx *sqldb.Tx) *model.Judge {
	return sqldb.Own(tx, func() *model.Judge { return model.NewJudge(tx.Waits) })
}
