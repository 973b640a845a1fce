package httpapi_test

import (
	"context"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/svc/metadata"
	"renga.dev/renga/internal/svc/records"
)

// openRecords puts the records over the bus.
func (s *server) openRecords(models *metadata.Models) {
	s.records = records.New(s.db, records.Config{Models: models, Visible: owners{models}, Publisher: s.bus, Now: s.clock.Now})
}

// owners lets users see and edit their own records, and who may view or modify all of them
// all.
type owners struct{ models *metadata.Models }

func (o owners) Where(ctx context.Context, tx *sqldb.Tx, tenant, _, user string, level crm.Access, b *sqldb.Binds) (string, error) {
	m, err := o.models.Model(ctx, tx, tenant)
	switch {
	case err != nil:
		return "", err
	case m.ModifyAll(user), level == crm.Read && m.ViewAll(user):
		return "1 = 1", nil
	}
	return "r.owner_id = " + b.Add(user), nil
}

func (o owners) WhereOne(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level crm.Access, b *sqldb.Binds) (string, error) {
	return o.Where(ctx, tx, tenant, object, user, level, b)
}
