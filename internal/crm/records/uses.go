package records

import (
	"context"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// InUse counts the living records that need a definition, by object: what a user or a
// queue owns, or what has a value in a custom field. It is for whoever deletes definitions.
func (s *Records) InUse(ctx context.Context, tx *sqldb.Tx, tenant string, kind model.Kind, id string) (
	uses []model.Use, err error,
) {
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return nil, err
	}
	switch kind {
	case model.KindUser, model.KindGroup:
		for _, o := range m.Objects() {
			var b sqldb.Binds
			if uses, err = countUses(ctx, tx, uses, tenant, o.Name, "r.owner_id = "+b.Add(id), &b); err != nil {
				break
			}
		}
	case model.KindField:
		object, name, _ := strings.Cut(id, ".")
		if f := m.Field(object, name); f != nil && f.Type != model.Boolean {
			var b sqldb.Binds
			uses, err = countUses(ctx, tx, nil, tenant, object, s.sql.value(&b, f)+" IS NOT NULL", &b)
		}
	}
	return uses, fault.Wrap("records.uses", err)
}

// countUses adds the records of an object that a condition is true of, if there are any.
func countUses(ctx context.Context, tx *sqldb.Tx, to []model.Use, tenant, object, where string, b *sqldb.Binds) (
	[]model.Use, error,
) {
	u := model.Use{Object: object}
	query := "SELECT count(*), coalesce(min(r.id), '') FROM " + living(b, tenant, object) + " AND " + where
	if err := tx.Row(ctx, query, b.Args()...).Scan(&u.Count, &u.ID); err != nil || u.Count == 0 {
		return to, err
	}
	return append(to, u), nil
}
