package records

import (
	"context"
	"errors"
	"strings"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
)

// InUse names a record that needs a definition, "" when none does: what a user or a queue
// owns, or what has a value in a custom field. It is for whoever deletes definitions.
func (s *Records) InUse(ctx context.Context, tx *sqldb.Tx, tenant string, kind crm.Kind, id string) (by string, err error) {
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return "", err
	}
	switch kind {
	case crm.KindUser, crm.KindGroup:
		for _, object := range m.Objects() {
			if by, err = oneOf(ctx, tx, object.Name, `SELECT id FROM records_record
				WHERE tenant_id = $1 AND object = $2 AND owner_id = $3 AND deleted_at = 0 LIMIT 1`, tenant, object.Name, id); by != "" || err != nil {
				break
			}
		}
	case crm.KindField:
		object, name, _ := strings.Cut(id, ".")
		if f := m.Field(object, name); f != nil && f.Type != crm.Boolean {
			var b sqldb.Binds
			value := (&builder{dialect: tx.Dialect(), binds: &b}).extract(f)
			query := "SELECT r.id FROM records_record r WHERE r.tenant_id = " + b.Add(tenant) + " AND r.object = " + b.Add(object) +
				" AND r.deleted_at = 0 AND " + value + " IS NOT NULL LIMIT 1"
			by, err = oneOf(ctx, tx, object, query, b.Args()...)
		}
	}
	return by, fault.Wrap("records.uses", err)
}

// oneOf is the record that a statement finds, as messages name it.
func oneOf(ctx context.Context, tx *sqldb.Tx, object, query string, args ...any) (string, error) {
	var id string
	switch err := tx.Row(ctx, query, args...).Scan(&id); {
	case errors.Is(err, sqldb.ErrNoRow):
		return "", nil
	case err != nil:
		return "", err
	}
	return object + " " + id, nil
}
