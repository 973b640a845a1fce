package sharing

import (
	"cmp"
	"context"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Assignment says what is assigned to territories.
type Assignment int

// The assignments.
const (
	Users Assignment = iota
	Accounts
)

// assignments is what differs between users and accounts.
var assignments = [...]struct {
	typ, assigned, unassigned string
	table, column             string
	most                      int
}{
	Users: {"User", "UserAssigned", "UserUnassigned", "sharing_territory_user", "user_id", MaxTerritoryUsers},
	Accounts: {
		"Account", "AccountAssigned", "AccountUnassigned", "sharing_territory_account", "account_id",
		MaxTerritoryAccounts,
	},
}

// Assigned is a page of what is assigned to a territory, by id, and how many there are.
func (s *Territories) Assigned(ctx context.Context, tenant, territoryID string, of Assignment, offset, limit int) (
	page []string, total int, err error,
) {
	a := &assignments[of]
	err = s.Read(ctx, "assigned", func(ctx context.Context, tx *sqldb.Tx) error {
		if _, err := territory(ctx, tx, tenant, territoryID); err != nil {
			return err
		}
		page, err = sqldb.Collect(ctx, tx, sqldb.Column[string], "SELECT "+a.column+" FROM "+a.table+
			" WHERE tenant_id = $1 AND territory_id = $2 ORDER BY "+a.column+" LIMIT $3 OFFSET $4",
			tenant, territoryID, limit, offset)
		if err != nil {
			return err
		}
		return tx.Row(ctx, "SELECT count(*) FROM "+a.table+" WHERE tenant_id = $1 AND territory_id = $2", tenant,
			territoryID).Scan(&total)
	})
	return page, total, err
}

// Assign assigns a user or an account to a territory; created says that it was not before.
func (s *Territories) Assign(ctx context.Context, call kit.Caller, territoryID string, of Assignment, id string) (
	created bool, err error,
) {
	a := &assignments[of]
	err = s.change(ctx, "assign", call, territoryID,
		func(ctx context.Context, tx *sqldb.Tx) (*events.TerritoryAssignmentChanged, error) {
			if err := s.assignable(ctx, tx, call.Tenant, of, id); err != nil {
				return nil, err
			}
			n, err := tx.Exec(ctx, "INSERT INTO "+a.table+" (tenant_id, territory_id, "+a.column+
				") VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", call.Tenant, territoryID, id)
			if created = n > 0; err != nil || !created {
				return nil, err
			}
			return changeOf(of, a.assigned, id), room(ctx, tx, call.Tenant, territoryID, of, id)
		})
	return created, err
}

// Unassign removes an assignment.
func (s *Territories) Unassign(
	ctx context.Context, call kit.Caller, territoryID string, of Assignment, id string,
) error {
	a := &assignments[of]
	return s.change(ctx, "unassign", call, territoryID,
		func(ctx context.Context, tx *sqldb.Tx) (*events.TerritoryAssignmentChanged, error) {
			n, err := tx.Exec(ctx, "DELETE FROM "+a.table+" WHERE tenant_id = $1 AND territory_id = $2 AND "+a.column+
				" = $3", call.Tenant, territoryID, id)
			if err == nil && n == 0 {
				err = fault.New(fault.NotFound, "ASSIGNMENT_NOT_FOUND", "%s is not assigned to the territory", id)
			}
			return changeOf(of, a.unassigned, id), err
		})
}

// changeOf describes a change of an assignment.
func changeOf(of Assignment, change, id string) *events.TerritoryAssignmentChanged {
	return &events.TerritoryAssignmentChanged{
		ChangeType: change, AssignmentType: events.OrNull(assignments[of].typ), AssignedID: events.OrNull(id),
	}
}

// unassignGone removes deleted accounts from their territories and publishes that, by
// territory, so that transactions which publish changes of territories cannot deadlock.
func (s *Territories) unassignGone(ctx context.Context, tx *sqldb.Tx, tenant string, gone []touched) error {
	type place struct{ territory, account string }
	calls := map[string]kit.Caller{}
	ids := make([]string, len(gone))
	for i := range gone {
		ids[i], calls[gone[i].id] = gone[i].id, gone[i].call
	}
	var b sqldb.Binds
	query := "DELETE FROM sharing_territory_account WHERE tenant_id = " + b.Add(tenant) + " AND " +
		b.OneOf(tx, "account_id", ids) + " RETURNING territory_id, account_id"
	places, err := sqldb.Collect(ctx, tx, func(row *sqldb.Row) (p place, err error) {
		err = row.Scan(&p.territory, &p.account)
		return p, err
	}, query, b.Args()...)
	if err != nil {
		return err
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.territory, b.territory), cmp.Compare(a.account, b.account))
	})
	for _, p := range places {
		t, err := territory(ctx, tx, tenant, p.territory)
		if fault.KindOf(err) == fault.NotFound {
			continue // it was deleted itself, which was published
		}
		if err == nil {
			_, err = s.publishChange(ctx, tx, calls[p.account], t,
				*changeOf(Accounts, assignments[Accounts].unassigned, p.account))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// assignable refuses what does not exist.
func (s *Territories) assignable(ctx context.Context, tx *sqldb.Tx, tenant string, of Assignment, id string) error {
	if of == Accounts {
		r, ok, err := s.cfg.Records.Get(ctx, tx, tenant, accountObject, id)
		if err == nil && (!ok || r.Deleted) {
			err = fault.New(fault.NotFound, "RECORD_NOT_FOUND", "there is no account %s", id)
		}
		return err
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err == nil && m.User(id) == nil {
		err = noUser(id)
	}
	return err
}

func noUser(id string) error {
	return fault.New(fault.NotFound, "DEFINITION_NOT_FOUND", "there is no user %s", id)
}

// room refuses more than there may be of a territory, or of the territories of an account.
func room(ctx context.Context, tx *sqldb.Tx, tenant, territoryID string, of Assignment, id string) error {
	a := &assignments[of]
	var n int
	if err := tx.Row(ctx, "SELECT count(*) FROM "+a.table+" WHERE tenant_id = $1 AND territory_id = $2", tenant,
		territoryID).Scan(&n); err != nil {
		return err
	}
	if n > a.most {
		return invalid("id", "a territory has at most %d of them assigned", a.most)
	}
	if of != Accounts {
		return nil
	}
	err := tx.Row(ctx, "SELECT count(*) FROM sharing_territory_account WHERE tenant_id = $1 AND account_id = $2",
		tenant, id).Scan(&n)
	if err == nil && n > MaxAccountTerritory {
		err = invalid("id", "an account is in at most %d territories", MaxAccountTerritory)
	}
	return err
}
