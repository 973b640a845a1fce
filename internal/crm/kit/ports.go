package kit

import (
	"context"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// Records reads records, in the caller's transaction.
type Records interface {
	// Get is a record, also a deleted one; ok says that it exists.
	Get(ctx context.Context, tx *sqldb.Tx, tenant, object, id string) (r model.Record, ok bool, err error)
	// Some gives those of some records that exist, deleted ones too, by id.
	Some(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (map[string]model.Record, error)
	// Walk gives the living records of an object by id, after one.
	Walk(ctx context.Context, tx *sqldb.Tx, tenant, object, afterID string, limit int) ([]model.Record, error)
	// Count is how many living records an object has.
	Count(ctx context.Context, tx *sqldb.Tx, tenant, object string) (int, error)
}

// Visible says which records a user has access to, as the transaction sees it.
type Visible interface {
	// Where is a condition in SQL over the row r of a record, of the tenant and the object and not
	// deleted, for statements that look at many; WhereOne is the same for statements that name few.
	Where(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access, binds *sqldb.Binds) (
		string, error)
	WhereOne(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access, binds *sqldb.Binds) (
		string, error)
}
