package records

import (
	"context"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// Visible says which records somebody has access to.
type Visible interface {
	// See is how many living records of an object a user has at least this access to, as the
	// transaction sees it, and their ids in order when they are few; else ids is nil. Whether
	// the user may do anything with the object at all was asked before.
	See(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access) (total int, ids []string,
		err error)
	// Where is a condition in SQL over the row r of records_record that is true for exactly
	// these records, for statements that look at many. Its arguments are added to binds. r is
	// of the tenant and the object, and not deleted. Equal questions should give equal texts.
	Where(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access, binds *sqldb.Binds) (
		string, error)
	// WhereOne is the same condition for statements that look at few.
	WhereOne(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access, binds *sqldb.Binds) (
		string, error)
}

// Rules are what somebody defined to be done with records before they are saved. They are
// a part of the decision: nothing is read, and the same model and draft give the same
// answer. Their conditions are evaluated by the judge of the transaction, whose budget all
// records of it share; when that is used up, the error names the rule that was next.
type Rules interface {
	// Before calls set with every rule that acts before the save and holds for the draft, in
	// their order; set changes the draft, so a rule sees what those before it did.
	Before(j *model.Judge, m *model.Model, d *model.Draft, set func(*model.WorkflowRule) error) error
	// Broken are the validation rules that refuse the draft, in their order.
	Broken(j *model.Judge, m *model.Model, d *model.Draft) ([]*model.ValidationRule, error)
}

// Approvals is what the consumer works with in the transaction that handles an event.
type Approvals interface {
	// Open reports whether an approval is pending, and holds it so until the transaction ends.
	Open(ctx context.Context, tx *sqldb.Tx, tenant, approval string) (bool, error)
	// Outcome is what an approval that has ended writes into its record.
	Outcome(ctx context.Context, tx *sqldb.Tx, tenant, approval string) (model.Outcome, error)
	// Regrouped handles an event that says that a group has other members: approvals may wait for
	// nobody any more, and the document lists these events for core alone.
	Regrouped(ctx context.Context, tx *sqldb.Tx, e *events.Event) error
}

// Notifier notifies users.
type Notifier interface {
	// OutcomeRefused notifies those whom it concerns that a record did not take the outcome of the
	// approval that an event is about.
	OutcomeRefused(ctx context.Context, tx *sqldb.Tx, e *events.Event, o model.Outcome) error
}

// Publisher publishes events in the transaction of the change that they announce.
type Publisher interface {
	Publish(ctx context.Context, tx *sqldb.Tx, batch ...events.Event) error
}
