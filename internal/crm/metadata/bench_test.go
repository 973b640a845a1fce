package metadata

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// crowd fills a tenant with users of a few roles.
func (r *rig) crowd(users int) {
	r.Helper()
	const rows = 500
	r.must(`put role #1 {"name":"CEO"}`)
	for from := 0; from < users; from += rows {
		err := r.write(func(ctx context.Context, tx *sqldb.Tx) error {
			for i := from; i < min(from+rows, users); i++ {
				body := fmt.Sprintf(`{"id":"%s","name":"User %d","subject":"auth0|%d","roleId":"%s","isActive":true}`,
					id(1000+i), i, i, id(1))
				if _, err := tx.Exec(ctx, "INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) "+
					"VALUES ($1, 'user', $2, $3, 1)", tenantA, id(1000+i), body); err != nil {
					return err
				}
			}
			_, err := tx.Exec(ctx, "UPDATE metadata_tenant SET stamp = $2 WHERE tenant_id = $1", tenantA,
				uuid.NewString())
			return err
		})
		if err != nil {
			r.Fatal(err)
		}
	}
}

// BenchmarkModel is what a transaction pays to ask for the model, of a tenant with many
// users: when it is in memory, and when another process has changed something.
func BenchmarkModel(b *testing.B) {
	r := newRig(b, sqldb.Config{Path: filepath.Join(b.TempDir(), "bench.db")})
	r.crowd(10_000)
	for name, models := range map[string]func() *Models{
		"in memory": func() *Models { return r.models },
		"read":      NewModels,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if m := r.model(models(), tenantA); m.Who("auth0|77") == nil {
					b.Fatal("the user is gone")
				}
			}
		})
	}
	b.Run("changed here", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			c := Change{Tenant: tenantA, CorrelationID: "c-1", Kind: model.KindUser, ID: id(1000 + i%10_000)}
			if _, _, err := r.Put(b.Context(), c, fmt.Appendf(nil, `{"name":"Changed %d"}`, i)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
