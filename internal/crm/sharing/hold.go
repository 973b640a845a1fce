package sharing

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
)

// lockOf names the lock of an object. A record's rows are written by the transaction that locks
// the record and, shared with others, its object. To write rows of many records, or to change the
// models of an object, a transaction locks the object alone.
func lockOf(tenant, object string) string { return "sharing:" + tenant + ":" + object }

// holdTenant locks territories, models, and what is derived from the directory. It gives the
// revision, and the state from which that was derived.
func holdTenant(ctx context.Context, tx *sqldb.Tx, tenant string) (revision int64, closed string, err error) {
	err = tx.Batch(ctx, sqldb.Stmt{
		Query: `INSERT INTO sharing_tenant AS t (tenant_id, revision, closed) VALUES ($1, 0, '')
			ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision RETURNING revision, closed`,
		Args: []any{tenant},
		Row:  func(r *sqldb.Row) error { return r.Scan(&revision, &closed) },
	})
	return revision, closed, err
}

// bump counts a change of territories or models. The tenant is locked.
func bump(ctx context.Context, tx *sqldb.Tx, tenant string) error {
	_, err := tx.Exec(ctx, `INSERT INTO sharing_tenant AS t (tenant_id, revision, closed) VALUES ($1, 1, '')
		ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision + 1`, tenant)
	return err
}
