package sharing

import (
	"context"
	"testing"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// TestWhoHoldsWhatKeepsOthersOut lets two transactions hold something on PostgreSQL.
func TestWhoHoldsWhatKeepsOthersOut(t *testing.T) {
	db := sqltest.Open(t, sqldb.Config{URL: pgtest.New(t)}, metadata.Migration(), records.Migration(), Migration())
	type hold = func(ctx context.Context, tx *sqldb.Tx) error
	some := func(tenant, object string, ids ...string) hold {
		return func(ctx context.Context, tx *sqldb.Tx) error {
			return kit.SharingLocks.HoldEach(ctx, tx, lockOf(tenant, object), ids)
		}
	}
	object := func(tenant, object string) hold {
		return func(ctx context.Context, tx *sqldb.Tx) error {
			return kit.SharingLocks.Hold(ctx, tx, lockOf(tenant, object))
		}
	}
	whole := func(tenant string) hold {
		return func(ctx context.Context, tx *sqldb.Tx) error {
			_, _, err := holdTenant(ctx, tx, tenant)
			return err
		}
	}
	for _, tt := range []struct {
		name          string
		first, second hold
		waits         bool
	}{
		{"the same record", some("a", "Lead", "1", "2"), some("a", "Lead", "2", "3"), true},
		{"other records", some("a", "Lead", "1"), some("a", "Lead", "2"), false},
		{"the same id of another object", some("a", "Lead", "1"), some("a", "Account", "1"), false},
		{"the same id of another tenant", some("a", "Lead", "1"), some("b", "Lead", "1"), false},
		{"an object with a record", object("a", "Lead"), some("a", "Lead", "1"), true},
		{"a record of an object", some("a", "Lead", "1"), object("a", "Lead"), true},
		{"the same object", object("a", "Lead"), object("a", "Lead"), true},
		{"another object", object("a", "Lead"), object("a", "Account"), false},
		{"the object of another tenant", object("a", "Lead"), object("b", "Lead"), false},
		{"the same tenant", whole("a"), whole("a"), true},
		{"another tenant", whole("a"), whole("b"), false},
	} {
		if got := sqltest.Waits(t, db, tt.first, tt.second); got != tt.waits {
			t.Errorf("%s: the second waits: %t, want %t", tt.name, got, tt.waits)
		}
	}
}
