package metadata

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// define writes a user by hand, with the stamp that is said.
func define(ctx context.Context, tx *sqldb.Tx, tenant, stamp, id, body string) error {
	return tx.Batch(ctx,
		sqldb.Stmt{Query: `INSERT INTO metadata_tenant (tenant_id, revision, stamp) VALUES ($1, 1, $2)
			ON CONFLICT (tenant_id) DO UPDATE SET stamp = excluded.stamp`, Args: []any{tenant, stamp}},
		sqldb.Stmt{Query: "INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) VALUES ($1, 'user', " +
			"$2, $3, 1)", Args: []any{tenant, id, body}})
}

func TestATransactionSeesTheDefinitionsThatItSees(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		before := r.model(r.models, tenantA)
		rolledBack := errors.New("rolled back")
		err := r.write(func(ctx context.Context, tx *sqldb.Tx) error {
			if err := define(ctx, tx, tenantA, "s1", "u1", `{"id":"u1","name":"Lost","isActive":true}`); err != nil {
				return err
			}
			if m, err := r.models.Model(ctx, tx, tenantA); err != nil || m.User("u1") == nil {
				t.Errorf("a transaction does not see what it wrote: %v", err)
			}
			return rolledBack
		})
		if !errors.Is(err, rolledBack) {
			t.Fatal(err)
		}
		if m := r.model(r.models, tenantA); m.User("u1") != nil {
			t.Error("what was rolled back is seen")
		}
		if err := r.write(func(ctx context.Context, tx *sqldb.Tx) error {
			return define(ctx, tx, tenantA, "s2", "u2", `{"id":"u2","name":"Anna","subject":"anna","isActive":true}`)
		}); err != nil {
			t.Fatal(err)
		}
		m := r.model(r.models, tenantA)
		if m.User("u1") != nil || m.User("u2") == nil || before.User("u2") != nil {
			t.Error("a model is not of its state")
		}
		if again := r.model(r.models, tenantA); again != m {
			t.Error("a model that is current was read again")
		}
		if r.model(r.models, tenantB).User("u2") != nil {
			t.Error("another tenant sees the user")
		}
	})
}

// TestModelsOfTwoTenantsAreTwo asks for both in one transaction, as a consumer does that takes
// the events of several tenants, and gives both the same stamp.
func TestModelsOfTwoTenantsAreTwo(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		err := r.write(func(ctx context.Context, tx *sqldb.Tx) error {
			return errors.Join(
				define(ctx, tx, tenantA, "same", "u1", `{"id":"u1","name":"Anna","isActive":true}`),
				define(ctx, tx, tenantB, "same", "u1", `{"id":"u1","name":"Ben","isActive":true}`))
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time from memory
			err := r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				for tenant, want := range map[string]string{tenantA: "Anna", tenantB: "Ben"} {
					m, err := r.models.Model(ctx, tx, tenant)
					if err != nil {
						return err
					}
					if u := m.User("u1"); u == nil || u.Name != want || m.Tenant != tenant {
						t.Errorf("%s: got %+v of %s, want %s", tenant, u, m.Tenant, want)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestCallersThatAreNobodyAreRefused(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		err := r.write(func(ctx context.Context, tx *sqldb.Tx) error {
			return errors.Join(
				define(ctx, tx, tenantA, "s1", "u1", `{"id":"u1","name":"Anna","subject":"anna","isActive":true}`),
				define(ctx, tx, tenantA, "s2", "u2", `{"id":"u2","name":"Ben","subject":"ben","isActive":false}`))
		})
		if err != nil {
			t.Fatal(err)
		}
		for subject, want := range map[string]string{
			"anna": "", "": "", "ben": CodeUserInactive,
			"carl": CodeUserUnknown,
		} {
			err := r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := r.models.Who(ctx, tx, tenantA, subject)
				return err
			})
			failure, _ := fault.As(err)
			if got := failure; want == "" && err != nil || want != "" && (got == nil || got.Code != want ||
				got.Kind != fault.Forbidden) {
				t.Errorf("%q: got %v, want %q", subject, err, want)
			}
		}
	})
}

func TestModelsThatWereNotUsedLongestMakeRoom(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.model(r.models, tenantA)
		r.models.most = r.models.held[tenantA].size + 1
		r.model(r.models, tenantB)
		if r.models.held[tenantA] != nil || r.models.held[tenantB] == nil {
			t.Errorf("got %d models, want that of the tenant who was asked for last", len(r.models.held))
		}
		const tenantC = "00000000-0000-0000-0000-00000000000c"
		r.models.most = r.models.held[tenantB].size*2 + 1
		r.model(r.models, tenantA)
		r.model(r.models, tenantB) // so that A was not asked for longest
		r.model(r.models, tenantC)
		if r.models.held[tenantA] != nil || r.models.held[tenantB] == nil || r.models.held[tenantC] == nil {
			t.Errorf("got %v, want the two tenants who were asked for last", slices.Sorted(maps.Keys(r.models.held)))
		}
	})
}
