package sharing

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Kinds of who has access beside the principals.
const (
	everybodyKind = "everybody"
	setKind       = "permissionSet"
	systemSet     = "system" // what the system user may
)

// Grantee is who has access.
type Grantee struct {
	Kind string `json:"type"` // user, role, subordinates, group, territory, everybody or permissionSet
	ID   string `json:"id,omitzero"`
}

func (g Grantee) principal() string { return principal(g.Kind, g.ID) }

func (g Grantee) compare(h Grantee) int {
	return cmp.Or(cmp.Compare(g.Kind, h.Kind), cmp.Compare(g.ID, h.ID))
}

// Grant is access to one record, with its cause.
type Grant struct {
	Cause   string  `json:"cause"`
	CauseID string  `json:"id,omitzero"`
	Level   Level   `json:"access"`
	To      Grantee `json:"via"`
}

// Access is the access of a user to a record, or of a grantee.
type Access struct {
	Grantee Grantee `json:"grantee"`
	Level   Level   `json:"access"`
	Why     []Grant `json:"why"` // the strongest first
}

// Ask is a question for the access to a record.
type Ask struct {
	Tenant, Subject string // who asks; a record that it cannot read does not exist for it
	Object, ID      string
	User            string // of whom; "": all
}

// Explain says who has which access to a record, and why: one user, or all grantees.
func (s *Sharing) Explain(ctx context.Context, ask Ask) (all []Access, err error) {
	err = s.Read(ctx, "explain", func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := s.cfg.Models.Model(ctx, tx, ask.Tenant)
		if err != nil {
			return err
		}
		if m.Object(ask.Object) == nil {
			return noObject(m, ask.Object)
		}
		r, err := s.readable(ctx, tx, m, &ask)
		if err != nil {
			return err
		}
		if ask.User != "" && m.User(ask.User) == nil {
			return noUser(ask.User)
		}
		grants, err := s.grants(ctx, tx, m, r)
		if err != nil {
			return err
		}
		if ask.User == "" {
			all = byGrantee(grants)
			return nil
		}
		own, err := principalsOf(ctx, tx, m, ask.User)
		if err != nil {
			return err
		}
		all = []Access{accessOf(ask.User, own, grants)}
		return nil
	})
	return all, err
}

// readable is the record, if the one who asks may read it.
func (s *Sharing) readable(ctx context.Context, tx *sqldb.Tx, m *model.Model, ask *Ask) (*model.Record, error) {
	who, err := s.cfg.Models.Who(ctx, tx, ask.Tenant, ask.Subject)
	if err != nil {
		return nil, err
	}
	if !m.Can(who.ID, ask.Object, model.ReadOp) {
		return nil, fault.New(fault.Forbidden, "ACCESS_DENIED",
			"no permission set of the user %s lets it read records of %s", who.ID, ask.Object)
	}
	var b sqldb.Binds
	of := s.cfg.Records.Living("r", b.Add(ask.Tenant), b.Add(ask.Object)) + " AND r.id = " + b.Add(ask.ID)
	where, err := s.WhereOne(ctx, tx, ask.Tenant, ask.Object, who.ID, model.Read, &b)
	if err != nil {
		return nil, err
	}
	var n int
	if err := tx.Row(ctx, "SELECT count(*) FROM "+of+" AND ("+where+")", b.Args()...).Scan(&n); err != nil {
		return nil, err
	}
	r, ok, err := s.cfg.Records.Get(ctx, tx, ask.Tenant, ask.Object, ask.ID)
	if err == nil && (n == 0 || !ok) {
		err = fault.New(fault.NotFound, "RECORD_NOT_FOUND", "there is no %s %s", ask.Object, ask.ID)
	}
	return &r, err
}

// grants are all that give access to a record.
func (s *Sharing) grants(ctx context.Context, tx *sqldb.Tx, m *model.Model, r *model.Record) ([]Grant, error) {
	active, err := activeOr(ctx, tx, m, r.Object)
	if err != nil {
		return nil, err
	}
	all := []Grant{{CauseAll, systemSet, Full, Grantee{setKind, systemSet}}}
	if level := levelOf(active.OWD.Access()); level > None {
		all = append(all, Grant{CauseDefault, r.Object, level, Grantee{Kind: everybodyKind}})
	}
	for _, v := range m.All(model.KindPermissionSet) {
		switch set := v.(*model.PermissionSet); {
		case set.ModifyAll:
			all = append(all, Grant{CauseAll, set.ID, Full, Grantee{setKind, set.ID}})
		case set.ViewAll:
			all = append(all, Grant{CauseAll, set.ID, Read, Grantee{setKind, set.ID}})
		}
	}
	if m.User(r.OwnerID) != nil { // else a queue, which is reached
		all = append(all, Grant{CauseOwner, "", Full, Grantee{userKind, r.OwnerID}})
	}
	stored, err := storedGrants(ctx, tx, m.Tenant, r, active.num, "model IN (0, $3)", "")
	if err != nil {
		return nil, err
	}
	passed, err := s.passedOn(ctx, tx, m, r)
	return slices.Concat(all, stored, passed), err
}

// passedOn is what the account of a record passes on to it.
func (s *Sharing) passedOn(ctx context.Context, tx *sqldb.Tx, m *model.Model, r *model.Record) ([]Grant, error) {
	if r.AccountID == "" || !slices.Contains(accountChildren, r.Object) {
		return nil, nil
	}
	account, ok, err := s.cfg.Records.Get(ctx, tx, m.Tenant, accountObject, r.AccountID)
	if err != nil || !ok || account.Deleted {
		return nil, err
	}
	active, err := activeOr(ctx, tx, m, accountObject)
	if err != nil {
		return nil, err
	}
	all, err := storedGrants(ctx, tx, m.Tenant, &account, active.num, "model = 0 AND cause = 'queue'",
		" AND cause <> 'rule'")
	if m.User(account.OwnerID) != nil {
		all = append(all, Grant{To: Grantee{userKind, account.OwnerID}})
	}
	for i := range all {
		all[i].Level, all[i].Cause, all[i].CauseID = Read, CauseAccount, account.ID
	}
	return all, err
}

// storedGrants are the grants to a record that sharing_reach and sharing_share hold for a model, under a
// condition on each.
func storedGrants(
	ctx context.Context,
	tx *sqldb.Tx,
	tenant string,
	r *model.Record,
	num int64,
	reach, share string,
) ([]Grant, error) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (g Grant, err error) {
		var to string
		err = row.Scan(&to, &g.Level, &g.Cause, &g.CauseID)
		g.To.Kind, g.To.ID, _ = strings.Cut(to, ":")
		return g, err
	}, `SELECT principal, level, cause, cause_id FROM sharing_reach
		WHERE tenant_id = $1 AND owner_id = $2 AND `+reach+`
		UNION ALL SELECT grantee, level, cause, cause_id FROM sharing_share
		WHERE tenant_id = $1 AND model = $3 AND record_id = $4`+share, tenant, r.OwnerID, num, r.ID)
}

// principalsOf are the principals of a user, everybody and its permission sets among them.
func principalsOf(ctx context.Context, tx *sqldb.Tx, m *model.Model, user string) (map[string]bool, error) {
	u, own := m.User(user), map[string]bool{}
	if !u.IsActive {
		return own, nil
	}
	own[principal(everybodyKind, "")] = true
	own[principal(userKind, user)] = true
	own[principal(setKind, systemSet)] = m.IsSystem(user)
	for _, id := range u.PermissionSetIDs {
		own[principal(setKind, id)] = true
	}
	stored, err := sqldb.Collect(ctx, tx, sqldb.Column[string],
		"SELECT principal FROM sharing_principal WHERE tenant_id = $1 AND user_id = $2", m.Tenant, user)
	for _, p := range stored {
		own[p] = true
	}
	return own, err
}

// accessOf is what grants give to a user that has some principals.
func accessOf(user string, own map[string]bool, grants []Grant) Access {
	a := Access{Grantee: Grantee{userKind, user}, Why: []Grant{}}
	for _, g := range grants {
		if own[g.To.principal()] {
			a.Why = append(a.Why, g)
		}
	}
	a.settle()
	return a
}

// byGrantee groups grants by whom they are given to.
func byGrantee(grants []Grant) []Access {
	by, all := map[Grantee][]Grant{}, []Access{}
	for _, g := range grants {
		by[g.To] = append(by[g.To], g)
	}
	for to, why := range by {
		a := Access{Grantee: to, Why: why}
		a.settle()
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Access) int { return a.Grantee.compare(b.Grantee) })
	return all
}

// settle puts the reasons in order; the first one says what the access is.
func (a *Access) settle() {
	slices.SortFunc(a.Why, func(g, h Grant) int {
		return cmp.Or(cmp.Compare(h.Level, g.Level), cmp.Compare(g.Cause, h.Cause), g.To.compare(h.To),
			cmp.Compare(g.CauseID, h.CauseID))
	})
	a.Why = slices.Compact(a.Why)
	if len(a.Why) > 0 {
		a.Level = a.Why[0].Level
	}
}
