package app

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// settings are the publish policies of tenants; a change is an entry of the audit log too.
type settings struct {
	*store.Store
	now func() time.Time // nil: the time of the database
}

// SetPublishPolicy changes what is published and notes who did.
func (s settings) SetPublishPolicy(ctx context.Context, tenant string, p engine.PublishPolicy,
	entry audit.Entry,
) error {
	if s.now != nil {
		entry.At = canonical.Stamp(s.now().UnixMilli())
	}
	return s.Store.SetPublishPolicy(ctx, tenant, p, func(ctx context.Context, tx *sqldb.Tx) error {
		return audit.Write(ctx, tx, entry)
	})
}
