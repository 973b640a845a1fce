package app

import (
	"context"

	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// people adds to a principal what the tenant's metadata say of the user: its id and subject, its role and its groups,
// each by id and by name. Nobody, and somebody who is not active, has none of these.
func (a *App) people(ctx context.Context, tenant, subject string, p *flow.Principal) error {
	return a.DB.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := a.models.Model(ctx, tx, tenant)
		if err != nil {
			return err
		}
		u := m.Who(subject)
		if u == nil || !u.IsActive {
			return nil
		}
		p.Users = append(p.Users, u.ID, u.Subject)
		if role := m.Role(u.RoleID); role != nil {
			p.Roles = append(p.Roles[:len(p.Roles):len(p.Roles)], role.ID, role.Name)
		}
		for _, id := range m.GroupsOf(u.ID) {
			p.Groups = append(p.Groups[:len(p.Groups):len(p.Groups)], id, m.Group(id).Name)
		}
		return nil
	})
}

// person is the user of the tenant's metadata that a subject is, if there is one and it is active.
func (a *App) person(ctx context.Context, tenant, subject string) (p httpapi.Person, err error) {
	err = a.DB.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := a.models.Model(ctx, tx, tenant)
		if err != nil {
			return err
		}
		if u := m.Who(subject); u != nil && u.IsActive {
			p = httpapi.Person{ID: u.ID, Name: u.Name}
		}
		return nil
	})
	return p, err
}
