package app

import (
	"context"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// settings is what tenants want others to be told, with the audit log beside it.
type settings struct{ *store.Store }

// SetPublicity changes what is told and notes who did.
func (s settings) SetPublicity(ctx context.Context, tenant string, p engine.Publicity, entry audit.Entry) error {
	return s.Store.SetPublicity(ctx, tenant, p, func(ctx context.Context, tx *sqldb.Tx) error {
		return audit.Write(ctx, tx, entry)
	})
}
