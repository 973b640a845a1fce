package sharing

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
)

// What is held until the end of a transaction, so that what is read afterwards is current
// and stays so. SQLite has one writer, so there is nothing to hold.
//
// A record's rows are written by whoever holds the record and, shared with others, its
// object. Who writes rows of many records holds the object alone.

const (
	holdShared = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 7001))"
	holdAlone  = "SELECT pg_advisory_xact_lock(hashtextextended($1, 7001))"
	// in their order
	holdEach = "SELECT pg_advisory_xact_lock(hashtextextended(name, 7001)) FROM unnest($1::text[]) AS name"
)

// holdRecords lets nobody else write the rows of some records, which are in order, so that
// nobody waits in a circle.
func holdRecords(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) error {
	if tx.Dialect() == sqldb.SQLite {
		return nil
	}
	place := "sharing:" + tenant + ":" + object
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = place + ":" + id
	}
	return tx.Batch(ctx, sqldb.Stmt{Query: holdShared, Args: []any{place}}, sqldb.Stmt{
		Query: holdEach,
		Args:  []any{names},
	})
}

// holdObject lets nobody else write rows of an object, nor change its models.
func holdObject(ctx context.Context, tx *sqldb.Tx, tenant, object string) error {
	if tx.Dialect() == sqldb.SQLite {
		return nil
	}
	_, err := tx.Exec(ctx, holdAlone, "sharing:"+tenant+":"+object)
	return err
}

// holdTenant lets nobody else change territories, or what is worked out of the directory.
// It gives the revision and of which state that is.
func holdTenant(ctx context.Context, tx *sqldb.Tx, tenant string) (revision int64, closed string, err error) {
	return revision, closed, tx.Batch(ctx, sqldb.Stmt{
		Query: `INSERT INTO sharing_tenant AS t (tenant_id, revision, closed) VALUES ($1, 0, '')
			ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision RETURNING revision, closed`,
		Args: []any{tenant},
		Row:  func(r *sqldb.Row) error { return r.Scan(&revision, &closed) },
	})
}

// bump counts a change of territories or models. The tenant is held.
func bump(ctx context.Context, tx *sqldb.Tx, tenant string) error {
	_, err := tx.Exec(ctx, `INSERT INTO sharing_tenant AS t (tenant_id, revision, closed) VALUES ($1, 1, '')
		ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision + 1`, tenant)
	return err
}
