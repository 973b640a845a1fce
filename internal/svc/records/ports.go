package records

import (
	"context"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// Models hands out the model of a tenant as the transaction sees it.
type Models interface {
	// Model is never nil without an error and may not be changed.
	Model(ctx context.Context, tx *sqldb.Tx, tenant string) (*crm.Model, error)
	// Who is the active user that a caller's subject names; "" is the system user. Nobody
	// is fault.Forbidden.
	Who(ctx context.Context, tx *sqldb.Tx, tenant, subject string) (*crm.User, error)
}

// Visible says which records somebody has access to.
type Visible interface {
	// See is how many living records of an object a user has at least this access to, as the
	// transaction sees it, and their ids in order when they are few; else ids is nil. Whether
	// the user may do anything with the object at all was asked before.
	See(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level crm.Access) (total int, ids []string, err error)
	// Where is a condition in SQL over the row r of records_record that is true for exactly
	// these records, for statements that look at many. Its arguments are added to binds. r is
	// of the tenant and the object, and not deleted. Equal questions should give equal texts.
	Where(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level crm.Access, binds *sqldb.Binds) (string, error)
	// WhereOne is the same condition for statements that look at few.
	WhereOne(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level crm.Access, binds *sqldb.Binds) (string, error)
}

// Rules are what somebody defined to be done with records before they are saved. They are
// a part of the decision: nothing is read, and the same model and draft give the same
// answer.
type Rules interface {
	// Before calls set with every rule that acts before the save and holds for the draft, in
	// their order; set changes the draft, so a rule sees what those before it did.
	Before(m *crm.Model, d *crm.Draft, set func(*crm.WorkflowRule) error) error
	// Broken are the validation rules that refuse the draft, in their order.
	Broken(m *crm.Model, d *crm.Draft) []*crm.ValidationRule
}

// Publisher announces events in the transaction of the change that they tell of.
type Publisher interface {
	Publish(ctx context.Context, tx *sqldb.Tx, events ...wire.Event) error
}
