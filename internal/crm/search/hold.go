package search

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
)

// What is held until the end of a transaction, so that what is read afterwards is current
// and stays so. SQLite has one writer, so there is nothing to hold. What the index has of
// a record is written by whoever holds the record and, shared with others, its object;
// who writes that of many records holds the object alone.

const (
	holdShared = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 7002))"
	holdAlone  = "SELECT pg_advisory_xact_lock(hashtextextended($1, 7002))"
	// in their order
	holdEach = "SELECT pg_advisory_xact_lock(hashtextextended(name, 7002)) FROM unnest($1::text[]) AS name"
)

// holdRecords lets nobody else write what the index has of some records, which are in
// order, so that nobody waits in a circle.
func holdRecords(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) error {
	if tx.Dialect() == sqldb.SQLite {
		return nil
	}
	place := "search:" + tenant + ":" + object
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = place + ":" + id
	}
	return tx.Batch(ctx, sqldb.Stmt{Query: holdShared, Args: []any{place}}, sqldb.Stmt{
		Query: holdEach,
		Args:  []any{names},
	})
}

// holdObject lets nobody else write what the index has of an object.
func holdObject(ctx context.Context, tx *sqldb.Tx, tenant, object string) error {
	if tx.Dialect() == sqldb.SQLite {
		return nil
	}
	_, err := tx.Exec(ctx, holdAlone, "search:"+tenant+":"+object)
	return err
}

// holdRebuilds lets nobody else begin a rebuild of a tenant.
func holdRebuilds(ctx context.Context, tx *sqldb.Tx, tenant string) error {
	if tx.Dialect() == sqldb.SQLite {
		return nil
	}
	_, err := tx.Exec(ctx, holdAlone, "search:"+tenant)
	return err
}
