package sharing

import (
	"cmp"
	"context"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Assignment says what is assigned to territories.
type Assignment int

// The assignments.
const (
	Users Assignment = iota
	Accounts
)

// hierarchyChanged is the change of a territory itself.
const hierarchyChanged = "TerritoryHierarchyChanged"

// assignments is what differs between users and accounts.
var assignments = [...]struct {
	typ, assigned, unassigned, code string
	table, column                   string
	most                            int
}{
	Users: {
		"User", "UserAssigned", "UserUnassigned", "DEFINITION_NOT_FOUND", "sharing_territory_user", "user_id",
		MaxTerritoryUsers,
	},
	Accounts: {
		"Account", "AccountAssigned", "AccountUnassigned", "RECORD_NOT_FOUND", "sharing_territory_account",
		"account_id", MaxTerritoryAccounts,
	},
}

// Assigned is a page of what is assigned to a territory, by id, and how many there are.
func (s *Sharing) Assigned(ctx context.Context, tenant, territoryID string, of Assignment, offset, limit int) (
	page []string, total int, err error,
) {
	a := &assignments[of]
	err = s.read(ctx, "sharing.assigned", func(ctx context.Context, tx *sqldb.Tx) error {
		page = nil
		if _, err := territory(ctx, tx, tenant, territoryID); err != nil {
			return err
		}
		for row, err := range tx.Query(ctx, "SELECT "+a.column+" FROM "+a.table+
			" WHERE tenant_id = $1 AND territory_id = $2 ORDER BY "+a.column+" LIMIT $3 OFFSET $4",
			tenant, territoryID, limit, offset) {
			if err != nil {
				return err
			}
			var id string
			if err := row.Scan(&id); err != nil {
				return err
			}
			page = append(page, id)
		}
		return tx.Row(ctx, "SELECT count(*) FROM "+a.table+" WHERE tenant_id = $1 AND territory_id = $2", tenant,
			territoryID).Scan(&total)
	})
	return page, total, err
}

// Assign assigns a user or an account to a territory; created says that it was not
// before.
func (s *Sharing) Assign(ctx context.Context, call Caller, territoryID string, of Assignment, id string) (
	created bool, err error,
) {
	a := &assignments[of]
	err = s.write(ctx, "sharing.assign", func(ctx context.Context, tx *sqldb.Tx) error {
		created = false
		if _, _, err := holdTenant(ctx, tx, call.Tenant); err != nil {
			return err
		}
		t, err := territory(ctx, tx, call.Tenant, territoryID)
		if err != nil {
			return err
		}
		if err := s.assignable(ctx, tx, call.Tenant, of, id); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "INSERT INTO "+a.table+" (tenant_id, territory_id, "+a.column+
			") VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
			call.Tenant, territoryID, id)
		if err != nil || n == 0 {
			return err
		}
		created = true
		if err := s.room(ctx, tx, call.Tenant, territoryID, of, id); err != nil {
			return err
		}
		return s.assigned(ctx, tx, call, t, a.assigned, a.typ, id)
	})
	return created, err
}

// Unassign takes an assignment back.
func (s *Sharing) Unassign(ctx context.Context, call Caller, territoryID string, of Assignment, id string) error {
	a := &assignments[of]
	return s.write(ctx, "sharing.unassign", func(ctx context.Context, tx *sqldb.Tx) error {
		if _, _, err := holdTenant(ctx, tx, call.Tenant); err != nil {
			return err
		}
		t, err := territory(ctx, tx, call.Tenant, territoryID)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM "+a.table+" WHERE tenant_id = $1 AND territory_id = $2 AND "+a.column+
			" = $3", call.Tenant, territoryID, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.NotFound, "ASSIGNMENT_NOT_FOUND", "%s is not assigned to the territory", id)
		}
		return s.assigned(ctx, tx, call, t, a.unassigned, a.typ, id)
	})
}

// unassignGone takes accounts that are gone out of their territories, and announces it, by
// territory: others who announce changes of territories then never wait in a circle.
func (s *Sharing) unassignGone(ctx context.Context, tx *sqldb.Tx, tenant string, gone []touched) error {
	type place struct{ territory, account string }
	var places []place
	calls := map[string]Caller{}
	ids := make([]string, len(gone))
	for i := range gone {
		ids[i], calls[gone[i].id] = gone[i].id, gone[i].call
	}
	var b sqldb.Binds
	query := "DELETE FROM sharing_territory_account WHERE tenant_id = " + b.Add(tenant) + " AND " +
		b.OneOf(tx, "account_id", ids) + " RETURNING territory_id, account_id"
	for row, err := range tx.Query(ctx, query, b.Args()...) {
		var p place
		if err == nil {
			err = row.Scan(&p.territory, &p.account)
		}
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.territory, b.territory), cmp.Compare(a.account, b.account))
	})
	a := &assignments[Accounts]
	for _, p := range places {
		t, err := territory(ctx, tx, tenant, p.territory)
		switch {
		case fault.KindOf(err) == fault.NotFound:
			continue // it is gone itself, which was announced
		case err == nil:
			_, err = s.announceTerritory(ctx, tx, calls[p.account], t, wire.TerritoryAssignmentChanged{
				ChangeType: a.unassigned, AssignmentType: wire.OrNull(a.typ), AssignedID: wire.OrNull(p.account),
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// assigned counts and announces a change of an assignment.
func (s *Sharing) assigned(ctx context.Context, tx *sqldb.Tx, call Caller, t Territory, change, typ, id string) error {
	_, err := s.announceTerritory(ctx, tx, call, t, wire.TerritoryAssignmentChanged{
		ChangeType: change, AssignmentType: wire.OrNull(typ), AssignedID: wire.OrNull(id),
	})
	if err != nil {
		return err
	}
	return bump(ctx, tx, call.Tenant)
}

// assignable refuses what does not exist.
func (s *Sharing) assignable(ctx context.Context, tx *sqldb.Tx, tenant string, of Assignment, id string) error {
	if of == Accounts {
		r, ok, err := s.cfg.Records.Get(ctx, tx, tenant, accountObject, id)
		if err == nil && (!ok || r.Deleted) {
			err = fault.New(fault.NotFound, assignments[of].code, "there is no account %s", id)
		}
		return err
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err == nil && m.User(id) == nil {
		err = fault.New(fault.NotFound, assignments[of].code, "there is no user %s", id)
	}
	return err
}

// room refuses more than there may be of a territory, or of the territories of an account.
func (s *Sharing) room(ctx context.Context, tx *sqldb.Tx, tenant, territoryID string, of Assignment, id string) error {
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
	if err := tx.Row(ctx, "SELECT count(*) FROM sharing_territory_account WHERE tenant_id = $1 AND account_id = $2",
		tenant, id).Scan(&n); err != nil {
		return err
	}
	if n > MaxAccountTerritory {
		return invalid("id", "an account is in at most %d territories", MaxAccountTerritory)
	}
	return nil
}

// announceTerritory publishes a change of a territory and gives its version.
func (s *Sharing) announceTerritory(ctx context.Context, tx *sqldb.Tx, call Caller, t Territory,
	e wire.TerritoryAssignmentChanged,
) (wire.Stamp, error) {
	key := wire.RecordKey("Territory", call.Tenant, t.ID)
	version, err := s.bus.NextVersion(ctx, tx, key)
	if err != nil {
		return 0, err
	}
	if e.EffectiveAt, err = s.now(ctx, tx); err != nil {
		return 0, err
	}
	e.TerritoryID, e.TerritoryName = t.ID, t.Name
	return version, s.publish(ctx, tx, call, key, version, e)
}

// service names what is published here, as the document of the events does.
const service = "sharing-service"

// publish announces an event of a key.
func (s *Sharing) publish(ctx context.Context, tx *sqldb.Tx, call Caller, key string, version wire.Stamp,
	p wire.Payload,
) error {
	body, err := wire.NewPayload(p)
	if err != nil {
		return err
	}
	return s.bus.Publish(ctx, tx, wire.Event{
		Type: p.EventType(), Tenant: call.Tenant, Producer: wire.Producer{Service: service},
		CorrelationID: call.CorrelationID, Key: key, Version: version, Payload: body,
	})
}
