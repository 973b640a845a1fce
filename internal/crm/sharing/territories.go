package sharing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// How much there may be of territories.
const (
	MaxTerritories       = 1000   // of a tenant
	MaxTerritoryName     = 255    // characters of a name
	MaxTerritoryUsers    = 1000   // of a territory
	MaxTerritoryAccounts = 20_000 // of a territory
	MaxAccountTerritory  = 20     // territories of an account
)

// hierarchyChanged is the change of a territory itself.
const hierarchyChanged = "TerritoryHierarchyChanged"

// Territories are the territories of tenants, and the users and accounts assigned to them.
type Territories struct{ *service }

// Draft is what a caller says of a territory.
type Draft struct {
	Name     string
	ParentID string       // "": at the top
	Access   model.Access // "": Read
}

// readTree reads the territories of a tenant with their users.
func readTree(ctx context.Context, tx *sqldb.Tx, tenant string) (*Tree, error) {
	all, err := territories(ctx, tx, tenant, "ORDER BY id")
	if err != nil {
		return nil, err
	}
	users, err := sqldb.Collect(ctx, tx, scanMember,
		"SELECT user_id, territory_id FROM sharing_territory_user WHERE tenant_id = $1", tenant)
	return newTree(all, users), err
}

// territories are those of a tenant that the rest of a statement selects.
func territories(ctx context.Context, tx *sqldb.Tx, tenant, rest string, args ...any) ([]Territory, error) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (t Territory, err error) {
		err = row.Scan(&t.ID, &t.Name, &t.ParentID, &t.Access, &t.Version)
		return t, err
	}, "SELECT id, name, parent_id, access, version FROM sharing_territory WHERE tenant_id = $1 "+rest,
		append([]any{tenant}, args...)...)
}

// territory is one of them, with fault.NotFound when there is none.
func territory(ctx context.Context, tx *sqldb.Tx, tenant, id string) (t Territory, err error) {
	all, err := territories(ctx, tx, tenant, "AND id = $2", id)
	if err == nil && len(all) == 0 {
		err = fault.New(fault.NotFound, "TERRITORY_NOT_FOUND", "there is no territory %s", id)
	}
	if err != nil {
		return t, err
	}
	return all[0], nil
}

// TerritoryNames are the names of those of a tenant that have one of the ids.
func (*Territories) TerritoryNames(ctx context.Context, tx *sqldb.Tx, tenant string, ids []string) (
	map[string]string, error,
) {
	names := map[string]string{}
	if len(ids) == 0 {
		return names, nil
	}
	var b sqldb.Binds
	b.Add(tenant)
	all, err := territories(ctx, tx, tenant, "AND "+b.OneOf(tx, "id", ids), b.Args()[1:]...)
	for i := range all {
		names[all[i].ID] = all[i].Name
	}
	return names, err
}

// List are a page of a tenant's territories by id, and how many there are.
func (s *Territories) List(ctx context.Context, tenant string, offset, limit int) (
	page []Territory, total int, err error,
) {
	err = s.Read(ctx, "territories", func(ctx context.Context, tx *sqldb.Tx) error {
		page, err = territories(ctx, tx, tenant, "ORDER BY id LIMIT $2 OFFSET $3", limit, offset)
		if err != nil {
			return err
		}
		return tx.Row(ctx, "SELECT count(*) FROM sharing_territory WHERE tenant_id = $1", tenant).Scan(&total)
	})
	return page, total, err
}

// Get is one territory.
func (s *Territories) Get(ctx context.Context, tenant, id string) (t Territory, err error) {
	err = s.Read(ctx, "territory", func(ctx context.Context, tx *sqldb.Tx) error {
		t, err = territory(ctx, tx, tenant, id)
		return err
	})
	return t, err
}

// Put makes a territory what a draft says; created says that there was none. What changes
// nothing is not published.
func (s *Territories) Put(
	ctx context.Context,
	call kit.Caller,
	id string,
	d Draft,
) (t Territory, created bool, err error) {
	if err := checkDraft(id, &d); err != nil {
		return t, false, err
	}
	err = s.Write(ctx, "putTerritory", func(ctx context.Context, tx *sqldb.Tx) error {
		t, created, err = s.put(ctx, tx, call,
			Territory{ID: id, Name: d.Name, ParentID: d.ParentID, Access: d.Access})
		return err
	})
	return t, created, err
}

func (s *Territories) put(ctx context.Context, tx *sqldb.Tx, call kit.Caller, t Territory) (Territory, bool, error) {
	if _, _, err := holdTenant(ctx, tx, call.Tenant); err != nil {
		return t, false, err
	}
	tree, err := readTree(ctx, tx, call.Tenant)
	if err != nil {
		return t, false, err
	}
	before, had := tree.byID[t.ID]
	if t.Version = before.Version; had && t == before {
		return t, false, nil
	}
	if err := tree.check(t); err != nil {
		return t, false, err
	}
	version, err := s.publishChange(ctx, tx, call, t, events.TerritoryAssignmentChanged{ChangeType: hierarchyChanged})
	if err != nil {
		return t, false, err
	}
	t.Version = int64(version)
	_, err = tx.Exec(ctx, `INSERT INTO sharing_territory (tenant_id, id, name, parent_id, access, version)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant_id, id) DO UPDATE SET name = excluded.name,
			parent_id = excluded.parent_id, access = excluded.access, version = excluded.version`,
		call.Tenant, t.ID, t.Name, t.ParentID, t.Access, t.Version)
	if err != nil {
		return t, false, err
	}
	return t, !had, bump(ctx, tx, call.Tenant)
}

// checkDraft checks what can be seen without the other territories, and fills in the
// default.
func checkDraft(id string, d *Draft) error {
	if d.Access == "" {
		d.Access = model.Read
	}
	switch {
	case !model.ValidID(id):
		return invalid("id", "the id of a territory must be a UUID in lower case")
	case strings.TrimSpace(d.Name) == "" || utf8.RuneCountInString(d.Name) > MaxTerritoryName ||
		strings.ContainsFunc(d.Name, unicode.IsControl):
		return invalid("name", "name must have 1 to %d characters on one line", MaxTerritoryName)
	case d.ParentID != "" && !model.ValidID(d.ParentID):
		return invalid("parentTerritoryId", "parentTerritoryId must be a UUID in lower case")
	case d.Access != model.Read && d.Access != model.Edit:
		return invalid("access", "access must be Read or Edit")
	}
	return nil
}

// invalid is a fault that names what is wrong.
func invalid(field, format string, args ...any) error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).With(map[string]any{"field": field})
}

// Delete deletes a territory to which nothing belongs.
func (s *Territories) Delete(ctx context.Context, call kit.Caller, id string) error {
	return s.change(ctx, "deleteTerritory", call, id,
		func(ctx context.Context, tx *sqldb.Tx) (*events.TerritoryAssignmentChanged, error) {
			if err := unused(ctx, tx, call.Tenant, id); err != nil {
				return nil, err
			}
			_, err := tx.Exec(ctx, "DELETE FROM sharing_territory WHERE tenant_id = $1 AND id = $2", call.Tenant, id)
			return &events.TerritoryAssignmentChanged{ChangeType: hierarchyChanged}, err
		})
}

// unused refuses what is in use, and names by whom.
func unused(ctx context.Context, tx *sqldb.Tx, tenant, id string) error {
	for _, use := range []struct{ what, query string }{
		{
			"the territory %s is in it; move that one first",
			"SELECT id FROM sharing_territory WHERE tenant_id = $1 AND parent_id = $2 ORDER BY id LIMIT 1",
		},
		{
			"the user %s is assigned to it; unassign its users first",
			`SELECT user_id FROM sharing_territory_user WHERE tenant_id = $1 AND territory_id = $2
			ORDER BY user_id LIMIT 1`,
		},
		{
			"the account %s is assigned to it; unassign its accounts first",
			`SELECT account_id FROM sharing_territory_account WHERE tenant_id = $1 AND territory_id = $2
			ORDER BY account_id LIMIT 1`,
		},
	} {
		var by string
		switch err := tx.Row(ctx, use.query, tenant, id).Scan(&by); {
		case err == nil:
			return fault.New(
				fault.Conflict,
				"IN_USE",
				"the territory cannot be deleted: %s",
				fmt.Sprintf(use.what, by),
			)
		case !errors.Is(err, sqldb.ErrNoRow):
			return err
		}
	}
	return nil
}

// change changes a territory, which it locks with its tenant, and publishes the event that
// describes the change; nil: nothing was changed.
func (s *Territories) change(
	ctx context.Context, op string, call kit.Caller, id string,
	fn func(context.Context, *sqldb.Tx) (*events.TerritoryAssignmentChanged, error),
) error {
	return s.Write(ctx, op, func(ctx context.Context, tx *sqldb.Tx) error {
		if _, _, err := holdTenant(ctx, tx, call.Tenant); err != nil {
			return err
		}
		t, err := territory(ctx, tx, call.Tenant, id)
		if err != nil {
			return err
		}
		e, err := fn(ctx, tx)
		if err != nil || e == nil {
			return err
		}
		if _, err = s.publishChange(ctx, tx, call, t, *e); err != nil {
			return err
		}
		return bump(ctx, tx, call.Tenant)
	})
}

// publishChange publishes a change of a territory and gives its version.
func (s *Territories) publishChange(
	ctx context.Context, tx *sqldb.Tx, call kit.Caller, t Territory, e events.TerritoryAssignmentChanged,
) (canonical.Stamp, error) {
	return s.publish(ctx, tx, call, "Territory", t.ID, func(at canonical.Stamp) events.Payload {
		e.TerritoryID, e.TerritoryName, e.EffectiveAt = t.ID, t.Name, at
		return e
	})
}
