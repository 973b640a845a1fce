package sharing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// How much there may be of territories.
const (
	MaxTerritories       = 1000   // of a tenant
	MaxTerritoryName     = 255    // characters of a name
	MaxTerritoryUsers    = 1000   // of a territory
	MaxTerritoryAccounts = 20_000 // of a territory
	MaxAccountTerritory  = 20     // territories of an account
)

const codeTerritory = "TERRITORY_NOT_FOUND"

// Caller is on whose behalf something is changed, and how its traces are named.
type Caller struct {
	Tenant        string
	CorrelationID string
}

// Draft is what a caller says of a territory.
type Draft struct {
	Name     string
	ParentID string       // "": at the top
	Access   model.Access // "": Read
}

// readTree reads the territories of a tenant with their users.
func readTree(ctx context.Context, tx *sqldb.Tx, tenant string) (*Tree, error) {
	all, err := territories(ctx, tx, "SELECT "+territoryColumns+
		" FROM sharing_territory WHERE tenant_id = $1 ORDER BY id", tenant)
	if err != nil {
		return nil, err
	}
	var users []Member
	for row, err := range tx.Query(ctx, "SELECT user_id, territory_id FROM sharing_territory_user WHERE tenant_id = "+
		"$1 ORDER BY territory_id, user_id", tenant) {
		if err != nil {
			return nil, err
		}
		var m Member
		if err := row.Scan(&m.User, &m.Principal); err != nil {
			return nil, err
		}
		users = append(users, m)
	}
	return newTree(all, users), nil
}

const territoryColumns = "id, name, parent_id, access, version"

// territories are those that a statement selects.
func territories(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (all []Territory, err error) {
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return nil, err
		}
		var t Territory
		if err := row.Scan(&t.ID, &t.Name, &t.ParentID, &t.Access, &t.Version); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// territoriesOf are the territories that an account is in, by id.
func territoriesOf(ctx context.Context, tx *sqldb.Tx, tenant, account string) ([]Territory, error) {
	return territories(ctx, tx, `SELECT t.id, t.name, t.parent_id, t.access, t.version
		FROM sharing_territory_account a JOIN sharing_territory t ON t.tenant_id = a.tenant_id AND t.id = a.territory_id
		WHERE a.tenant_id = $1 AND a.account_id = $2 ORDER BY t.id`, tenant, account)
}

// territory is one of them, with fault.NotFound when there is none.
func territory(ctx context.Context, tx *sqldb.Tx, tenant, id string) (t Territory, err error) {
	all, err := territories(ctx, tx, "SELECT "+territoryColumns+
		" FROM sharing_territory WHERE tenant_id = $1 AND id = $2", tenant, id)
	if err == nil && len(all) == 0 {
		err = fault.New(fault.NotFound, codeTerritory, "there is no territory %s", id)
	}
	if err != nil {
		return t, err
	}
	return all[0], nil
}

// Territories are a page of a tenant's territories by id, and how many there are.
func (s *Sharing) Territories(ctx context.Context, tenant string, offset, limit int) (
	page []Territory, total int, err error,
) {
	err = s.read(ctx, "sharing.territories", func(ctx context.Context, tx *sqldb.Tx) error {
		page, err = territories(ctx, tx, "SELECT "+territoryColumns+
			" FROM sharing_territory WHERE tenant_id = $1 ORDER BY id LIMIT $2 OFFSET $3", tenant, limit, offset)
		if err != nil {
			return err
		}
		return tx.Row(ctx, "SELECT count(*) FROM sharing_territory WHERE tenant_id = $1", tenant).Scan(&total)
	})
	return page, total, err
}

// Territory is one territory.
func (s *Sharing) Territory(ctx context.Context, tenant, id string) (t Territory, err error) {
	err = s.read(ctx, "sharing.territory", func(ctx context.Context, tx *sqldb.Tx) error {
		t, err = territory(ctx, tx, tenant, id)
		return err
	})
	return t, err
}

// PutTerritory makes a territory what a draft says; created says that there was none. What
// changes nothing is not announced.
func (s *Sharing) PutTerritory(ctx context.Context, call Caller, id string, d Draft) (
	t Territory, created bool, err error,
) {
	if err := checkDraft(id, &d); err != nil {
		return t, false, err
	}
	err = s.write(ctx, "sharing.putTerritory", func(ctx context.Context, tx *sqldb.Tx) error {
		t, created, err = s.putTerritory(ctx, tx, call, Territory{
			ID: id, Name: d.Name, ParentID: d.ParentID,
			Access: d.Access,
		})
		return err
	})
	return t, created, err
}

func (s *Sharing) putTerritory(ctx context.Context, tx *sqldb.Tx, call Caller, t Territory) (Territory, bool, error) {
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
	if err := tree.admit(t, had); err != nil {
		return t, false, err
	}
	version, err := s.announceTerritory(ctx, tx, call, t, wire.TerritoryAssignmentChanged{ChangeType: hierarchyChanged})
	if err != nil {
		return t, false, err
	}
	t.Version = int64(version)
	_, err = tx.Exec(ctx, `INSERT INTO sharing_territory (tenant_id, id, name, parent_id, access, version) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant_id, id) DO UPDATE SET name = excluded.name, parent_id = excluded.parent_id, access = excluded.access, version = excluded.version`,
		call.Tenant, t.ID, t.Name, t.ParentID, string(t.Access), t.Version)
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
	return fault.New(fault.Invalid, wire.CodeInvalid, format, args...).With(map[string]any{"field": field})
}

// admit reports why a territory cannot be among the others.
func (t *Tree) admit(one Territory, had bool) error {
	if _, ok := t.byID[one.ParentID]; one.ParentID != "" && one.ParentID != one.ID && !ok {
		return invalid("parentTerritoryId", "there is no territory %s; make it first", one.ParentID)
	}
	if !had && len(t.byID) >= MaxTerritories {
		return invalid("id", "a tenant has at most %d territories", MaxTerritories)
	}
	before, ok := t.byID[one.ID]
	t.byID[one.ID] = one
	way, circle := t.path(one.ID)
	if delete(t.byID, one.ID); ok {
		t.byID[one.ID] = before
	}
	if circle {
		return invalid("parentTerritoryId", "the territories would be above themselves: %s",
			strings.Join(way, " is in "))
	}
	return nil
}

// DeleteTerritory deletes a territory that nothing is in.
func (s *Sharing) DeleteTerritory(ctx context.Context, call Caller, id string) error {
	return s.write(ctx, "sharing.deleteTerritory", func(ctx context.Context, tx *sqldb.Tx) error {
		if _, _, err := holdTenant(ctx, tx, call.Tenant); err != nil {
			return err
		}
		t, err := territory(ctx, tx, call.Tenant, id)
		if err != nil {
			return err
		}
		if err := unused(ctx, tx, call.Tenant, id); err != nil {
			return err
		}
		if _, err := s.announceTerritory(ctx, tx, call, t, wire.TerritoryAssignmentChanged{
			ChangeType: hierarchyChanged,
		}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM sharing_territory WHERE tenant_id = $1 AND id = $2", call.Tenant,
			id); err != nil {
			return err
		}
		return bump(ctx, tx, call.Tenant)
	})
}

// unused refuses what is in use, and names by whom.
func unused(ctx context.Context, tx *sqldb.Tx, tenant, id string) error {
	for _, use := range []struct{ what, query string }{
		{
			"the territory %s is in it; move that one first",
			"SELECT id FROM sharing_territory WHERE tenant_id = $1 AND parent_id = $2 ORDER BY id LIMIT 1",
		},
		{"the user %s is assigned to it; unassign its users first", "SELECT user_id FROM sharing_territory_user " +
			"WHERE tenant_id = $1 AND territory_id = $2 ORDER BY user_id LIMIT 1"},
		{"the account %s is assigned to it; unassign its accounts first", "SELECT account_id FROM " +
			"sharing_territory_account WHERE tenant_id = $1 AND territory_id = $2 ORDER BY account_id LIMIT 1"},
	} {
		var by string
		switch err := tx.Row(ctx, use.query, tenant, id).Scan(&by); {
		case err == nil:
			return fault.New(fault.Conflict, "IN_USE", "%s", fmt.Sprintf("the territory cannot be deleted: "+use.what,
				by))
		case !errors.Is(err, sqldb.ErrNoRow):
			return err
		}
	}
	return nil
}
