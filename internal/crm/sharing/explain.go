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

// Grant is access of somebody to one record, with its cause.
type Grant struct {
	Kind, ID       string // of whom it is given to
	Level          Level
	Cause, CauseID string
}

// Access is what one has on a record: a user, or whoever grants name.
type Access struct {
	Kind, ID string // Kind is user, role, subordinates, group, territory, everybody or permissionSet
	Level    Level
	Why      []Grant // the strongest first
}

// Ask is a question for the access to a record.
type Ask struct {
	Tenant, Subject string // who asks; a record that it cannot read does not exist for it
	Object, ID      string
	User            string // of whom; "": all
}

// Explain says who has which access to a record, and why: of one user, or to whom it is
// given.
func (s *Sharing) Explain(ctx context.Context, ask Ask) (all []Access, err error) {
	err = s.read(ctx, "sharing.explain", func(ctx context.Context, tx *sqldb.Tx) error {
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
			return fault.New(fault.NotFound, "DEFINITION_NOT_FOUND", "there is no user %s", ask.User)
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
	active, err := activeModel(ctx, tx, m.Tenant, r.Object)
	if err != nil {
		return nil, err
	}
	if active == nil {
		active = &Model{Setup: setupOf(m, r.Object)}
	}
	var all []Grant
	if level := levelOf(active.Setup.OWD.Access()); level > None {
		all = append(all, Grant{Kind: everybodyKind, Level: level, Cause: CauseDefault, CauseID: r.Object})
	}
	all = append(all, Grant{setKind, systemSet, Full, CauseAll, systemSet})
	for _, v := range m.All(model.KindPermissionSet) {
		switch set := v.(*model.PermissionSet); {
		case set.ModifyAll:
			all = append(all, Grant{setKind, set.ID, Full, CauseAll, set.ID})
		case set.ViewAll:
			all = append(all, Grant{setKind, set.ID, Read, CauseAll, set.ID})
		}
	}
	if m.User(r.OwnerID) != nil { // else a queue, which is reached
		all = append(all, Grant{Kind: userKind, ID: r.OwnerID, Level: Full, Cause: CauseOwner})
	}
	reached, err := grantsIn(ctx, tx, `SELECT principal, level, cause, cause_id FROM sharing_reach
		WHERE tenant_id = $1 AND owner_id = $2 AND model IN (0, $3)`, m.Tenant, r.OwnerID, active.num)
	if err != nil {
		return nil, err
	}
	shared, err := grantsIn(ctx, tx, "SELECT grantee, level, cause, cause_id FROM sharing_share WHERE tenant_id = $1 "+
		"AND model = $2 AND record_id = $3",
		m.Tenant, active.num, r.ID)
	if err != nil {
		return nil, err
	}
	passed, err := s.passedOn(ctx, tx, m, r)
	return slices.Concat(all, reached, shared, passed), err
}

// passedOn is what the account of a record passes on to it.
func (s *Sharing) passedOn(ctx context.Context, tx *sqldb.Tx, m *model.Model, r *model.Record) ([]Grant, error) {
	tenant := m.Tenant
	if r.AccountID == "" || !slices.Contains(accountChildren, r.Object) {
		return nil, nil
	}
	account, ok, err := s.cfg.Records.Get(ctx, tx, tenant, accountObject, r.AccountID)
	if err != nil || !ok || account.Deleted {
		return nil, err
	}
	all, err := grantsIn(ctx, tx, "SELECT principal, level, cause, cause_id FROM sharing_reach WHERE tenant_id = $1 "+
		"AND owner_id = $2 AND model = 0 AND cause = 'queue'",
		tenant, account.OwnerID)
	if err != nil {
		return nil, err
	}
	active, err := activeModel(ctx, tx, tenant, accountObject)
	if err != nil {
		return nil, err
	}
	if active != nil {
		shared, err := grantsIn(ctx, tx, `SELECT grantee, level, cause, cause_id FROM sharing_share
			WHERE tenant_id = $1 AND model = $2 AND record_id = $3 AND cause <> 'rule'`, tenant, active.num, account.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, shared...)
	}
	if m.User(account.OwnerID) != nil {
		all = append(all, Grant{Kind: userKind, ID: account.OwnerID})
	}
	for i := range all {
		all[i].Level, all[i].Cause, all[i].CauseID = Read, CauseAccount, account.ID
	}
	return all, nil
}

// grantsIn are the grants that a statement selects.
func grantsIn(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (all []Grant, err error) {
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return nil, err
		}
		var to string
		var level int64
		var g Grant
		if err := row.Scan(&to, &level, &g.Cause, &g.CauseID); err != nil {
			return nil, err
		}
		g.Kind, g.ID, _ = strings.Cut(to, ":")
		g.Level = Level(level)
		all = append(all, g)
	}
	return all, nil
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
	for row, err := range tx.Query(ctx, "SELECT principal FROM sharing_principal WHERE tenant_id = $1 AND user_id = $2",
		m.Tenant, user) {
		if err != nil {
			return nil, err
		}
		var p string
		if err := row.Scan(&p); err != nil {
			return nil, err
		}
		own[p] = true
	}
	return own, nil
}

// accessOf is what grants give to a user that has some principals.
func accessOf(user string, own map[string]bool, grants []Grant) Access {
	a := Access{Kind: userKind, ID: user, Why: []Grant{}}
	for _, g := range grants {
		if own[principal(g.Kind, g.ID)] {
			a.Why = append(a.Why, g)
		}
	}
	a.settle()
	return a
}

// byGrantee puts grants together by whom they are given to.
func byGrantee(grants []Grant) []Access {
	by, all := map[string]*Access{}, []Access{}
	for _, g := range grants {
		key := principal(g.Kind, g.ID)
		if by[key] == nil {
			by[key] = &Access{Kind: g.Kind, ID: g.ID}
		}
		by[key].Why = append(by[key].Why, g)
	}
	for _, a := range by {
		a.settle()
		all = append(all, *a)
	}
	slices.SortFunc(all, func(a, b Access) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	return all
}

// settle puts the reasons in order; the first one says what the access is.
func (a *Access) settle() {
	slices.SortFunc(a.Why, func(g, h Grant) int {
		return cmp.Or(cmp.Compare(h.Level, g.Level), cmp.Compare(g.Cause, h.Cause), cmp.Compare(g.Kind, h.Kind),
			cmp.Compare(g.ID, h.ID), cmp.Compare(g.CauseID, h.CauseID))
	})
	a.Why = slices.Compact(a.Why)
	if len(a.Why) > 0 {
		a.Level = a.Why[0].Level
	}
}
