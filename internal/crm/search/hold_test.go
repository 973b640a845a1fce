package search

import (
	"context"
	"testing"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// TestWhoHoldsWhatKeepsOthersOut lets two transactions hold something on PostgreSQL.
func TestWhoHoldsWhatKeepsOthersOut(t *testing.T) {
	db := sqltest.Open(t, sqldb.Config{URL: pgtest.New(t)})
	type hold = func(ctx context.Context, tx *sqldb.Tx) error
	records := func(tenant, object string, ids ...string) hold {
		return func(ctx context.Context, tx *sqldb.Tx) error {
			return kit.SearchLocks.HoldEach(ctx, tx, lockOf(tenant, object), ids)
		}
	}
	object := func(tenant, object string) hold {
		return func(ctx context.Context, tx *sqldb.Tx) error {
			return kit.SearchLocks.Hold(ctx, tx, lockOf(tenant, object))
		}
	}
	rebuilds := func(tenant string) hold {
		return func(ctx context.Context, tx *sqldb.Tx) error { return holdRebuilds(ctx, tx, tenant) }
	}
	for _, tt := range []struct {
		name          string
		first, second hold
		waits         bool
	}{
		{"the same record", records("a", "Lead", "1", "2"), records("a", "Lead", "2", "3"), true},
		{"other records", records("a", "Lead", "1"), records("a", "Lead", "2"), false},
		{"the same id of another object", records("a", "Lead", "1"), records("a", "Account", "1"), false},
		{"the same id of another tenant", records("a", "Lead", "1"), records("b", "Lead", "1"), false},
		{"an object with a record", object("a", "Lead"), records("a", "Lead", "1"), true},
		{"a record of an object", records("a", "Lead", "1"), object("a", "Lead"), true},
		{"the same object", object("a", "Lead"), object("a", "Lead"), true},
		{"another object", object("a", "Lead"), object("a", "Account"), false},
		{"the object of another tenant", object("a", "Lead"), object("b", "Lead"), false},
		{"the same tenant", rebuilds("a"), rebuilds("a"), true},
		{"another tenant", rebuilds("a"), rebuilds("b"), false},
	} {
		if got := sqltest.Waits(t, db, tt.first, tt.second); got != tt.waits {
			t.Errorf("%s: the second waits: %t, want %t", tt.name, got, tt.waits)
		}
	}
}
