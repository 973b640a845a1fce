package sharing

import (
	"context"
	"errors"
	"testing"

	"renga.dev/renga/internal/platform/sqldb"
)

// TestModelsOfTwoTenantsAreTwo asks for those of two tenants and two objects in one transaction,
// as a consumer does that takes the events of several tenants.
func TestModelsOfTwoTenantsAreTwo(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const acme, zeta = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"
		each := func(fn func(tenant, object string) error) error {
			return errors.Join(fn(acme, "Account"), fn(zeta, "Account"), fn(acme, "Lead"), fn(zeta, "Lead"))
		}
		r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			return each(func(tenant, object string) error {
				_, err := r.ensureModels(ctx, tx, tenant, object)
				return err
			})
		})
		err := r.DB.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return each(func(tenant, object string) error {
				m, err := activeModel(ctx, tx, tenant, object)
				if err == nil && (m == nil || m.tenant != tenant || m.Object != object) {
					t.Errorf("%s of %s: got %+v", object, tenant, m)
				}
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
