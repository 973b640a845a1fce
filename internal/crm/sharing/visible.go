package sharing

import (
	"context"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// accountObject is the object whose records pass access on, to records of the others.
const accountObject = "Account"

var accountChildren = []string{"Contact", "Opportunity", "Quote"}

// Conditions that hold for all records, and for none.
const (
	everything = "1 = 1"
	nothing    = "1 = 0"
)

// Visible says which records a user has access to, as SQL and as counts.
type Visible struct {
	models  kit.Models
	records Records
	limits  limits
}

// Where is a condition in SQL over the row r of a record, true for exactly the records of an
// object that a user has at least this access to. It is for statements that look at many. r is
// of the tenant and the object, and not deleted.
func (v *Visible) Where(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	binds *sqldb.Binds,
) (string, error) {
	return v.where(ctx, tx, question{tenant: tenant, object: object, user: user, level: levelOf(level)}, binds,
		(*asked).many)
}

// WhereOne is the same condition for statements that name their records: it looks for
// what gives access to each.
func (v *Visible) WhereOne(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	binds *sqldb.Binds,
) (string, error) {
	return v.where(ctx, tx, question{tenant: tenant, object: object, user: user, level: levelOf(level)}, binds,
		(*asked).each)
}

func (v *Visible) where(
	ctx context.Context, tx *sqldb.Tx, q question, binds *sqldb.Binds, condition func(*asked) string,
) (string, error) {
	all, err := v.ask(ctx, tx, &q)
	if err != nil || all != "" {
		return all, fault.Wrap("sharing.where", err)
	}
	return condition(q.bind(binds)), nil
}

// question is who asks for access to which records, and what the answer depends on.
type question struct {
	tenant, object, user string
	level                Level

	records Records
	model   int64 // the active one
	account int64 // that of accounts
	shares  bool  // records of the object may have rows
	cascade bool  // access may come from the account
}

// beyondOwners reports whether anything but the owner may give access.
func (q *question) beyondOwners() bool { return q.shares || q.cascade }

// ask finds what the answer depends on, or the condition that is the same for all records.
func (v *Visible) ask(ctx context.Context, tx *sqldb.Tx, q *question) (all string, err error) {
	m, err := v.models.Model(ctx, tx, q.tenant)
	if err != nil {
		return "", err
	}
	if m.ModifyAll(q.user) || q.level == Read && m.ViewAll(q.user) {
		return everything, nil
	}
	if u := m.User(q.user); u == nil || !u.IsActive {
		return nothing, nil
	}
	active, err := activeOr(ctx, tx, m, q.object)
	if err != nil {
		return "", err
	}
	if levelOf(active.OWD.Access()) >= q.level {
		return everything, nil
	}
	q.records, q.model = v.records, active.num
	q.shares = active.hasCriteria() || slices.Contains(model.TeamObjects, q.object) || q.object == accountObject
	if q.cascade = q.level == Read && slices.Contains(accountChildren, q.object); !q.cascade {
		return "", nil
	}
	account, err := activeModel(ctx, tx, q.tenant, accountObject)
	if account != nil {
		q.account = account.num
	}
	return "", err
}

// SQLite joins in the order of a CROSS JOIN: from the few rows that a user or a record has
// to those that they lead to. PostgreSQL knows from its statistics.

// asked is a question whose values are the arguments of a statement, each as soon as it is
// needed: PostgreSQL refuses those that are not.
type asked struct {
	*question
	binds  *sqldb.Binds
	places map[string]string
}

func (q *question) bind(b *sqldb.Binds) *asked { return &asked{q, b, map[string]string{}} }

// arg is the place of a value among the arguments.
func (a *asked) arg(name string, value any) string {
	if a.places[name] == "" {
		a.places[name] = a.binds.Add(value)
	}
	return a.places[name]
}

func (a *asked) tenantArg() string  { return a.arg("tenant", a.tenant) }
func (a *asked) userArg() string    { return a.arg("user", a.user) }
func (a *asked) levelArg() string   { return a.arg("level", a.level) }
func (a *asked) modelArg() string   { return a.arg("model", a.model) }
func (a *asked) accountArg() string { return a.arg("account", a.account) }

// living are the living records of the object, under an alias: what follows FROM.
func (a *asked) living(alias string) string {
	return a.records.Living(alias, a.tenantArg(), a.arg("object", a.object))
}

// livingAccounts are the living accounts, as a.
func (a *asked) livingAccounts() string {
	return a.records.Living("a", a.tenantArg(), a.arg("accountObject", accountObject))
}

// counts are how many records of the object each owner has, as c.
func (a *asked) counts() string {
	return a.records.Counts("c", a.tenantArg(), a.arg("object", a.object))
}

// reach are the owners whose records principals of the user reach under a condition, and the
// user itself, for whom there is no row.
func (a *asked) reach(condition string) string {
	return `SELECT x.owner_id FROM sharing_principal p CROSS JOIN sharing_reach x
		WHERE x.tenant_id = p.tenant_id AND x.principal = p.principal AND p.tenant_id = ` + a.tenantArg() +
		` AND p.user_id = ` + a.userArg() + ` AND ` + condition + ` UNION ALL SELECT ` + a.userArg()
}

// owners are the owners whose records the user reaches.
func (a *asked) owners() string {
	return a.reach(`x.model IN (0, ` + a.modelArg() + `) AND x.level >= ` + a.levelArg())
}

// own are the owners that are the user, or queues that it is in.
func (a *asked) own() string { return a.reach(`x.model = 0 AND x.cause = 'queue'`) }

// sharedBy are the records that have rows for the user under a condition.
func (a *asked) sharedBy(condition string) string {
	return `SELECT s.record_id AS id FROM sharing_principal p CROSS JOIN sharing_share s
		WHERE s.tenant_id = p.tenant_id AND s.grantee = p.principal AND p.tenant_id = ` + a.tenantArg() +
		` AND p.user_id = ` + a.userArg() + ` AND ` + condition
}

// shared are the records that have rows for the user.
func (a *asked) shared() string {
	return a.sharedBy(`s.model = ` + a.modelArg() + ` AND s.level >= ` + a.levelArg())
}

// accounts are the accounts whose records the user sees: its own, and those of its teams
// and territories.
func (a *asked) accounts() string {
	return `SELECT a.id FROM ` + a.livingAccounts() + ` AND a.owner_id IN (` + a.own() + `) UNION ALL ` +
		a.sharedBy(`s.model = `+a.accountArg()+` AND s.cause <> 'rule'`)
}

// many is the condition for statements that look at many records: each is compared with sets.
func (a *asked) many() string {
	parts := []string{"r.owner_id IN (" + a.owners() + ")"}
	if a.shares {
		parts = append(parts, "r.id IN ("+a.shared()+")")
	}
	if a.cascade {
		parts = append(parts, "r.account_id IN ("+a.accounts()+")")
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// each is the condition for statements that look at few records: it looks for what gives
// access to each.
func (a *asked) each() string {
	parts := append([]string{`r.owner_id = ` + a.userArg(), `EXISTS (SELECT 1 FROM sharing_reach x
		WHERE x.tenant_id = ` + a.tenantArg() + ` AND x.owner_id = r.owner_id AND x.model IN (0, ` + a.modelArg() +
		`) AND x.level >= ` + a.levelArg() + ` AND ` + a.has("x.principal") + `)`}, a.eachUnreached()...)
	return "(" + strings.Join(parts, " OR ") + ")"
}

// has is the condition that the user has a principal. Its principals are read once: in a list
// of some hundred records that takes half of the time. To be one of two conditions keeps both
// databases from looking for each in an index.
func (a *asked) has(principal string) string {
	return `(` + principal + ` IN (SELECT p.principal FROM sharing_principal p WHERE p.tenant_id = ` + a.tenantArg() +
		` AND p.user_id = ` + a.userArg() + `) OR ` + nothing + `)`
}

// eachUnreached is what, apart from the owner, gives access to the record r.
func (a *asked) eachUnreached() (parts []string) {
	row := func(model, record, condition string) string {
		return `EXISTS (SELECT 1 FROM sharing_share s WHERE s.tenant_id = ` + a.tenantArg() + `
			AND s.model = ` + model +
			` AND s.record_id = ` + record + ` AND ` + condition + ` AND ` + a.has(
			"s.grantee",
		) + `)`
	}
	if a.shares {
		parts = append(parts, row(a.modelArg(), "r.id", "s.level >= "+a.levelArg()))
	}
	if a.cascade {
		parts = append(parts, `r.account_id <> '' AND (EXISTS (SELECT 1 FROM `+a.livingAccounts()+
			` AND a.id = r.account_id AND a.owner_id IN (`+a.own()+`)) OR `+
			row(a.accountArg(), "r.account_id", "s.cause <> 'rule'")+`)`)
	}
	return parts
}
