package reporting

import (
	"context"
	"testing"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// TestTheCountsOfATenantHaveOneWriter lets two transactions hold counts on PostgreSQL.
func TestTheCountsOfATenantHaveOneWriter(t *testing.T) {
	db := sqltest.Open(t, sqldb.Config{URL: pgtest.New(t)})
	counts := func(tenant string) func(ctx context.Context, tx *sqldb.Tx) error {
		return func(ctx context.Context, tx *sqldb.Tx) error { return hold(ctx, tx, tenant) }
	}
	if !sqltest.Waits(t, db, counts("a"), counts("a")) {
		t.Error("two change the counts of a tenant at once")
	}
	if sqltest.Waits(t, db, counts("a"), counts("b")) {
		t.Error("a tenant waits for another")
	}
}
